"""How numbers are written, and names that are never twice in a table."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from bat.errors import InvalidInputError
from harness.report.parts import Cell
from harness.report.tables.cells import NOT_DEFINED, number_cell, parameter_text, signed, significant
from harness.report.tables.labels import compared, config_of, labels, paper_columns, table_names
from harness.scoring.estimates import Estimate, Interval, Source
from tests.harness.report.made_results import make_results, sweep


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.500"),
        (12.345, "12.3"),
        (99.96, "100"),
        (1234.4, "1234"),
        (0.0, "0.00"),
        (-0.01234, "-0.0123"),
        (0.0000123, "1.23e-05"),
    ],
)
def test_three_significant_digits(value: float, text: str) -> None:
    assert significant(value) == text
    assert signed(value) == (f"+{text}" if value > 0 else text)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0009, "0.0009"), (0.92, "0.92"), (40.0, "40"), (2345.0, "2345"), (None, "")]
)
def test_parameters_have_no_needless_digits(value: float | None, text: str) -> None:
    assert parameter_text(value) == text


def test_a_number_with_an_interval_without_one_and_none_at_all() -> None:
    interval = Interval(Source.PREFIXES, 1.0, 3.0, 1000)
    shown = number_cell(Estimate(2.0, (interval,)), ["a", "b", "a"], "so")
    assert shown == Cell(
        "2.00 [1.00, 3.00]",
        2.0,
        1.0,
        3.0,
        ("a", "b"),
        "so; 95% interval 1 to 3 over resampled prefixes (1000)",
    )
    assert number_cell(Estimate(2.0, (interval,)), [], "so", plain=True).text == "2.00"
    assert number_cell(Estimate(2.0), [], "so") == Cell("2.00", 2.0, how="so; no interval")
    assert number_cell(Estimate(math.nan), ["a"], "so") == Cell(NOT_DEFINED, jobs=("a",), how="so")


def test_labels_say_no_more_than_is_needed() -> None:
    first = make_results().results[0]
    assert labels([first]) == ["eta=0.002"]
    assert labels([first, replace(first, model="B")]) == ["fake: eta=0.002", "B: eta=0.002"]
    assert labels([first, replace(first, model="B")], by_model=True) == ["eta=0.002", "eta=0.002"]
    assert labels([first, replace(first, stage="s")]) == ["compare: eta=0.002", "s: eta=0.002"]
    assert labels([first, replace(first, run="r")]) == ["made: eta=0.002", "r: eta=0.002"]
    assert labels([first, replace(first, method="m")]) == ["eta: eta=0.002", "m: eta=0.002"]
    assert labels([first, first, first]) == ["eta=0.002", "eta=0.002 (2)", "eta=0.002 (3)"]
    other = replace(first, split="validation", stage="early")
    assert labels([first, other], by_split=False) == ["compare: eta=0.002", "early: eta=0.002"]
    nucleus = replace(make_results().results[2], split="validation", stage="early")
    assert labels([first, nucleus]) == ["compare: eta=0.002", "early: nucleus=0.9"]
    assert labels([first, nucleus], by_split=False) == ["eta=0.002", "nucleus=0.9"]


def test_one_setting_in_two_roles() -> None:
    methods = [
        {"rule": "eta", "parameter": 0.002},
        {"name": "quarter", "rule": "eta", "parameter": {"hrr": 0.25}},
    ]
    results = make_results(sweep(methods=methods), resolve=lambda instance: 0.002)
    assert [result.method for result in compared(results)] == ["eta"]
    assert [result.method for result in compared(results, by_role=True)] == ["eta", "quarter"]


def test_names_of_tables() -> None:
    assert table_names("rates", ["GPT-2 XL"]) == ["rates"]
    assert table_names("rates", ["GPT-2 XL", "a/b", "a b", "%"]) == [
        "rates-gpt-2-xl",
        "rates-a-b",
        "rates-a-b-2",
        "rates-model",
    ]


def test_columns_of_the_papers_models() -> None:
    assert paper_columns({"S": "gpt2", "own": "smollm2-135m"}) == [
        ("S", "S", "Small"),
        ("own", "own", None),
    ]
    assert paper_columns({"own": "smollm2-135m"})[1:3] == [
        ("paper, GPT-2 Small", None, "Small"),
        ("paper, GPT-2 Medium", None, "Medium"),
    ]


def test_a_result_of_no_run_is_invalid() -> None:
    results = make_results()
    with pytest.raises(InvalidInputError, match="run 'elsewhere' has no 'eta'"):
        config_of(results, replace(results.results[0], run="elsewhere"))
