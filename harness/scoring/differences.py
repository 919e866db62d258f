"""Differences between two scores, with intervals, a sign test, and what they show in words.

Two sets of texts that continue the same prefixes are paired: what makes a prefix hard for both cancels. Texts
of different prefixes are not. Then the errors of both sides add up, as for two independent numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.scoring.estimates import OVER_PREFIXES, Estimate, Interval, Spread, is_defined, spread_of
from harness.scoring.resampling import FloatArray
from harness.scoring.scores import StoredScore
from harness.scoring.summarize import is_point, is_share


@dataclass(frozen=True, slots=True)
class SignTest:
    """On how many blocks the first is higher and lower, and how likely such a split is by chance."""

    better: int  # higher, whether or not that is good
    worse: int
    p_value: float  # exact, two-sided; ties are dropped
    over: str

    @property
    def blocks(self) -> int:
        """The blocks on which the two differ."""
        return self.better + self.worse

    def words(self, subject: str) -> str:
        """The outcome, where `subject` is what is higher."""
        if self.blocks == 0:
            return f"the two are equal on each of {self.over}"
        return f"{subject} is higher on {self.better} of {self.blocks} blocks, p = {self.p_value:.2g}"


@dataclass(frozen=True, slots=True)
class Difference(Estimate):
    """First minus second."""

    sign_test: SignTest | None = None
    paired: bool = True  # whether both continue the same prefixes, resampled together

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
        return Difference(-self.value, intervals, swapped, self.paired)


def difference(
    first: Sequence[StoredScore], second: Sequence[StoredScore], *, paired: bool = True
) -> Difference:
    """Return first minus second, each a score for every generation seed.

    `paired` says that both continue the same prefixes. Seeds are then paired by position if both sides have
    the same number, and values under resamplings and without blocks by number. Sides with different
    resamplings are never paired.
    """
    if paired and len(first) == len(second):
        both = [pair for pair in zip(first, second, strict=True) if all(map(is_defined, pair))]
        if both:
            first, second = [pair[0] for pair in both], [pair[1] for pair in both]
    left, right = spread_of(first), spread_of(second)
    paired = paired and len({score.resampling for score in (*first, *second)}) == 1
    if paired:
        spread = _paired(left, right)
        intervals, test = spread.intervals(), _sign_test(left, right, spread)
    else:
        intervals, test = _independent(left, right), None
    if is_share(first[0].name):  # two numbers between 0 and 1 differ by at most 1
        intervals = tuple(
            replace(interval, low=max(interval.low, -1.0), high=min(interval.high, 1.0))
            for interval in intervals
        )
    return Difference(left.value - right.value, intervals, test, paired)


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
            "seed, and the prefixes were not resampled"
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
    if not difference.paired:
        interval += ", not paired"
    return interval if test is None else f"{interval}; {test.words(subject)}"


def _paired(left: Spread, right: Spread) -> Spread:
    return Spread(
        value=left.value - right.value,
        seeds=_minus(left.seeds, right.seeds),
        kmeans=_minus(left.kmeans, right.kmeans),
        behind={
            key: values - right.behind[key]
            for key, values in left.behind.items()
            if key in right.behind and len(values) == len(right.behind[key])
        },
    )


def _minus(first: FloatArray, second: FloatArray) -> FloatArray:
    return first - second if len(first) == len(second) else np.empty(0)


def _independent(left: Spread, right: Spread) -> tuple[Interval, ...]:
    """The intervals that both sides have: the squares of their half-widths add up.

    Sides that do not vary in this sample have none: that says nothing about other prefixes.
    """
    value = left.value - right.value
    intervals = []
    for one, other in _same_cause(left.intervals(), right.intervals()):
        reach = math.hypot(one.half_width, other.half_width)
        if not is_point(-reach, reach):
            intervals.append(Interval(one.source, value - reach, value + reach, min(one.count, other.count)))
    return tuple(intervals)


def _same_cause(left: Sequence[Interval], right: Sequence[Interval]) -> Iterator[tuple[Interval, Interval]]:
    """Pairs of intervals from the same source, or both over prefixes, in whichever way."""
    for one in left:
        for other in right:
            if one.source is other.source or {one.source, other.source} <= OVER_PREFIXES:
                yield one, other


def _sign_test(left: Spread, right: Spread, paired: Spread) -> SignTest | None:
    """Test whether the blocks agree on a sign, by the jackknife pseudo-value of each block."""
    left_out = paired.behind.get("left_out", np.empty(0))
    blocks = len(left_out)
    if math.isnan(paired.value) or blocks < 2 or np.isnan(left_out).any():
        return None
    from scipy.stats import binomtest

    pseudo_values = blocks * paired.value - (blocks - 1) * left_out
    # Values without a block are stored to seven digits, so differences within rounding count as ties.
    tie = 2e-7 * blocks * max(abs(left.value), abs(right.value))
    better, worse = int(np.sum(pseudo_values > tie)), int(np.sum(pseudo_values < -tie))
    p_value = float(binomtest(better, better + worse).pvalue) if better + worse else 1.0
    return SignTest(better, worse, p_value, f"{blocks} blocks of prefixes")


def _signed(value: float, show: Callable[[float], str]) -> str:
    return f"+{show(value)}" if value > 0 else show(value)
