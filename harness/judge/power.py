"""What a study can show: the smallest preference that its test detects with 80% probability.

The computation is exact. An item's votes are first, second or tie; the item counts for the setting with more
votes, and is left out if there are as many of both. The test is the exact two-sided sign test on the items
that are left. Votes are taken as independent with the same probabilities, so a study of items that differ
much in how they are judged has less power than this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat.arrays import FloatArray

IntArray = npt.NDArray[np.int64]

POWER = 0.8
LEVEL = 0.05
# The share of ties in the paper's three comparisons is 5%, 8% and 19%.
TIES = 0.1


@dataclass(frozen=True, slots=True)
class Power:
    """What a number of items with so many votes each can show."""

    items: int
    votes: int
    ties: float
    preference: float | None  # the smallest share of non-ties for one setting; None if not even 1 suffices

    def __str__(self) -> str:
        if self.preference is None:
            return f"No preference could be shown: {self.items} items are too few for the sign test at 5%."
        share = f"{self.preference:.1%}"
        return (
            f"Detects a preference of {share} to {1 - self.preference:.1%} among non-ties with {POWER:.0%} "
            f"probability ({self.votes} votes on each of {self.items} items, {self.ties:.0%} ties assumed)."
        )


def smallest_preference(items: int, votes: int, ties: float = TIES, power: float = POWER) -> Power:
    """The smallest preference that the sign test detects with this probability, to 1e-4."""
    if power_of(1.0, items, votes, ties) < power:
        return Power(items, votes, ties, None)
    low, high = 0.5, 1.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        if power_of(middle, items, votes, ties) >= power:
            high = middle
        else:
            low = middle
    return Power(items, votes, ties, float(np.ceil(high * 1e4) / 1e4))


def power_of(preference: float, items: int, votes: int, ties: float, level: float = LEVEL) -> float:
    """The probability that the sign test is significant."""
    from scipy.stats import binom

    first, second, _ = item_outcomes(preference, votes, ties)
    decided = first + second
    if decided == 0:
        return 0.0
    counts = np.arange(items + 1)  # of items that are not tied
    critical = critical_counts(counts, level)
    share = first / decided
    rejected = binom.sf(critical - 1, counts, share) + binom.cdf(counts - critical, counts, share)
    return float(binom.pmf(counts, items, decided) @ rejected)


def critical_counts(counts: IntArray, level: float = LEVEL) -> IntArray:
    """For each number of signs, the least number of equal ones that the two-sided sign test rejects.

    It is larger than the number of signs where the test rejects nothing.
    """
    from scipy.stats import binom

    critical: IntArray = binom.isf(level / 2, counts, 0.5).astype(np.int64) + 1
    return critical


def item_outcomes(preference: float, votes: int, ties: float) -> FloatArray:
    """The probabilities that an item counts for the first, for the second, and for neither, [3]."""
    # The distribution of (votes for the first) - (votes for the second), at index votes + difference.
    difference = np.zeros(2 * votes + 1)
    difference[votes] = 1.0
    for _ in range(votes):
        difference = (
            np.roll(difference, 1) * (1 - ties) * preference
            + np.roll(difference, -1) * (1 - ties) * (1 - preference)
            + difference * ties
        )
    return np.array([difference[votes + 1 :].sum(), difference[:votes].sum(), difference[votes]])


def passes_by_chance(checks: int, least: float) -> float:
    """The probability that a judge who answers at random passes so many attention checks."""
    from scipy.stats import binom

    return float(binom.sf(int(np.ceil(least * checks)) - 1, checks, 1 / 3))
