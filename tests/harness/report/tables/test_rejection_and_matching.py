"""Rejection rates, the parameters at them, and how parameters were matched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bat.rules import builtin_rule_names, get_rule_form
from harness.report.parts import Cell, Missing, Table
from harness.report.pictures import pictures_of_rejection
from harness.report.results import Measured
from harness.report.tables.differences import differences
from harness.report.tables.matching import matching
from harness.report.tables.rejection import rates, rejection, rules_of
from harness.store import Resolution
from tests.harness.report.made_results import made_measurement, make_results, make_sources, sweep
from workers.measurement_record import Measurement

HUNDRED = made_measurement(100, 20, seed=3)


def only(parts: list[Table | Missing]) -> Table:
    (part,) = parts
    assert isinstance(part, Table)
    return part


def literal_rate(measurement: Measurement, rule: str, parameter: float) -> float:
    critical = measurement.critical_parameters(rule).certain
    return float(np.mean([bool(get_rule_form(rule).rejects(one, parameter)) for one in critical]))


def test_parameters_have_the_rates_of_their_rows() -> None:
    methods = [
        {"name": "few", "rule": "top-k", "parameter": 5},
        {"rule": "min-p", "parameter": 0.1},
        {"rule": "ba-eta", "parameter": {"match": {"method": "eta", "parameter": 0.002}}},
    ]
    results = make_results(sweep(methods=methods))
    table = only(rejection(make_sources(results, HUNDRED)))
    rules = ("top-k", "min-p", "eta", "ba-eta", "epsilon", "ba-epsilon", "nucleus", "ba-nucleus")
    assert table.columns == ("rejected", *rules)  # of the sweep first, then the paper's
    assert [row.label for row in table.rows] == ["5%", "10%", "15%", "20%", "25%", "30%"]
    for row, rate in zip(table.rows, (0.05, 0.10, 0.15, 0.20, 0.25, 0.30), strict=True):
        for rule, cell in zip(rules, row.cells, strict=True):
            assert cell.value is not None
            slack = 0.03 if rule == "top-k" else 0.0051  # ranks are whole numbers, shared by several tokens
            assert literal_rate(HUNDRED, rule, cell.value) == pytest.approx(rate, abs=slack)
            assert cell.low is not None
            assert cell.high is not None
            assert cell.low <= cell.value <= cell.high
            assert cell.jobs == ("m-fake",)


def test_what_cannot_be_reached_is_said_and_so_is_the_most_that_can() -> None:
    columns = HUNDRED.to_columns()
    for name in ("lower_mass_20", "upper_mass_20"):
        columns[name] = np.where(np.arange(100) < 12, 0.5, 0.0)
    few = Measurement.from_columns(columns)
    table = only(rejection(make_sources(make_results(), few)))
    column = table.columns.index("ba-nucleus") - 1
    # The rate is 0 or 12%: what lies between has a nearest parameter, what lies above has none.
    assert [row.cells[column].text for row in table.rows[2:]] == ["out of reach"] * 4
    assert table.rows[0].cells[column].value is not None
    assert table.rows[3].cells[column].value is None
    assert "rejects 20% of these tokens" in table.rows[3].cells[column].how
    assert table.notes[0].startswith("BA-nucleus with 20 constraints rejects at most 12.0% (95% interval")
    assert table.notes[0].endswith("in the paper, about 28% (appendix D, Figure 8).")


def test_without_a_basis_only_plain_rules_have_columns() -> None:
    results = replace(make_results(), measured=(Measured("fake", (), ("m",)),))
    table = only(rejection(make_sources(results)))
    assert table.columns == ("rejected", "eta", "nucleus", "epsilon")
    assert table.notes == ()


def test_without_the_paper_only_the_rules_of_the_sweep_are_shown() -> None:
    named = ("a", "min-p", 0.1), ("b", "typical", 0.9), ("c", "top-k", 5), ("d", "top-k", 9)
    methods = [{"name": name, "rule": rule, "parameter": parameter} for name, rule, parameter in named]
    sources = make_sources(make_results(sweep(methods=methods)), HUNDRED, paper=False)
    table = only(rejection(sources))
    assert table.columns == ("rejected", "min-p", "typical", "top-k")
    assert table.notes == ()
    assert table.paper == ""
    [picture] = pictures_of_rejection(sources)
    drawn = {name for name in builtin_rule_names() if f"{name} rejects" in picture.alternative}
    assert drawn == {"min-p", "typical", "top-k"}
    assert picture.paper == ""
    assert "basis-aware" not in picture.caption.lower()
    rates_of = only(rates(sources))
    assert [row.label for row in rates_of.rows] == [
        *("a (min-p=0.1)", "b (typical=0.9)", "c (top-k=5)", "d (top-k=9)"),
    ]


def test_a_temperature_is_in_every_name_and_its_rate_is_told_where_it_is_known() -> None:
    both = {"rule": "eta", "parameter": 0.002, "temperature": [0.7, 1.0]}
    last = {"name": "late", **both, "temperature_order": "last"}
    sources = make_sources(make_results(sweep(methods=[both, last])), HUNDRED, paper=False)
    by_label = {row.label: row.cells[0].value for row in only(rates(sources)).rows}
    # With temperature first, a rule rejects by a distribution that nobody measured.
    assert by_label.keys() == {"eta=0.002", "late (eta=0.002, T=0.7 last)", "late (eta=0.002)"}
    assert len(set(by_label.values())) == 1
    assert sources.results.results[0].label == "eta=0.002 (T=0.7)"


def test_without_texts_no_rates_of_settings_are_shown_and_the_reason_is_not_the_human_text() -> None:
    measured_only = replace(make_results(), results=())
    [missing] = rates(make_sources(measured_only, HUNDRED))
    assert isinstance(missing, Missing)
    assert missing.why == "no texts of methods have been scored"


def test_rules_that_the_measurement_cannot_answer_are_left_out() -> None:
    columns = {name: values for name, values in HUNDRED.to_columns().items() if "share" not in name}
    older = Measurement.from_columns(columns)
    methods = [{"rule": "top-h", "parameter": 0.4}, {"rule": "top-n-sigma", "parameter": 1.0}]
    results = make_results(sweep(methods=methods))
    sources = make_sources(results, older, paper=False)
    assert only(rejection(sources)).columns == ("rejected", "top-n-sigma")
    assert [row.label for row in only(rates(sources)).rows] == ["top-n-sigma=1"]
    [picture] = pictures_of_rejection(make_sources(results, HUNDRED, paper=False))
    assert {name for name in builtin_rule_names() if f"{name} rejects" in picture.alternative} == {
        *("top-h", "top-n-sigma"),
    }


def test_a_sweep_without_methods_has_all_rules() -> None:
    only_measures = sweep(methods=[], stages=[{"name": "measure", "kind": "measure"}])
    rules = rules_of([only_measures])
    assert {"eta", "ba-eta", "typical", "min-p", "top-k"} <= set(rules)
    assert not {"greedy", "ancestral"} & set(rules)


def test_every_model_measured_has_a_table() -> None:
    measured = (Measured("One", (20,), ("a",)), Measured("Two", (20,), ("b",)))
    parts = rejection(make_sources(replace(make_results(), measured=measured)))
    assert [part.name for part in parts if isinstance(part, Table)] == ["rejection-one", "rejection-two"]


def test_rates_of_what_was_run() -> None:
    table = only(rates(make_sources(make_results(), HUNDRED)))
    assert [row.label for row in table.rows] == ["eta=0.002", "ba-eta=0.02 (c=20)", "nucleus=0.9"]
    for row, (rule, parameter) in zip(
        table.rows, (("eta", 0.002), ("ba-eta", 0.02), ("nucleus", 0.9)), strict=True
    ):
        assert row.cells[0].value == pytest.approx(100 * literal_rate(HUNDRED, rule, parameter))
        assert row.cells[1].text == "0"


def test_undecided_tokens_are_counted() -> None:
    columns = HUNDRED.to_columns()
    columns["lower_20"] = np.where(np.arange(100) < 10, 0.0, columns["lower_20"])
    columns["upper_20"] = np.where(np.arange(100) < 10, 1.0, columns["upper_20"])
    wide = Measurement.from_columns(columns)
    table = only(rates(make_sources(make_results(), wide)))
    rule = get_rule_form("ba-eta")
    certain, possible = (rule.rejects(side, 0.02) for side in wide.critical_parameters("ba-eta"))
    open_ones = sum(bool(maybe) and not sure for sure, maybe in zip(certain, possible, strict=True))
    assert 0 < open_ones <= 10
    assert table.rows[1].cells[1].value == pytest.approx(open_ones)  # of a hundred, so in percent
    assert table.rows[0].cells[1].value == 0.0  # a plain rule is never undecided


def test_one_document_has_a_rate_without_an_interval() -> None:
    columns = HUNDRED.to_columns()
    columns["document"] = np.full(100, "d")
    sources = make_sources(make_results(), Measurement.from_columns(columns))
    cell = only(rates(sources)).rows[0].cells[0]
    assert (cell.low, cell.high) == (None, None)
    assert "[" not in cell.text
    assert only(rejection(sources)).rows[0].cells[0].low is None
    assert "interval" not in only(rejection(sources)).notes[0]


def test_nothing_measured() -> None:
    for builder in (rejection, rates):
        (missing,) = builder(make_sources(make_results(measured=False)))
        assert isinstance(missing, Missing)
        assert missing.command == "bat-harness run configs/paper/rejection-curves.yaml"


def test_a_match_has_both_rates_and_the_interval_of_its_parameter() -> None:
    table = only(matching(make_sources(make_results())))
    assert [row.label for row in table.rows] == ["ba-eta=0.02 (c=20)"]
    parameter, own, reference, other = table.rows[0].cells
    assert (parameter.text, parameter.value) == ("0.02 [0.01, 0.03]", 0.02)
    assert (parameter.low, parameter.high, parameter.jobs) == (0.01, 0.03, ("m-fake",))
    assert (own.value, reference.text, other.value) == (11.0, "eta=0.002", 12.5)


def test_rates_that_could_not_be_matched_are_said_wherever_they_are_compared() -> None:
    results = make_results()
    said = "ba-eta=0.02 (c=20) rejects 11.0% of human text and eta=0.002 12.5%: no parameter comes nearer."
    for table in (matching, differences):
        assert said in only(table(make_sources(results))).notes
    near = Resolution("p", {}, "so", 0.02, ("m",), {"rate": 0.121, "reference_rate": 0.125})
    matched = replace(results, results=(results.results[0], replace(results.results[1], resolution=near)))
    assert not any("nearer" in note for note in only(differences(make_sources(matched))).notes)


def test_a_rate_that_was_asked_for() -> None:
    config = sweep(methods=[{"rule": "eta", "parameter": {"hrr": 0.25}}])
    table = only(matching(make_sources(make_results(config, resolve=lambda instance: 0.004), HUNDRED)))
    _, own, reference, other = table.rows[0].cells
    assert own.value == pytest.approx(100 * literal_rate(HUNDRED, "eta", 0.004))
    assert (reference.text, other) == ("a rate of 25%", Cell(""))


@pytest.mark.parametrize(
    "detail",
    [None, {"low": None, "high": None, "rate": 0.11, "reference": "eta=0.002", "reference_rate": 0.12}],
)
def test_a_match_without_numbers_or_without_an_interval(detail: dict[str, Any] | None) -> None:
    results = make_results()
    changed = replace(results.results[1], resolution=Resolution("p", {}, "so", 0.02, ("m",), detail))
    sources = make_sources(replace(results, results=(results.results[0], changed)), HUNDRED)
    parameter, own, reference, other = only(matching(sources)).rows[0].cells
    assert (parameter.text, parameter.low) == ("0.02", None)
    assert reference.text == "eta=0.002"
    wanted = 11.0 if detail else 100 * literal_rate(HUNDRED, "ba-eta", 0.02)
    assert own.value == pytest.approx(wanted)
    assert other.value is not None


def test_nothing_matched() -> None:
    (missing,) = matching(make_sources(make_results(sweep(methods=[{"rule": "eta", "parameter": 0.002}]))))
    assert isinstance(missing, Missing)
