"""Scores averaged over seeds, with the intervals of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from harness.report.loading import load_results
from harness.report.results import HumanScores, Result, Results
from harness.report.tables.cells import find_difference, scores_of
from harness.report.tables.comparing import compare_sides
from harness.scoring.differences import words
from harness.scoring.estimates import Estimate, Interval, estimate
from harness.store import Reader, Run

COLUMNS = (
    *("run_id", "run", "stage", "split", "model", "method", "rule", "parameter", "constraints"),
    *("temperature", "temperature_order", "seeds"),
    *("score", "value", "low", "high", "interval_over", "interval_count"),
)


def estimate_rows(
    reader: Reader, runs: Sequence[Run], *, all_intervals: bool
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """COLUMNS, and a row for each setting and score, or for each of its intervals; human text comes last."""
    rows = []
    for run in runs:
        # One run at a time: runs that cannot share a report can share a table.
        results = load_results(reader, [run])
        for setting, score, average in (*_of_settings(results), *_of_human_text(run, results)):
            intervals: Sequence[Interval | None] = average.intervals if all_intervals else [average.main]
            rows += [(*setting, score, average.value, *_ends(interval)) for interval in intervals or [None]]
    return COLUMNS, rows


COMPARISON_COLUMNS = (
    *(
        "first_run",
        "first",
        "second_run",
        "second",
        "model",
        "split",
        "paired",
        "score",
        "value",
        "low",
        "high",
    ),
    *("interval_over", "better", "blocks", "p_value", "words"),
)


def comparison_rows(
    reader: Reader, runs: Sequence[Run], first: str, second: str
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """COMPARISON_COLUMNS, and a row for each pair of results and score that both have."""
    results = load_results(reader, runs)
    rows = []
    for left, right in compare_sides(results, first, second).pairs:
        sides = (left.origin, left.label, right.origin, right.label, left.model, left.split)
        for score in dict.fromkeys(name for seed in left.seeds for name in seed.scores):
            difference = find_difference(left, right, score)
            if difference is None:
                continue
            low, high, over, _ = _ends(difference.main)
            test = difference.sign_test
            signs = (None, None, math.nan) if test is None else (test.better, test.blocks, test.p_value)
            said = words(difference, first=left.label, second=right.label)
            rows.append((*sides, difference.paired, score, difference.value, low, high, over, *signs, said))
    return COMPARISON_COLUMNS, rows


def _of_settings(results: Results) -> Iterator[tuple[tuple[Any, ...], str, Estimate]]:
    for result in results.results:
        setting = (
            *(result.run_id, result.run, result.stage, result.split, result.model, result.method),
            *(result.setting.rule, result.parameter, result.setting.constraints),
            *(*result.setting.temperature_columns, len(result.seeds)),
        )
        for score in dict.fromkeys(name for seed in result.seeds for name in seed.scores):
            yield setting, score, estimate(scores_of(result, score))


def _of_human_text(run: Run, results: Results) -> Iterator[tuple[tuple[Any, ...], str, Estimate]]:
    """Human continuations of the same prefixes, in each stage that uses them."""
    by_prefixes: dict[tuple[str, str, str], tuple[Result, HumanScores]] = {}
    for result in results.results:
        human = results.human_of(result)
        if human is not None:
            by_prefixes.setdefault((result.stage, result.model, result.prefix_set), (result, human))
    for result, human in by_prefixes.values():
        of_text = (run.id, run.name, result.stage, result.split, result.model, "human")
        setting = (*of_text, None, None, None, None, None, 0)
        for score, stored in human.scores.items():
            yield setting, score, estimate([stored])


def _ends(interval: Interval | None) -> tuple[float, float, str | None, int]:
    if interval is None:
        return math.nan, math.nan, None, 0
    return interval.low, interval.high, interval.source.value, interval.count
