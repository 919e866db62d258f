"""How tokens were accepted, and at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Cost, Result, Sources
from harness.report.tables.cells import (
    EMPTY,
    NOT_DEFINED,
    has_score,
    jobs_of,
    number_cell,
    score_cell,
    significant,
)
from harness.report.tables.labels import labels, shown
from harness.scoring.estimates import estimate
from harness.scoring.scores import StoredScore
from harness.words import counted

_FALLBACKS = ("accepted-greedy-fallback", "accepted-exact-fallback")
_COST = "solver ms per token"
_WAITING = "model waits"
_COLUMNS = {
    "by threshold": "accepted-threshold",
    "by certificate": "accepted-certificate",
    "by fallback": "",  # the sum of two scores
    "rejected per token": "rejections",
    "undecided per token": "undecided",
    "programs per token": "programs",
    "pivots per program": "pivots",
    "passes per program": "passes",
}


def sampling(sources: Sources) -> list[Table | Missing]:
    """A row for each method."""
    results = [result for result in shown(sources.results) if has_score(result, "accepted-threshold")]
    if not results:
        why = "the runs have no statistics of sampling; add sampling to scoring.statistics of the sweep"
        return [Missing("How tokens were accepted", why, "bat-harness run configs/paper/comparison.yaml")]
    rows = []
    for label, result in zip(labels(results), results, strict=True):
        cells = [
            score_cell(result, name, plain=True) if name else _fallback_cell(result)
            for name in _COLUMNS.values()
        ]
        cost = sources.cost(result)
        rows.append(Row(label, (*cells, _cost_cell(cost, result), _waiting_cell(cost, result))))
    return [
        Table(
            name="sampling",
            title="How tokens were accepted, and at what cost",
            caption="Shares of tokens accepted at or above the threshold, below it by a certificate, and by "
            "the fallback after too many rejections; then counts. Undecided candidates were rejected "
            "although the bounds did not decide. A program is the linear program of one candidate. 95% "
            "intervals are in the CSV file. Milliseconds are by the clocks of the workers. The "
            "model waits while the cores of its worker are not done with any batch of texts.",
            columns=("method", *_COLUMNS, _COST, _WAITING),
            rows=tuple(rows),
            notes=sources.paper_says("cost"),
        )
    ]


def _fallback_cell(result: Result) -> Cell:
    """Both fallbacks together: a sweep uses one of them."""
    totals = [
        total
        for seed in result.seeds
        if (total := _total([seed.scores[name] for name in _FALLBACKS if name in seed.scores])) is not None
    ]
    if not totals:
        return EMPTY
    how = f"{' plus '.join(_FALLBACKS)} of {result.label}"
    return number_cell(estimate(totals), jobs_of(result), how, plain=True)


def _total(scores: Sequence[StoredScore]) -> StoredScore | None:
    """The sum of two scores, resampling by resampling."""
    if not scores:
        return None
    if any(score.value is None for score in scores):
        return replace(scores[0], name="fallback", value=None, low=None, high=None, detail=None)
    detail = {}
    for key in ("resampled", "left_out"):
        lists = [(score.detail or {}).get(key) or [] for score in scores]
        if len({len(values) for values in lists}) == 1:
            detail[key] = [_sum(values) for values in zip(*lists, strict=True)]
    value = _sum([score.value for score in scores])
    return replace(scores[0], name="fallback", value=value, low=None, high=None, detail=detail)


def _sum(values: Sequence[Any]) -> float | None:
    return None if any(value is None for value in values) else float(sum(values))


def _cost_cell(cost: Cost | None, result: Result) -> Cell:
    if cost is None:
        return EMPTY
    jobs = tuple(job for seed in result.seeds for job in seed.generate_jobs)
    how = f"{cost.solver_seconds:.4g} seconds of solving over {cost.tokens} tokens"
    if cost.tokens == 0:
        return Cell(NOT_DEFINED, jobs=jobs, how=how)
    value = 1000 * cost.solver_seconds / cost.tokens
    return Cell(significant(value), value, jobs=jobs, how=how)


def _waiting_cell(cost: Cost | None, result: Result) -> Cell:
    """The share of its workers' time in which the model waited for the host."""
    use = None if cost is None else cost.time_use
    if use is None:
        return EMPTY
    jobs = tuple(job for seed in result.seeds for job in seed.generate_jobs)
    how = (
        f"{use.waiting:.4g} of {use.forward + use.propose + use.waiting:.4g} seconds; {use.forward:.4g} were "
        f"forward passes and {use.propose:.4g} proposals, and settling took {use.settle:.4g}, with up to "
        f"{counted(use.batches_in_flight, 'batch', 'batches')} in flight"
    )
    return Cell(f"{use.waiting_share:.0%}", use.waiting_share, jobs=jobs, how=how)
