"""How far judges agree with each other and with themselves, and how long they take."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.judge.votes import Vote
from harness.store.study_records import Answer, ItemKind

_VALUE = {Answer.FIRST: 1.0, Answer.TIE: 0.0, Answer.SECOND: -1.0}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of the judges of a study."""

    alpha: float | None  # None if no item has two votes, or all answers are the same
    items: int  # with at least two votes
    repeated: int  # items that a judge answered twice
    alike: int  # of them, with the same answer
    median_seconds: float | None
    seconds: float  # all together
    passed_checks: int
    checks: int


def agreement(votes: Sequence[Vote]) -> Agreement:
    """Krippendorff's alpha for ordered answers (first, tie, second), self-agreement, time and checks."""
    own = [vote for vote in votes if vote.kind is ItemKind.PAIR and not vote.is_repeat]
    checks = [vote for vote in votes if vote.kind is ItemKind.CHECK]
    seconds = [vote.seconds for vote in votes if vote.seconds is not None]
    twice = _repetitions(votes)
    counts: dict[int, int] = {}
    for vote in own:
        counts[vote.item] = counts.get(vote.item, 0) + 1
    return Agreement(
        alpha=krippendorff_alpha(own),
        items=sum(count > 1 for count in counts.values()),
        repeated=len(twice),
        alike=sum(first == second for first, second in twice),
        median_seconds=statistics.median(seconds) if seconds else None,
        seconds=sum(seconds),
        passed_checks=sum(vote.answer is Answer.FIRST for vote in checks),
        checks=len(checks),
    )


def krippendorff_alpha(votes: Sequence[Vote]) -> float | None:
    """Alpha for ordered answers, of the items with at least two votes; None if it is not defined."""
    import krippendorff

    judges = {name: number for number, name in enumerate(dict.fromkeys(vote.judge for vote in votes))}
    items = {item: number for number, item in enumerate(dict.fromkeys(vote.item for vote in votes))}
    table = np.full((len(judges), len(items)), np.nan)
    for vote in votes:
        table[judges[vote.judge], items[vote.item]] = _VALUE[vote.answer]
    table = table[:, np.isfinite(table).sum(axis=0) > 1]
    if np.unique(table[np.isfinite(table)]).size < 2:
        return None
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement="ordinal"))


def _repetitions(votes: Sequence[Vote]) -> list[tuple[Answer, Answer]]:
    first = {(vote.judge, vote.item): vote.answer for vote in votes if not vote.is_repeat}
    return [
        (first[vote.judge, vote.item], vote.answer)
        for vote in votes
        if vote.is_repeat and (vote.judge, vote.item) in first
    ]
