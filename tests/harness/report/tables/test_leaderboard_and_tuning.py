"""Ranks with ties, and how many settings each method was given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.config.expansion import MethodInstance, Setting
from harness.report.parts import Missing, Table
from harness.report.tables.distances import distances
from harness.report.tables.leaderboard import holm, leaderboard, p_value, rank_intervals
from harness.report.tables.selection import selection
from harness.report.tables.tuning import tuning
from harness.scoring.differences import Difference
from harness.scoring.estimates import Interval, Source
from tests.harness.report.made_results import STATISTICS, make_results, make_sources, sweep

NUCLEUS = [0.5, 0.7, 0.9]


def only(parts: list[Table | Missing]) -> Table:
    [table] = parts
    assert isinstance(table, Table)
    return table


def test_a_rank_is_a_range_unless_all_differences_are_shown() -> None:
    assert rank_intervals(3, {(0, 1), (0, 2), (1, 2)}) == [(1, 1), (2, 2), (3, 3)]
    assert rank_intervals(3, set()) == [(1, 3), (1, 3), (1, 3)]
    assert rank_intervals(3, {(0, 2)}) == [(1, 2), (1, 3), (2, 3)]


def test_holm_stops_at_the_first_that_is_not_shown() -> None:
    p_values = {(0, 1): 0.04, (0, 2): 0.01, (1, 2): 0.02}
    assert holm(p_values, 0.05) == {(0, 2), (1, 2), (0, 1)}  # 0.05/3, 0.05/2, 0.05/1
    assert holm({**p_values, (1, 2): 0.03}, 0.05) == {(0, 2)}  # 0.03 is above 0.05/2, and nothing follows
    assert holm({(0, 1): 0.06}, 0.05) == set()


def test_p_values_are_those_of_the_interval() -> None:
    interval = Interval(Source.REWEIGHTED, 0.0, 0.2, 100)
    assert p_value(Difference(0.1, (interval,))) == pytest.approx(0.05, abs=1e-4)
    assert p_value(Difference(0.15, (interval,))) == pytest.approx(0.05, abs=1e-4)  # not in the middle
    assert p_value(Difference(0.1)) == 1
    # Other clusters or seeds say nothing about other prefixes.
    assert p_value(Difference(0.1, (replace(interval, source=Source.KMEANS),))) == 1


def test_settings_of_all_runs_are_ranked_and_ties_are_ties() -> None:
    def mauve(instance: MethodInstance, setting: Setting) -> float:
        values: dict[Any, float] = {0.5: 0.5, 0.7: 0.901, 0.9: 0.9}
        return values[setting.parameter.value] if setting.rule == "nucleus" else 0.2

    nucleus = {"rule": "nucleus", "parameter": NUCLEUS}
    first = sweep(name="first", methods=[nucleus])
    second = sweep(name="second", methods=[nucleus, {"rule": "top-k", "parameter": 5}])
    table = only(leaderboard(make_sources(make_results(first, second, mauve=mauve))))
    # Both runs share the jobs of nucleus, so each of its settings has one row.
    assert [(row.label, row.cells[0].text) for row in table.rows] == [
        ("first and second: nucleus=0.7", "1 to 2"),
        ("first and second: nucleus=0.9", "1 to 2"),
        ("first and second: nucleus=0.5", "3"),
        ("second: top-k=5", "4"),
    ]
    assert table.rows[0].cells[2].text == ""
    assert table.rows[2].cells[2].value == pytest.approx(-40.1)
    assert "for all 6 pairs" in table.caption


def test_texts_that_were_scored_twice_are_ranked_once() -> None:
    methods = [{"rule": "nucleus", "parameter": NUCLEUS}]
    results = make_results(sweep(name="new", methods=methods), sweep(name="old", methods=methods))
    again = [
        replace(
            result, seeds=tuple(replace(seed, score_job=f"older-{seed.score_job}") for seed in result.seeds)
        )
        if result.run == "old"
        else result
        for result in results.results
    ]
    table = only(leaderboard(make_sources(replace(results, results=tuple(again)))))
    assert [row.label for row in table.rows] == [f"new and old: nucleus={value}" for value in NUCLEUS]


def test_one_setting_has_no_rank() -> None:
    methods = [{"rule": "nucleus", "parameter": 0.9}]
    [missing] = leaderboard(make_sources(make_results(sweep(methods=methods))))
    assert isinstance(missing, Missing)


def tuned(among: list[float], other: list[float], **best: Any) -> Any:
    return sweep(
        methods=[
            {"rule": "nucleus", "parameter": {"best": {"among": among, **best}}},
            {"rule": "eta", "parameter": {"best": {"among": other}}},
            {"rule": "greedy"},
        ],
        stages=[{"name": "select", "split": "validation"}, {"name": "compare", "split": "test"}],
    )


def test_unequal_tuning_is_said() -> None:
    results = make_results(tuned(NUCLEUS, [0.002]), resolve=lambda instance: 0.002)
    table = only(tuning(make_sources(results)))
    assert [(row.label, *(cell.text for cell in row.cells)) for row in table.rows] == [
        ("nucleus", "3", "3", "mauve on validation", "1"),
        ("eta", "1", "1", "mauve on validation", "1"),
        ("greedy", "1", "0", "given", "1"),
    ]
    assert table.notes == (
        "The methods were not tuned equally: nucleus had 3 candidates, eta had 1. The best of more "
        "candidates is better by chance alone.",
    )


def test_equal_tuning_is_said_and_none_has_no_table() -> None:
    results = make_results(tuned(NUCLEUS, [0.001, 0.002, 0.003]), resolve=lambda instance: 0.002)
    assert only(tuning(make_sources(results))).notes == (
        "Every method that was tuned had the same number of candidates, 3.",
    )
    assert tuning(make_sources(make_results())) == []


@pytest.mark.parametrize(
    ("best", "chosen", "words"),
    [
        ({"metric": "length", "better": "lower"}, "0.5", "the lowest length of 3 candidates"),
        ({"metric": "length", "better": "higher"}, "0.9", "the highest length of 3 candidates"),
        ({"metric": "perplexity"}, "0.7", "the perplexity closest to human text of 3 candidates"),
    ],
)
def test_a_parameter_may_be_chosen_by_any_score(best: dict[str, str], chosen: str, words: str) -> None:
    results = make_results(tuned(NUCLEUS, [0.002], **best), resolve=lambda instance: 0.002)
    human = 1.5 * STATISTICS["perplexity"]
    values = {0.5: {"length": 10.0, "perplexity": human - 5}, 0.7: {"length": 20.0, "perplexity": human + 1}}

    def scored(result: Any) -> Any:
        changes = values.get(result.parameter, {"length": 30.0, "perplexity": human + 4})
        seeds = [
            replace(
                seed,
                scores={
                    name: replace(score, value=changes.get(name, score.value))
                    for name, score in seed.scores.items()
                },
            )
            for seed in result.seeds
        ]
        return replace(result, seeds=tuple(seeds))

    table = only(selection(make_sources(replace(results, results=tuple(map(scored, results.results))))))
    [cell] = [row.cells[0] for row in table.rows if row.label == "nucleus: chosen here"]
    assert cell.text == chosen
    assert cell.how.startswith(words)
    note = f"The candidates of nucleus are shown with {best['metric']}, which they are chosen by."
    assert note in table.notes


def test_distances_from_human_text_and_what_older_versions_lack() -> None:
    methods = [{"rule": "nucleus", "parameter": [0.5, 0.9]}]
    assert distances(make_sources(make_results(sweep(methods=methods)))) == []
    scores = {**STATISTICS, "mauve-star": 0.95, "kl-human": 0.2, "precision": 0.8, "recall": 0.4}
    results = make_results(sweep(methods=methods), statistics=scores)
    table = only(distances(make_sources(results)))
    assert table.columns == ("method", "MAUVE", "mauve-star", "kl-human", "precision", "recall")
    assert table.rows[0].cells[2].text.startswith("0.200 [")
    assert table.notes == ()
    first, second = results.results
    older = replace(first.seeds[0], scores={"mauve": first.seeds[0].scores["mauve"]})
    mixed = replace(results, results=(replace(first, seeds=(older,)), second))
    table = only(distances(make_sources(mixed)))
    assert [cell.text for cell in table.rows[0].cells[1:]] == [""] * 4
    assert table.notes[0].startswith("Not all of these scores exist for nucleus=0.5: an older version")
