"""Methods ranked by paired differences, over all runs of a report, with ties shown as ties.

A method is above another if the difference of their scores is shown: its p-value, from the interval of the
paired difference, is below 5% after Holm's correction for all pairs of the table. The ranks that a method may
have follow: at best one more than the methods above it, at worst all methods less those below it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import numpy as np

from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import (
    EMPTY,
    difference_cell,
    find_difference,
    has_score,
    jobs_of,
    mauve_cell,
    mauve_of,
    score_cell,
)
from harness.report.tables.labels import labels, merged, shown, table_names
from harness.scoring.differences import Difference
from harness.scoring.estimates import OVER_PREFIXES

_LEVEL = 0.05
_BESIDE = ("precision", "recall")


def leaderboard(sources: Sources) -> list[Table | Missing]:
    """A table for each model and set of prefixes with at least two scored settings."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in merged(shown(sources.results), _texts):
        if has_score(result, "mauve") and not math.isnan(mauve_of(result).value):
            groups.setdefault((result.model, result.prefix_set), []).append(result)
    ranked = [group for group in groups.values() if len(group) > 1]
    if not ranked:
        why = "fewer than two settings of one model have been scored on the same prefixes"
        return [Missing("Leaderboard", why, "bat-harness run configs/paper/comparison.yaml")]
    several_sets = len({model for model, _ in groups}) < len(ranked)
    titles = [
        f"{group[0].model}, {group[0].split} {group[0].prefix_set[:6]}" if several_sets else group[0].model
        for group in ranked
    ]
    names = table_names("leaderboard", titles)
    return [_table(name, title, group) for name, title, group in zip(names, titles, ranked, strict=True)]


def _texts(result: Result) -> Hashable:
    """What is ranked: a setting's texts, which two versions of the harness may have scored."""
    jobs = tuple(job for seed in result.seeds for job in seed.generate_jobs)
    return (result.model, result.method, result.setting, result.prefix_set, jobs)


def _table(name: str, title: str, group: Sequence[Result]) -> Table:
    in_order = sorted(group, key=lambda result: -mauve_of(result).value)
    ranks = rank_intervals(len(in_order), _better(in_order))
    others = [score for score in _BESIDE if any(has_score(result, score) for result in in_order)]
    first = in_order[0]
    rows = [
        Row(
            label,
            (
                _rank_cell(ranks[index], len(in_order), result),
                mauve_cell(result),
                EMPTY if result is first else difference_cell(result, first),
                *(score_cell(result, score, plain=True) for score in others),
            ),
            result.setting.rule,
        )
        for index, (label, result) in enumerate(zip(labels(in_order), in_order, strict=True))
    ]
    pairs = len(in_order) * (len(in_order) - 1) // 2
    return Table(
        name=name,
        title=f"Leaderboard, {title}",
        caption="Settings of all runs by MAUVE times 100, on the same prefixes. A range of ranks is a tie: "
        "between settings whose ranges overlap, the order is not shown. One is ranked above another if their "
        f"paired difference is shown at 5%, after Holm's correction for all {pairs:,} pairs.",
        columns=("setting", "rank", "MAUVE", "minus the first", *others),
        rows=tuple(rows),
    )


def _better(results: Sequence[Result]) -> set[tuple[int, int]]:
    """Pairs of indices of which the first has a higher score, beyond chance."""
    p_values = {}
    for first, second in combinations(range(len(results)), 2):
        difference = find_difference(results[first], results[second], "mauve")
        if difference is not None:
            p_values[first, second] = p_value(difference)
    return {
        pair if mauve_of(results[pair[0]]).value > mauve_of(results[pair[1]]).value else pair[::-1]
        for pair in holm(p_values, _LEVEL)
    }


def p_value(difference: Difference) -> float:
    """Two-sided, for no difference: from the interval over prefixes, 1.96 deviations around its middle."""
    from scipy.stats import norm

    main = difference.main
    if main is None or main.source not in OVER_PREFIXES or main.half_width == 0:
        return 1.0
    return float(2 * norm.sf(1.96 * abs(main.middle) / main.half_width))


def holm(p_values: Mapping[tuple[int, int], float], level: float) -> set[tuple[int, int]]:
    """What Holm's procedure (1979) rejects: all errors together have at most the chance `level`."""
    rejected = set()
    for position, (pair, p) in enumerate(sorted(p_values.items(), key=lambda entry: entry[1])):
        if p > level / (len(p_values) - position):
            break
        rejected.add(pair)
    return rejected


def rank_intervals(count: int, better: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The best and the worst rank of each of `count` settings, given pairs (better, worse)."""
    above, below = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
    for first, second in better:
        below[first] += 1
        above[second] += 1
    return [(1 + int(over), count - int(under)) for over, under in zip(above, below, strict=True)]


def _rank_cell(rank: tuple[int, int], count: int, result: Result) -> Cell:
    best, worst = rank
    text = str(best) if best == worst else f"{best} to {worst}"
    how = f"{best - 1} of {count} settings are shown to have a higher MAUVE, {count - worst} a lower one"
    return Cell(text, float(best), float(best), float(worst), jobs_of(result), how)
