"""Shares of wins and ties with intervals, and the sign test.

Other prefixes would have other continuations, and other judges another taste, so both are resampled. Votes on
one prefix are alike, and so are votes of one judge. Prefixes and judges are drawn with replacement, apart and
together, and the variance of a share is what the resampled prefixes give plus what the resampled judges give,
minus what both count (Cameron, Gelbach and Miller, "Robust inference with multiway clustering", 2011).
Resampling both at once without that correction would count the noise of single votes three times (Owen, "The
pigeonhole bootstrap", 2007), and its intervals would be far too wide.

Intervals use Student's t with one degree of freedom less than there are judges or prefixes, whichever are
fewer: three judges say little about others. That of a share is Wilson's, with the number of independent votes
that would have the same variance, so it stays inside [0, 1] and does not vanish where a share is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from harness.judge.votes import Vote
from harness.store.study_records import Answer

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

RESAMPLES = 1000
_LEVEL = 0.05
_MOST_WEIGHTS = 5_000_000  # in memory at once
ANSWERS = (Answer.FIRST, Answer.SECOND, Answer.TIE)  # in the order of counts


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its 95% interval."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class SignTest:
    """Prefixes that count for each setting, and the exact two-sided probability of such a division."""

    first: int
    second: int
    p_value: float

    @property
    def prefixes(self) -> int:
        return self.first + self.second


@dataclass(frozen=True, slots=True)
class PairResult:
    """The votes on one pair of settings."""

    votes: int
    prefixes: int
    judges: int
    first: Estimate  # shares of all votes
    second: Estimate
    ties: Estimate
    difference: Estimate  # of the first two
    sign_test: SignTest
    shown_first: Estimate  # the share of non-ties that the text shown first won

    @property
    def is_shown(self) -> bool:
        """Whether a preference is shown: by the sign test and by the interval."""
        return self.sign_test.p_value < _LEVEL and self.difference.excludes_zero


class Clusters:
    """Votes by prefix and by judge, and their resamplings, which are the same for all statistics."""

    def __init__(self, votes: Sequence[Vote], resamples: int = RESAMPLES, seed: int = 0) -> None:
        if not votes:
            raise InvalidInputError("a result needs votes; there are none yet.")
        # Judges have other names in other databases. In the order of what they said, the same answers have
        # the same intervals everywhere.
        said: dict[str, list[tuple[str, str, bool]]] = {}
        for vote in votes:
            own = (f"{vote.prefix} {vote.pair}", vote.answer, vote.swapped)
            said.setdefault(vote.judge, []).append(own)
        judges = sorted(said, key=lambda judge: sorted(said[judge]))
        self.prefix_of, self.prefixes = _numbered(
            [vote.prefix for vote in votes], sorted({vote.prefix for vote in votes})
        )
        self.judge_of, self.judges = _numbered([vote.judge for vote in votes], judges)
        random = np.random.default_rng([seed, self.prefixes, self.judges])
        self.prefix_draws = _draws(random, self.prefixes, resamples)
        self.judge_draws = _draws(random, self.judges, resamples)

    @property
    def quantile(self) -> float:
        """Of Student's t."""
        from scipy.stats import t

        sizes = [size for size in (self.prefixes, self.judges) if size > 1]
        return float(t.ppf(1 - _LEVEL / 2, min(sizes) - 1)) if sizes else math.inf

    def variance(self, statistic: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """The variance of a statistic, which takes weights of votes, [r, n], and returns values, [r, k]."""
        whole = statistic(np.ones((1, len(self.prefix_of))))
        of_prefixes = of_judges = twice = np.zeros(whole.shape[1])
        resamples = len(self.prefix_draws)
        step = max(1, _MOST_WEIGHTS // len(self.prefix_of))
        for start in range(0, resamples, step):
            prefixes = self.prefix_draws[start : start + step, self.prefix_of]
            judges = self.judge_draws[start : start + step, self.judge_of]
            by_prefix, by_judge = statistic(prefixes) - whole, statistic(judges) - whole
            together = statistic(prefixes * judges) - whole
            of_prefixes = of_prefixes + (by_prefix**2).sum(axis=0) / resamples
            of_judges = of_judges + (by_judge**2).sum(axis=0) / resamples
            twice = twice + ((together - by_prefix - by_judge) ** 2).sum(axis=0) / resamples
        # A resampling of g clusters has g - 1 degrees of freedom.
        of_prefixes, of_judges = (
            of_prefixes * _correction(self.prefixes),
            of_judges * _correction(self.judges),
        )
        joint = of_prefixes + of_judges - twice
        variance: FloatArray = np.maximum(joint, np.maximum(of_prefixes, of_judges))
        return variance


def pair_result(votes: Sequence[Vote], resamples: int = RESAMPLES) -> PairResult:
    """Everything about the votes on one pair; raises if there are none."""
    clusters = Clusters(votes, resamples)
    answers = np.array([ANSWERS.index(vote.answer) for vote in votes])
    chosen = np.eye(3)[answers]  # [n, 3]
    # Shares, and the difference of the first two.
    columns = np.column_stack([chosen, chosen[:, 0] - chosen[:, 1]])
    variance = clusters.variance(lambda weights: _means(weights, columns))
    values = columns.mean(axis=0)
    first, second, ties = (
        share_interval(float(values[index]), float(variance[index]), len(votes), clusters)
        for index in range(3)
    )
    floor = (values[0] + values[1] - values[3] ** 2) / len(votes)
    half = clusters.quantile * math.sqrt(max(float(variance[3]), float(floor)))
    difference = Estimate(
        float(values[3]), max(-1.0, float(values[3]) - half), min(1.0, float(values[3]) + half)
    )
    return PairResult(
        len(votes),
        clusters.prefixes,
        clusters.judges,
        first,
        second,
        ties,
        difference=difference,
        sign_test=sign_test(votes),
        shown_first=position_bias(votes, resamples),
    )


def share_interval(share: float, variance: float, votes: int, clusters: Clusters) -> Estimate:
    """Wilson's interval of a share with this variance."""
    alone = share * (1 - share)
    if alone > 0:
        effective = min(votes, alone / variance) if variance > 0 else votes
    else:
        # All votes are alike: what a share near 0 or 1 would vary cannot be seen. Prefixes are independent.
        effective = min(votes, clusters.prefixes)
    return wilson(share, effective, clusters.quantile)


def wilson(share: float, count: float, quantile: float) -> Estimate:
    """Wilson's interval of a share of so many independent votes."""
    if not math.isfinite(quantile):
        return Estimate(share, 0.0, 1.0)
    square = quantile**2 / count
    centre = (share + square / 2) / (1 + square)
    half = math.sqrt(square * share * (1 - share) + square**2 / 4) / (1 + square)
    return Estimate(share, max(0.0, centre - half), min(1.0, centre + half))


def sign_test(votes: Sequence[Vote]) -> SignTest:
    """Each prefix counts for the setting with more of its votes; those with as many of both do not count.

    Votes on one prefix are not independent, so a test of single votes would find preferences too often.
    """
    from scipy.stats import binomtest

    signs: dict[str, int] = {}
    for vote in votes:
        step = {Answer.FIRST: 1, Answer.SECOND: -1, Answer.TIE: 0}[vote.answer]
        signs[vote.prefix] = signs.get(vote.prefix, 0) + step
    first = sum(sign > 0 for sign in signs.values())
    second = sum(sign < 0 for sign in signs.values())
    p_value = float(binomtest(first, first + second).pvalue) if first + second else 1.0
    return SignTest(first, second, p_value)


def position_bias(votes: Sequence[Vote], resamples: int = RESAMPLES) -> Estimate:
    """The share of non-ties that the text shown first won."""
    decided = [vote for vote in votes if vote.answer is not Answer.TIE]
    if not decided:
        return Estimate(math.nan, 0.0, 1.0)
    clusters = Clusters(decided, resamples)
    column = np.array([[float(bool(vote.chose_shown_first))] for vote in decided])
    [variance] = clusters.variance(lambda weights: _means(weights, column))
    return share_interval(float(column.mean()), float(variance), len(decided), clusters)


def _means(weights: FloatArray, columns: FloatArray) -> FloatArray:
    """Weighted means, [r, k]; where nothing was drawn, the mean of all."""
    total = weights.sum(axis=1, keepdims=True)
    unknown = np.tile(columns.mean(axis=0), (len(weights), 1))
    means: FloatArray = np.divide(weights @ columns, total, out=unknown, where=total > 0)
    return means


def _correction(count: int) -> float:
    return count / (count - 1) if count > 1 else 0.0


def _numbered(names: Sequence[str], order: Sequence[str]) -> tuple[IntArray, int]:
    """The number of each name in an order of all of them, and how many there are."""
    numbers = {name: number for number, name in enumerate(order)}
    return np.array([numbers[name] for name in names]), len(numbers)


def _draws(random: np.random.Generator, count: int, resamples: int) -> FloatArray:
    return random.multinomial(count, np.full(count, 1 / count), size=resamples).astype(np.float64)
