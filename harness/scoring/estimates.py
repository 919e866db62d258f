"""Estimates with intervals from stored scores. Differences between two of them: harness.scoring.differences.

A score varies for three reasons, and each has its own interval:

    k-means seeds        MAUVE clusters its vectors, and another seed gives other clusters
    generation seeds     with another seed, the same setting writes other texts
    prefixes             other prefixes would have other continuations

Resampling or reweighting number r weighs prefixes alike for every method and seed and for human text. So
differences are resampled in pairs, and what makes a prefix hard for both sides cancels. Scores that this
would bias, such as counts of distinct n-grams, are computed with blocks of prefixes left out instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

import numpy as np

from bat.errors import InvalidInputError
from harness.scoring.resampling import FloatArray
from harness.scoring.scores import StoredScore
from harness.scoring.summarize import held_to_range, interval_over_prefixes, is_point


class Source(StrEnum):
    """What was varied for an interval."""

    KMEANS = "k-means seeds"
    GENERATION = "generation seeds"
    REWEIGHTED = "reweighted prefixes"
    PREFIXES = "resampled prefixes"
    BLOCKS = "blocks of prefixes left out"


OVER_PREFIXES = {Source.REWEIGHTED, Source.PREFIXES, Source.BLOCKS}

# In order of preference: first those that say how much another sample of text would change the score.
_MAIN = (Source.REWEIGHTED, Source.PREFIXES, Source.BLOCKS, Source.GENERATION, Source.KMEANS)

# Keys in the detail of a score with its values under other weights of the prefixes.
_BEHIND = ("weighed", "opposite", "raised", "lowered", "resampled", "left_out")


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval, from `count` seeds, resamplings or blocks."""

    source: Source
    low: float
    high: float
    count: int

    @property
    def middle(self) -> float:
        """Halfway between its ends: not always the value, nor once it is held to the range of a score."""
        return (self.low + self.high) / 2

    @property
    def half_width(self) -> float:
        """The distance of its ends from its middle."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, NaN where it is not defined, and its intervals."""

    value: float
    intervals: tuple[Interval, ...] = ()

    def interval(self, source: Source) -> Interval | None:
        """The interval of one source, if there is one."""
        return next((interval for interval in self.intervals if interval.source is source), None)

    @property
    def main(self) -> Interval | None:
        """The first available interval in the order of _MAIN."""
        return next((interval for interval in map(self.interval, _MAIN) if interval is not None), None)

    def scaled(self, factor: float) -> Self:
        """The estimate in another unit, such as MAUVE times 100; the factor must be positive."""
        scaled = (
            replace(interval, low=factor * interval.low, high=factor * interval.high)
            for interval in self.intervals
        )
        return replace(self, value=factor * self.value, intervals=tuple(scaled))


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The values behind intervals; empty arrays if there are none."""

    value: float
    seeds: FloatArray  # one for each generation seed
    kmeans: FloatArray  # one for each k-means seed, mean over generation seeds, as are the following
    behind: Mapping[str, FloatArray]  # under other weights of the prefixes, by the key in a score's detail

    def intervals(self) -> tuple[Interval, ...]:
        """The intervals that can be computed."""
        intervals = (
            _over_seeds(Source.KMEANS, self.kmeans),
            _over_seeds(Source.GENERATION, self.seeds),
            self._over_prefixes(),
        )
        return tuple(interval for interval in intervals if interval is not None)

    def _over_prefixes(self) -> Interval | None:
        source, (low, high), count = interval_over_prefixes(self.value, self.behind)
        return None if low is None or high is None else Interval(Source(source), low, high, count)


def estimate(scores: Sequence[StoredScore]) -> Estimate:
    """Average a score over generation seeds; each entry is the same score for another seed."""
    spread = spread_of(scores)
    intervals = []
    for interval in spread.intervals():
        if is_point(interval.low, interval.high):
            continue
        low, high = held_to_range(scores[0].name, interval.low, interval.high)
        intervals.append(replace(interval, low=low, high=high))
    return Estimate(spread.value, tuple(intervals))


def spread_of(scores: Sequence[StoredScore]) -> Spread:
    """The values behind the intervals of a score, which must be given for at least one seed."""
    if not scores:
        raise InvalidInputError("an estimate needs the score of at least one seed; got none.")
    names = {score.name for score in scores}
    if len(names) > 1:
        raise InvalidInputError(f"the scores of an estimate must have the same name; got {sorted(names)}.")
    defined = [score for score in scores if is_defined(score)]
    values = np.array([score.value for score in defined], dtype=np.float64)
    return Spread(
        value=float(values.mean()) if len(values) else math.nan,
        seeds=values,
        kmeans=_average(defined, "values"),
        behind={key: found for key in _BEHIND if len(found := _average(defined, key))},
    )


def is_defined(score: StoredScore) -> bool:
    """Whether the score of a seed has a value."""
    return score.value is not None and not math.isnan(score.value)


def _average(scores: Sequence[StoredScore], key: str) -> FloatArray:
    """The mean over seeds of the values that the detail of a score has under a key.

    Empty unless all scores have the same number of values.
    """
    lists = [(score.detail or {}).get(key) or [] for score in scores]
    if not lists or len({len(values) for values in lists}) != 1:
        return np.empty(0)
    rows = [[math.nan if value is None else value for value in values] for values in lists]
    return np.asarray(np.array(rows, dtype=np.float64).mean(axis=0))


def _over_seeds(source: Source, values: FloatArray) -> Interval | None:
    """Student's interval of the mean."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return None
    from scipy.stats import t

    half_width = float(t.ppf(0.975, len(defined) - 1) * defined.std(ddof=1) / math.sqrt(len(defined)))
    mean = float(defined.mean())
    return Interval(source, mean - half_width, mean + half_width, len(defined))
