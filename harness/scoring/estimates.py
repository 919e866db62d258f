"""Estimates with intervals from stored scores, and differences between two of them.

A score varies for three reasons, and each has its own interval:

    k-means seeds        MAUVE clusters its vectors, and another seed gives other clusters
    generation seeds     with another seed, the same setting writes other texts
    resampled prefixes   other prefixes would have other continuations

Resampling number r draws the same prefixes for every method and seed and for human text. So differences are
resampled in pairs, and what makes a prefix hard for both sides cancels. Scores that resampling would bias,
such as counts of distinct n-grams, are computed with blocks of prefixes left out instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

import numpy as np

from bat.errors import InvalidInputError
from harness.scoring.resampling import FloatArray
from harness.scoring.scores import StoredScore
from harness.scoring.summarize import held_to_range, interval_from_blocks, interval_from_resamples, is_point


class Source(StrEnum):
    """What was varied for an interval."""

    KMEANS = "k-means seeds"
    GENERATION = "generation seeds"
    PREFIXES = "resampled prefixes"
    BLOCKS = "blocks of prefixes left out"


# In order of preference: first those that say how much another sample of text would change the score.
_MAIN = (Source.PREFIXES, Source.BLOCKS, Source.GENERATION, Source.KMEANS)


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval, from `count` seeds, resamplings or blocks."""

    source: Source
    low: float
    high: float
    count: int

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


@dataclass(frozen=True, slots=True)
class SignTest:
    """On how many blocks the first is higher and lower, and how likely such a split is by chance."""

    better: int  # higher, whether or not that is good
    worse: int
    p_value: float  # exact, two-sided; ties are dropped
    over: str


