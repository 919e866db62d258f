"""From stored scores to numbers with intervals, and from two of them to a difference.

A score moves for three reasons, and each has its own interval:

    k-means seeds        MAUVE clusters its vectors, and another start gives other clusters
    generation seeds     the same setting writes other texts with another seed
    resampled prefixes   other prefixes would have been continued otherwise

Resampling number r draws the same prefixes for every method and seed and for human text. So a difference is
resampled with it, and what makes a prefix hard for both sides cancels. Scores that resampling would distort,
such as counts of distinct n-grams, have blocks of prefixes left out instead.
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


# The one that answers "would another sample of text say the same?" comes first.
_MAIN = (Source.PREFIXES, Source.BLOCKS, Source.GENERATION, Source.KMEANS)


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval; `count` seeds, resamplings or blocks are behind it."""

    source: Source
    low: float
    high: float
    count: int

    @property
    def half_width(self) -> float:
        """How far its ends are from its middle."""
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
        """Of the intervals there are, the one that says most about other text."""
        return next((found for found in map(self.interval, _MAIN) if found is not None), None)

    def scaled(self, factor: float) -> Self:
        """The same in another unit, such as MAUVE times 100; the factor must be positive."""
        ends = (replace(one, low=factor * one.low, high=factor * one.high) for one in self.intervals)
        return replace(self, value=factor * self.value, intervals=tuple(ends))


@dataclass(frozen=True, slots=True)
class SignTest:
    """On how many blocks the first is higher and lower, and how likely so uneven a split is by chance."""

    better: int  # in the sense of higher, whatever is good
    worse: int
    p_value: float  # exact, two-sided; ties are dropped
    over: str


@dataclass(frozen=True, slots=True)
class Difference(Estimate):
    """First minus second."""

    sign_test: SignTest | None = None

    @property
    def is_shown(self) -> bool:
        """Whether the main interval leaves out zero."""
        return self.main is not None and not self.main.low <= 0 <= self.main.high

    def turned(self) -> Difference:
        """Second minus first."""
        ends = tuple(replace(one, low=-one.high, high=-one.low) for one in self.intervals)
        test = self.sign_test
        swapped = None if test is None else replace(test, better=test.worse, worse=test.better)
        return Difference(-self.value, ends, swapped)


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """The values behind intervals; empty where there are none."""

    value: float
    seeds: FloatArray  # one for each generation seed
    kmeans: FloatArray  # one for each k-means seed, mean over generation seeds, as are the following
    resampled: FloatArray
    left_out: FloatArray

    def intervals(self) -> tuple[Interval, ...]:
        """Those that can be had."""
        found = [
            _over_seeds(Source.KMEANS, self.kmeans),
            _over_seeds(Source.GENERATION, self.seeds),
            _named(Source.PREFIXES, interval_from_resamples(self.value, self.resampled), self.resampled),
        ]
        if found[-1] is None:
            blocks = interval_from_blocks(self.value, self.left_out)
            found[-1] = _named(Source.BLOCKS, blocks, self.left_out)
        return tuple(interval for interval in found if interval is not None)


def estimate(scores: Sequence[StoredScore]) -> Estimate:
    """Average a score over generation seeds; each entry is the same score for another seed."""
    spread = _spread(scores)
    possible = []
    for one in spread.intervals():
        if is_point(one.low, one.high):
            continue
        low, high = held_to_range(scores[0].name, one.low, one.high)
        possible.append(replace(one, low=low, high=high))
    return Estimate(spread.value, tuple(possible))


def difference(first: Sequence[StoredScore], second: Sequence[StoredScore]) -> Difference:
    """Return first minus second, each a score for every generation seed.

    Seeds are paired by position where both sides have as many. Values under resamplings and without blocks
    are paired by number where both sides have the same ones.
    """
    if len(first) == len(second):
        both = [pair for pair in zip(first, second, strict=True) if all(map(_is_defined, pair))]
        if both:
            first, second = [pair[0] for pair in both], [pair[1] for pair in both]
    one, other = _spread(first), _spread(second)
    alike = len({score.resampling for score in (*first, *second)}) == 1
    none = np.empty(0)
    paired = _Spread(
        value=one.value - other.value,
        seeds=_minus(one.seeds, other.seeds),
        kmeans=_minus(one.kmeans, other.kmeans),
        resampled=_minus(one.resampled, other.resampled) if alike else none,
        left_out=_minus(one.left_out, other.left_out) if alike else none,
    )
    return Difference(paired.value, paired.intervals(), _sign_test(one, other, paired))


