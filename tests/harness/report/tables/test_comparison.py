"""MAUVE by method and model, and differences at equal rejection rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.config.expansion import MethodInstance, Setting
from harness.report.parts import Cell, Missing, Table
from harness.report.tables import Sources
from harness.report.tables.comparison import comparison
from harness.report.tables.differences import differences
from harness.scoring.differences import difference
from harness.scoring.estimates import Source, estimate
from tests.harness.report.made_results import make_results, make_sources, sweep

TWO_MODELS = [{"name": "fake:v=300,d=8", "label": "One"}, {"name": "fake:v=400,d=8", "label": "Two"}]
# By rule and model, chosen so that each model has another best.
MAUVE = {
    ("eta", "One"): 0.90,
    ("eta", "Two"): 0.80,
    ("ba-eta", "One"): 0.85,
    ("ba-eta", "Two"): 0.95,
    ("nucleus", "One"): 0.70,
    ("nucleus", "Two"): 0.70,
}


def by_rule(**values: float) -> Callable[[MethodInstance, Setting], float]:
    return lambda instance, setting: values[setting.rule.replace("-", "_")]


def table_of(parts: list[Table | Missing]) -> Table:
    (part,) = parts
    assert isinstance(part, Table)
    assert all(len(row.cells) == len(part.columns) - 1 for row in part.rows)
    assert len({row.label for row in part.rows}) == len(part.rows)
    return part


def cell(table: Table, row: str, column: str) -> Cell:
    cells = {line.label: line.cells for line in table.rows}
    return cells[row][table.columns[1:].index(column)]


def made(**changes: Any) -> Sources:
    config = sweep(generation={"seeds": [0, 1, 2]}, **changes)
    return make_sources(make_results(config, mauve=by_rule(eta=0.9, ba_eta=0.91, nucleus=0.8)))


def test_one_model_has_its_spreads_apart() -> None:
    sources = made()
    table = table_of(comparison(sources))
    assert table.columns == ("method", "MAUVE", "over k-means seeds")
    assert [row.label for row in table.rows] == ["eta=0.002", "ba-eta=0.02 (c=20)", "nucleus=0.9"]
    result = sources.results.results[0]
    found = estimate([seed.scores["mauve"] for seed in result.seeds])
    shown = cell(table, "eta=0.002", "MAUVE")
    assert found.main is not None
    assert shown.value == pytest.approx(90.0)
    assert (shown.low, shown.high) == pytest.approx((100 * found.main.low, 100 * found.main.high))
    assert shown.text == f"90.0 [{100 * found.main.low:.1f}, {100 * found.main.high:.1f}]"
    assert shown.jobs == tuple(f"score-fake-test-eta=0.002-{seed}" for seed in range(3))
    assert "mean over 3 seeds" in shown.how
    # Three seeds that agree to the last digit tell nothing of how much others would differ.
    assert found.interval(Source.GENERATION) is None


def test_the_best_is_bold_and_matched_parameters_have_their_jobs() -> None:
    table = table_of(comparison(made()))
    assert [row.cells[0].bold for row in table.rows] == [False, True, False]
    assert cell(table, "ba-eta=0.02 (c=20)", "MAUVE").jobs[-1] == "m-fake"
    assert "resampled prefixes" in table.caption
    assert "1,000 prefixes" in table.caption
    assert table.paper == "Figure 5 of the paper"


def test_a_single_seed_has_no_column_and_a_note_says_so() -> None:
    table = table_of(comparison(make_sources(make_results())))
    assert table.columns == ("method", "MAUVE", "over k-means seeds")
    assert any("no interval over generation seeds" in note for note in table.notes)


def test_several_models_have_a_column_each() -> None:
    config = sweep(models=TWO_MODELS)
    results = make_results(
        config,
        mauve=lambda instance, setting: MAUVE[setting.rule, instance.model],
        resolve=lambda instance: {"One": 0.01, "Two": 0.03}[instance.model],
    )
    parts = comparison(make_sources(results))
    table = table_of(parts[:1])
    assert table.columns == ("method", "One", "Two")
    # The three sources of spread are seen apart, in a table for each model.
    spreads = [table_of([part]) for part in parts[1:]]
    assert [one.name for one in spreads] == ["spreads-one", "spreads-two"]
    assert spreads[1].columns == ("method", "MAUVE", "over k-means seeds")
    assert [row.label for row in spreads[1].rows] == ["eta=0.002", "ba-eta=0.03 (c=20)", "nucleus=0.9"]
    assert cell(spreads[1], "eta=0.002", "MAUVE").value == cell(table, "eta=0.002", "Two").value
    matched = "ba-eta rejecting as much as eta=0.002 (c=20)"  # its parameter differs from model to model
    assert [row.label for row in table.rows] == ["eta=0.002", matched, "nucleus=0.9"]
    assert cell(table, matched, "Two").how.startswith("ba-eta=0.03 (c=20): ")
    assert cell(table, "eta=0.002", "One").bold
    assert cell(table, matched, "Two").bold
    assert sum(one.bold for row in table.rows for one in row.cells) == 2


def test_a_method_that_a_model_did_not_run_leaves_its_cell_empty() -> None:
    config = sweep(
        models=TWO_MODELS,
        stages=[
            {"name": "measure", "kind": "measure"},
            {"name": "first", "split": "test", "methods": ["eta", "nucleus"], "models": ["One"]},
            {"name": "second", "split": "test", "methods": ["eta"], "models": ["Two"]},
        ],
    )
    table = table_of(comparison(make_sources(make_results(config)))[:1])
    assert [row.label for row in table.rows] == ["eta=0.002", "nucleus=0.9"]
    assert cell(table, "nucleus=0.9", "Two") == Cell("")


def test_the_same_method_on_two_halves_is_told_apart_by_stage() -> None:
    config = sweep(
        methods=[{"rule": "eta", "parameter": [0.002, 0.004]}],
        stages=[{"name": "early", "split": "validation"}, {"name": "late", "split": "test"}],
    )
    results = make_results(config, mauve=lambda instance, setting: 0.9 if instance.stage == "late" else 0.8)
    table = table_of(comparison(make_sources(results)))
    assert [row.label for row in table.rows] == [
        "early: eta=0.002",
        "early: eta=0.004",
        "late: eta=0.002",
        "late: eta=0.004",
    ]
    assert all(row.cells[0].bold for row in table.rows)  # ties, each within its own half


def test_runs_that_share_jobs_share_rows() -> None:
    one, other = sweep(), sweep(name="again")
    table = table_of(comparison(make_sources(make_results(one, other))))
    assert [row.label for row in table.rows] == [
        *("made and again: eta=0.002", "made and again: ba-eta=0.02 (c=20)", "made and again: nucleus=0.9"),
    ]


def test_candidates_are_not_compared() -> None:
    config = sweep(
        methods=[{"rule": "eta", "parameter": {"best": {"among": [0.002, 0.004]}}}],
        stages=[{"name": "select", "split": "validation"}, {"name": "compare", "split": "test"}],
    )
    results = make_results(config, resolve=lambda instance: 0.004)
    assert [row.label for row in table_of(comparison(make_sources(results))).rows] == ["eta=0.004"]
    only = sweep(methods=config.model_dump()["methods"], stages=[{"name": "select", "split": "validation"}])
    (missing,) = comparison(make_sources(make_results(only)))
    assert isinstance(missing, Missing)
    assert missing.command == "bat-harness run configs/paper/comparison.yaml"


def test_a_score_that_is_not_defined_is_neither_best_nor_a_number() -> None:
    results = make_results(mauve=by_rule(eta=float("nan"), ba_eta=0.5, nucleus=0.4))
    table = table_of(comparison(make_sources(results)))
    assert [row.cells[0].text.split()[0] for row in table.rows] == ["not", "50.0", "40.0"]
    assert table.rows[0].cells[0].value is None
    assert [row.cells[0].bold for row in table.rows] == [False, True, False]


def test_differences_are_of_matched_pairs() -> None:
    sources = made()
    table = table_of(differences(sources))
    assert table.columns == ("methods", "MAUVE", "sign test", "perplexity", "seq-rep-4")
    label = "ba-eta=0.02 (c=20) minus eta=0.002"
    assert [row.label for row in table.rows] == [label]
    plain, aware = sources.results.results[:2]
    found = difference(
        [seed.scores["mauve"] for seed in aware.seeds], [seed.scores["mauve"] for seed in plain.seeds]
    )
    shown = cell(table, label, "MAUVE")
    assert found.main is not None
    assert found.sign_test is not None
    assert shown.value == pytest.approx(1.0)
    assert (shown.low, shown.high) == pytest.approx((100 * found.main.low, 100 * found.main.high))
    test = cell(table, label, "sign test")
    assert test.text.startswith(f"{found.sign_test.better} of 20, p = ")
    assert test.value == found.sign_test.p_value
    assert set(shown.jobs) == {seed.score_job for one in (plain, aware) for seed in one.seeds} | {"m-fake"}


def test_what_a_difference_shows_is_said_in_words() -> None:
    config = sweep(models=TWO_MODELS)
    results = make_results(config, mauve=lambda instance, setting: MAUVE[setting.rule, instance.model])
    table = table_of(differences(make_sources(results)))
    assert table.notes[0].startswith(
        "One: eta=0.002 is higher than ba-eta=0.02 (c=20) by 5.0 points of MAUVE"
    )
    assert table.notes[1].startswith("Two: ba-eta=0.02 (c=20) is higher than eta=0.002 by 15.0 points")
    assert table.notes[-1].startswith("The interval excludes zero for 2 of 2 pairs")
    same = make_results(config, mauve=lambda instance, setting: 0.9)
    notes = table_of(differences(make_sources(same))).notes
    assert notes[0].startswith("One: ba-eta=0.02 (c=20) and eta=0.002: no difference shown (0.0 points")
    assert notes[-1].startswith("The interval excludes zero for 0 of 2 pairs")


def test_two_matches_that_ended_at_one_parameter_are_both_there() -> None:
    config = sweep(
        methods=[
            {"rule": "nucleus", "parameter": [0.5, 0.6]},
            {"rule": "ba-nucleus", "parameter": {"match": {"method": "nucleus"}}},
        ]
    )
    table = table_of(differences(make_sources(make_results(config, resolve=lambda instance: 0.001))))
    assert [row.label for row in table.rows] == [
        "ba-nucleus=0.001 (c=20) minus nucleus=0.5",
        "ba-nucleus=0.001 (c=20) minus nucleus=0.6",
    ]


def test_without_pairs_there_are_no_differences() -> None:
    config = sweep(methods=[{"rule": "eta", "parameter": 0.002}])
    (missing,) = differences(make_sources(make_results(config)))
    assert isinstance(missing, Missing)