@dataclass(frozen=True, slots=True)
class Difference(Estimate):
    """First minus second."""

    sign_test: SignTest | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the main interval excludes zero."""
        return self.main is not None and not self.main.low <= 0 <= self.main.high

    def reversed(self) -> Difference:
        """Second minus first."""
        intervals = tuple(
            replace(interval, low=-interval.high, high=-interval.low) for interval in self.intervals
        )
        test = self.sign_test
        swapped = None if test is None else replace(test, better=test.worse, worse=test.better)
        return Difference(-self.value, intervals, swapped)


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """The values behind intervals; empty arrays if there are none."""

    value: float
    seeds: FloatArray  # one for each generation seed
    kmeans: FloatArray  # one for each k-means seed, mean over generation seeds, as are the following
    resampled: FloatArray
    left_out: FloatArray

    def intervals(self) -> tuple[Interval, ...]:
        """The intervals that can be computed."""
        resampled = interval_from_resamples(self.value, self.resampled)
        over_prefixes = _interval(Source.PREFIXES, resampled, self.resampled)
        if over_prefixes is None:
            blocks = interval_from_blocks(self.value, self.left_out)
            over_prefixes = _interval(Source.BLOCKS, blocks, self.left_out)
        intervals = (
            _over_seeds(Source.KMEANS, self.kmeans),
            _over_seeds(Source.GENERATION, self.seeds),
            over_prefixes,
        )
        return tuple(interval for interval in intervals if interval is not None)


def estimate(scores: Sequence[StoredScore]) -> Estimate:
    """Average a score over generation seeds; each entry is the same score for another seed."""
    spread = _spread(scores)
    intervals = []
    for interval in spread.intervals():
        if is_point(interval.low, interval.high):
            continue
        low, high = held_to_range(scores[0].name, interval.low, interval.high)
        intervals.append(replace(interval, low=low, high=high))
    return Estimate(spread.value, tuple(intervals))


def difference(first: Sequence[StoredScore], second: Sequence[StoredScore]) -> Difference:
    """Return first minus second, each a score for every generation seed.

    Seeds are paired by position if both sides have the same number. Values under resamplings and without
    blocks are paired by number if both sides have the same resampling.
    """
    if len(first) == len(second):
        both = [pair for pair in zip(first, second, strict=True) if all(map(_is_defined, pair))]
        if both:
            first, second = [pair[0] for pair in both], [pair[1] for pair in both]
    left, right = _spread(first), _spread(second)
    same_resampling = len({score.resampling for score in (*first, *second)}) == 1
    none = np.empty(0)
    paired = _Spread(
        value=left.value - right.value,
        seeds=_minus(left.seeds, right.seeds),
        kmeans=_minus(left.kmeans, right.kmeans),
        resampled=_minus(left.resampled, right.resampled) if same_resampling else none,
        left_out=_minus(left.left_out, right.left_out) if same_resampling else none,
    )
    return Difference(paired.value, paired.intervals(), _sign_test(left, right, paired))


def words(
    difference: Difference,
    *,
    first: str,
    second: str,
    unit: str = "",
    show: Callable[[float], str] = "{:.3g}".format,
) -> str:
    """Say in a sentence what a difference shows."""
    if math.isnan(difference.value):
        return f"{first} and {second}: nothing can be said, one of the two is not defined"
    unit = f" {unit}" if unit else ""
    signed = f"{_signed(difference.value, show)}{unit}"
    if difference.main is None:
        return (
            f"{first} and {second}: nothing can be said about {signed}, which has no interval: there is one "
            "seed, and the prefixes were not resampled in pairs"
        )
    if not difference.is_shown:
        evidence = _evidence(difference, "the first", show)
        return f"{first} and {second}: no difference shown ({signed}, {evidence})"
    if difference.value < 0:
        first, second, difference = second, first, difference.reversed()
    evidence = _evidence(difference, "it", show)
    return f"{first} is higher than {second} by {show(difference.value)}{unit} ({evidence})"


def _evidence(difference: Difference, subject: str, show: Callable[[float], str]) -> str:
    main, test = difference.main, difference.sign_test
    assert main is not None, "only called for a difference with an interval"
    interval = f"95% interval {show(main.low)} to {show(main.high)} over {main.source}"
    if test is None:
        return interval
    blocks = test.better + test.worse
    return f"{interval}; {subject} is higher on {test.better} of {blocks} blocks, p = {test.p_value:.2g}"


def _spread(scores: Sequence[StoredScore]) -> _Spread:
    if not scores:
        raise InvalidInputError("an estimate needs the score of at least one seed; got none.")
    names = {score.name for score in scores}
    if len(names) > 1:
        raise InvalidInputError(f"the scores of an estimate must have the same name; got {sorted(names)}.")
    defined = [score for score in scores if _is_defined(score)]
    values = np.array([score.value for score in defined], dtype=np.float64)
    return _Spread(
        value=float(values.mean()) if len(values) else math.nan,
        seeds=values,
        kmeans=_average(defined, "values"),
        resampled=_average(defined, "resampled"),
        left_out=_average(defined, "left_out"),
    )


def _is_defined(score: StoredScore) -> bool:
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


def _minus(first: FloatArray, second: FloatArray) -> FloatArray:
    return first - second if len(first) == len(second) else np.empty(0)


def _over_seeds(source: Source, values: FloatArray) -> Interval | None:
    """Student's interval of the mean."""
    defined = values[~np.isnan(values)]
    if len(defined) < 2:
        return None
    from scipy.stats import t

    half_width = float(t.ppf(0.975, len(defined) - 1) * defined.std(ddof=1) / math.sqrt(len(defined)))
    mean = float(defined.mean())
    return Interval(source, mean - half_width, mean + half_width, len(defined))


def _interval(source: Source, ends: tuple[float | None, float | None], values: FloatArray) -> Interval | None:
    low, high = ends
    if low is None or high is None:
        return None
    return Interval(source, low, high, int(np.sum(~np.isnan(values))))


def _sign_test(left: _Spread, right: _Spread, paired: _Spread) -> SignTest | None:
    """Test whether the blocks agree on a sign, by the jackknife pseudo-value of each block."""
    blocks = len(paired.left_out)
    if math.isnan(paired.value) or blocks < 2 or np.isnan(paired.left_out).any():
        return None
    from scipy.stats import binomtest

    pseudo_values = blocks * paired.value - (blocks - 1) * paired.left_out
    # Values without a block are stored to seven digits, so differences within rounding count as ties.
    tie = 2e-7 * blocks * max(abs(left.value), abs(right.value))
    better, worse = int(np.sum(pseudo_values > tie)), int(np.sum(pseudo_values < -tie))
    p_value = float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
    return SignTest(better, worse, p_value, f"{blocks} blocks of prefixes")


def _signed(value: float, show: Callable[[float], str]) -> str:
    return f"+{show(value)}" if value > 0 else show(value)