def words(
    found: Difference,
    *,
    first: str,
    second: str,
    unit: str = "",
    show: Callable[[float], str] = "{:.3g}".format,
) -> str:
    """Say in a sentence what a difference shows."""
    if math.isnan(found.value):
        return f"{first} and {second}: nothing can be said, one of the two is not defined"
    unit = f" {unit}" if unit else ""
    if found.main is None:
        return (
            f"{first} and {second}: nothing can be said about {_signed(found.value, show)}{unit}, which has "
            "no interval: there is one seed, and the prefixes were not resampled in pairs"
        )
    if not found.is_shown:
        evidence = _evidence(found, "the first", show)
        return f"{first} and {second}: no difference shown ({_signed(found.value, show)}{unit}, {evidence})"
    higher, lower, turned = (first, second, found) if found.value > 0 else (second, first, found.turned())
    return f"{higher} is higher than {lower} by {show(turned.value)}{unit} ({_evidence(turned, 'it', show)})"


def _evidence(found: Difference, subject: str, show: Callable[[float], str]) -> str:
    main, test = found.main, found.sign_test
    assert main is not None, "there is none to tell of"
    said = f"95% interval {show(main.low)} to {show(main.high)} over {main.source}"
    if test is None:
        return said
    blocks = test.better + test.worse
    return f"{said}; {subject} is higher on {test.better} of {blocks} blocks, p = {test.p_value:.2g}"


def _spread(scores: Sequence[StoredScore]) -> _Spread:
    if not scores:
        raise InvalidInputError("an estimate needs the score of at least one seed; got none.")
    names = {score.name for score in scores}
    if len(names) > 1:
        raise InvalidInputError(f"the scores of an estimate must be the same one; got {sorted(names)}.")
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
    """The mean over seeds of what a score's detail has under a key; empty unless all have as much of it."""
    lists = [(score.detail or {}).get(key) or [] for score in scores]
    if not lists or len({len(one) for one in lists}) != 1:
        return np.empty(0)
    rows = [[math.nan if value is None else value for value in one] for one in lists]
    return np.asarray(np.array(rows, dtype=np.float64).mean(axis=0))


def _minus(first: FloatArray, second: FloatArray) -> FloatArray:
    return first - second if len(first) == len(second) else np.empty(0)


def _over_seeds(source: Source, values: FloatArray) -> Interval | None:
    """Student's interval of the mean."""
    known = values[~np.isnan(values)]
    if len(known) < 2:
        return None
    from scipy.stats import t

    reach = float(t.ppf(0.975, len(known) - 1) * known.std(ddof=1) / math.sqrt(len(known)))
    middle = float(known.mean())
    return Interval(source, middle - reach, middle + reach, len(known))


def _named(source: Source, ends: tuple[float | None, float | None], values: FloatArray) -> Interval | None:
    low, high = ends
    if low is None or high is None:
        return None
    return Interval(source, low, high, int(np.sum(~np.isnan(values))))


def _sign_test(one: _Spread, other: _Spread, paired: _Spread) -> SignTest | None:
    """Whether the blocks agree on a sign, by what each of them adds: its jackknife pseudo-value."""
    blocks = len(paired.left_out)
    if math.isnan(paired.value) or blocks < 2 or np.isnan(paired.left_out).any():
        return None
    from scipy.stats import binomtest

    added = blocks * paired.value - (blocks - 1) * paired.left_out
    # Values without a block are stored to seven digits, and what rounding made of a tie is no vote.
    tie = 2e-7 * blocks * max(abs(one.value), abs(other.value))
    better, worse = int(np.sum(added > tie)), int(np.sum(added < -tie))
    p_value = float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
    return SignTest(better, worse, p_value, f"{blocks} blocks of prefixes")


def _signed(value: float, show: Callable[[float], str]) -> str:
    return f"+{show(value)}" if value > 0 else show(value)
