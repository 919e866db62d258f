"""The two rules without a parameter, the ends of every scale: keep everything, keep one token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bat.arrays import BoolArray, FloatArray
from bat.rules.base import ThresholdRule
from bat.rules.facts import Facts
from bat.rules.summary import Summary


@dataclass(frozen=True, slots=True)
class Ancestral(ThresholdRule):
    """Sample from the distribution as it is: the threshold is zero and nothing is rejected."""

    plain_name: ClassVar[str] = "ancestral"
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
