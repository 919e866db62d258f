"""Rules without a parameter: ancestral and greedy, the ends of every scale, and p-less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bat.arrays import BoolArray, FloatArray
from bat.rules.base import ThresholdRule
from bat.rules.facts import Facts
from bat.rules.summary import LARGEST_THRESHOLD, Summary


@dataclass(frozen=True, slots=True)
class Ancestral(ThresholdRule):
    """Sample from the distribution as it is: the threshold is zero and nothing is rejected."""

    plain_name: ClassVar[str] = "ancestral"
    keeps_every_token: ClassVar[bool] = True
    has_basis_aware_form: ClassVar[bool] = False
    takes_no_parameter: ClassVar[bool] = True
    takes_tensors: ClassVar[bool] = True

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        return Summary.of(probs).constant(0.0)

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """Zero for every token: there is no parameter, and nothing is ever rejected."""
        return np.zeros_like(levels)


@dataclass(frozen=True, slots=True)
class Greedy(ThresholdRule):
    """Take the most likely token; among equals, the one with the lowest id.

    The threshold is the largest probability, which keeps all equals: ``keep`` alone breaks the tie, so
    that exactly one token of each row remains.
    """

    plain_name: ClassVar[str] = "greedy"
    keeps_one_token: ClassVar[bool] = True
    has_basis_aware_form: ClassVar[bool] = False
    takes_no_parameter: ClassVar[bool] = True
    takes_tensors: ClassVar[bool] = True

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(rows.maximum)

    def keep(self, probs: FloatArray | Summary) -> BoolArray:
        return Summary.of(probs).most_likely

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """The number of likelier tokens, as for top-k with k = 1; ids, which break ties, are not known."""
        return rows.rank(levels, ties_kept).astype(np.float64)


@dataclass(frozen=True, slots=True)
class PLess(ThresholdRule):
    """Keep tokens at least as likely as two draws are to agree: the threshold is the sum of p^2.

    Tan, Wu and Howard 2025, "p-less sampling". The sum is exp(-H2), with H2 the Renyi entropy of order two.
    Their variant p-less-norm lowers the threshold by (1 - sum) / (v - 1), some 1/v, and is not offered.
    """

    plain_name: ClassVar[str] = "p-less"
    takes_no_parameter: ClassVar[bool] = True
    takes_tensors: ClassVar[bool] = True
    extra_facts: ClassVar[tuple[str, ...]] = ("collision",)

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(rows.collision)

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """One for rejected tokens and zero for others: there is no parameter to vary."""
        thresholds = np.minimum(rows.collision, np.minimum(rows.maximum, LARGEST_THRESHOLD))
        rejected = np.where(ties_kept, levels < thresholds, levels <= thresholds)
        return rejected.astype(np.float64)
