"""The paper's experiments as tables: lower entropy, MAUVE along eta and along constraints, selection."""

from __future__ import annotations

from typing import Any

import pytest

from bat.rules import get_rule_form
from harness.config import SweepConfig
from harness.config.expansion import MethodInstance, Setting
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.tables.lower_entropy import lower_entropy
from harness.report.tables.selection import selection
from harness.report.tables.sweeps import constraints, eta_sweep
from tests.harness.report.made_results import make_results, make_sources, sweep

GPT2 = [
    {"name": "openai-community/gpt2", "label": "Little"},
    {"name": "gpt2-xl", "label": "Huge"},
]
CANDIDATES = [0.89, 0.92, 0.95]
MATCH_ETA = {"match": {"method": "eta"}}


def only(parts: list[Table | Missing]) -> Table:
    (part,) = parts
    assert isinstance(part, Table)
    return part


def row(table: Table, label: str) -> Row:
    return next(row for row in table.rows if row.label == label)


def quarter(**changes: Any) -> SweepConfig:
    methods = [{"rule": "eta", "parameter": {"hrr": 0.25}}, {"rule": "ba-eta", "parameter": MATCH_ETA}]
    return sweep(methods=methods, **changes)


def better_when_aware(instance: MethodInstance, setting: Setting) -> float:
    return 0.9 if setting.rule.startswith("ba-") else 0.8


def test_the_papers_values_stand_under_the_same_models() -> None:
    table = only(lower_entropy(make_sources(make_results(quarter(models=GPT2), mauve=better_when_aware))))
    assert table.columns == ("method", "Little", "Huge")
    assert [line.label for line in table.rows] == [
        "eta",
        "ba-eta (c=20)",
        "ba-eta (c=20) minus eta",
        "paper: eta",
        "paper: BA-eta",
    ]
    assert [one.text for one in row(table, "paper: eta").cells] == ["85.0 (1.4)", "87.1 (1.2)"]
    assert [one.text for one in row(table, "paper: BA-eta").cells] == ["87.8 (1.0)", "89.6 (0.4)"]
    assert [one.bold for one in row(table, "ba-eta (c=20)").cells] == [True, True]
    assert row(table, "ba-eta (c=20) minus eta").cells[0].value == pytest.approx(10.0)
    assert table.paper == "Table 1 of the paper"


def test_other_models_leave_the_papers_four_to_themselves() -> None:
    table = only(lower_entropy(make_sources(make_results(quarter()))))
    assert table.columns[:3] == ("method", "fake", "paper, GPT-2 Small")
    assert len(table.columns) == 6
    assert row(table, "eta").cells[1:] == (Cell(""),) * 4
    assert row(table, "paper: BA-eta").cells[0] == Cell("")
    assert row(table, "paper: BA-eta").cells[3].value == 88.4


def test_another_rate_is_not_the_papers() -> None:
    (missing,) = lower_entropy(make_sources(make_results()))
    assert isinstance(missing, Missing)
    assert missing.command == "bat-harness run configs/paper/lower-entropy.yaml"
    alone = sweep(methods=[{"rule": "eta", "parameter": {"hrr": 0.25}}])
    (missing,) = lower_entropy(make_sources(make_results(alone)))
    assert isinstance(missing, Missing)


def along_eta(**changes: Any) -> SweepConfig:
    methods = [
        {"rule": "eta", "parameter": [0.02, 0.001]},
        {"rule": "ba-eta", "parameter": MATCH_ETA},
    ]
    return sweep(methods=methods, **changes)


def test_eta_is_in_order_with_its_match_beside_it() -> None:
    def resolve(instance: MethodInstance) -> float:
        return 0.1 if "0.02" in str(instance.setting) else 0.005

    sources = make_sources(make_results(along_eta(), mauve=better_when_aware, resolve=resolve))
    table = only(eta_sweep(sources))
    assert table.name == "eta-sweep"
    assert [line.label for line in table.rows] == ["0.001", "0.02"]
    rate, plain, matched, aware, gap = row(table, "0.02").cells
    measured = sources.measurement(sources.results.measured[0])
    rejected = [
        get_rule_form("eta").rejects(one, 0.02) for one in measured.critical_parameters("eta").certain
    ]
    assert rate.value == pytest.approx(100 * sum(map(bool, rejected)) / len(measured))
    assert rate.jobs == ("m-fake",)
    assert (plain.value, aware.value, gap.value) == pytest.approx((80, 90, 10))
    assert (matched.text, matched.jobs) == ("0.1", ("m-fake",))
    assert [line.cells[2].text for line in table.rows] == ["0.005", "0.1"]


def test_values_of_eta_that_are_close_are_told_apart() -> None:
    methods = [
        {"rule": "eta", "parameter": [0.02, 0.02001]},
        {"rule": "ba-eta", "parameter": MATCH_ETA},
    ]
    table = only(eta_sweep(make_sources(make_results(sweep(methods=methods)))))
    assert [line.label for line in table.rows] == ["0.02", "0.02001"]


def test_eta_without_a_measurement_at_hand_lacks_the_rate_only() -> None:
    table = only(eta_sweep(make_sources(make_results(along_eta(), measured=False))))
    assert all(line.cells[0] == Cell("") for line in table.rows)
    assert all(line.cells[1].value is not None for line in table.rows)


def test_one_eta_is_no_sweep() -> None:
    (missing,) = eta_sweep(make_sources(make_results()))
    assert isinstance(missing, Missing)
    assert missing.command.endswith("configs/paper/eta-sweep.yaml")


def test_constraints_begin_with_the_plain_rule() -> None:
    methods = [
        {"rule": "eta", "parameter": 0.002},
        {"rule": "ba-eta", "parameter": MATCH_ETA, "constraints": [30, 20]},
    ]
    config = sweep(methods=methods, measurement={"constraints": [20, 30]})
    scores = {None: 0.7, 20: 0.8, 30: 0.85}
    sources = make_sources(make_results(config, mauve=lambda instance, setting: scores[setting.constraints]))
    table = only(constraints(sources))
    assert [line.label for line in table.rows] == ["0 (eta)", "20", "30"]
    assert [line.cells[2].value for line in table.rows] == pytest.approx([70, 80, 85])
    assert [line.cells[3].value for line in table.rows[1:]] == pytest.approx([10, 15])
    assert table.rows[0].cells[3] == Cell("")
    assert table.rows[1].cells[1].text != ""  # measured at 20, not at 30
    assert table.rows[2].cells[1] == Cell("")


def test_one_number_of_constraints_is_no_sweep() -> None:
    (missing,) = constraints(make_sources(make_results()))
    assert isinstance(missing, Missing)
    assert missing.command.endswith("configs/paper/constraints.yaml")


def selecting(among: list[float] = CANDIDATES, **changes: Any) -> SweepConfig:
    return sweep(
        methods=[{"rule": "nucleus", "parameter": {"best": {"among": among}}}],
        stages=[{"name": "select", "split": "validation"}, {"name": "compare", "split": "test"}],
        **changes,
    )


def score_of_candidate(instance: MethodInstance, setting: Setting) -> float:
    """The second wins for Little, the third for Huge; the first two of the latter are equal."""
    values = {"Little": [0.5, 0.9, 0.7], "Huge": [0.5, 0.5, 0.6], "fake": [0.6, 0.6, 0.5]}
    return values[instance.model][CANDIDATES.index(setting.parameter.value)]


def test_the_best_candidate_is_chosen_beside_the_papers_choice() -> None:
    results = make_results(selecting(models=GPT2), mauve=score_of_candidate, resolve=lambda instance: 0.92)
    table = only(selection(make_sources(results)))
    assert table.columns == ("candidate", "Little", "Huge")
    assert [line.label for line in table.rows] == [
        "nucleus=0.89",
        "nucleus=0.92",
        "nucleus=0.95",
        "nucleus: chosen here",
        "nucleus: the paper's",
    ]
    assert [[one.bold for one in line.cells] for line in table.rows[:3]] == [
        [False, False],
        [True, False],
        [False, True],
    ]
    chosen = row(table, "nucleus: chosen here").cells
    assert [one.text for one in chosen] == ["0.92", "0.95"]
    assert chosen[0].jobs == tuple(f"score-Little-validation-nucleus={one}-0" for one in CANDIDATES)
    assert [one.value for one in row(table, "nucleus: the paper's").cells] == [0.92, 0.95]
    assert table.notes == (
        "The paper's candidates for nucleus: 0.89, 0.9, 0.92, 0.95, 0.99 (not the same as here).",
    )


def test_of_equals_the_first_wins() -> None:
    results = make_results(selecting(), mauve=score_of_candidate, resolve=lambda instance: 0.92)
    table = only(selection(make_sources(results)))
    assert row(table, "nucleus: chosen here").cells[0].text == "0.89"
    assert table.columns[2:] == tuple(f"paper, GPT-2 {size}" for size in ("Small", "Medium", "Large", "XL"))


def test_nothing_is_chosen_before_all_are_scored() -> None:
    def unfinished(instance: MethodInstance, setting: Setting) -> float | None:
        return None if str(setting) == "nucleus=0.95" else 0.9

    results = make_results(selecting(), mauve=unfinished, resolve=lambda instance: 0.92)
    table = only(selection(make_sources(results)))
    shown = row(table, "nucleus: chosen here").cells[0]
    assert (shown.text, shown.how) == ("not yet", "2 of 3 candidates are scored")
    assert not any(one.bold for line in table.rows for one in line.cells)


def test_without_candidates_there_is_no_selection() -> None:
    (missing,) = selection(make_sources(make_results()))
    assert isinstance(missing, Missing)
    assert missing.command.endswith("configs/paper/selection.yaml")
