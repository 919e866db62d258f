"""Rules that reject more as their parameter falls: top-k and nucleus, plain and basis-aware.

Their critical parameter is the largest parameter that still rejects the token, 0 when none does:

    rejected at theta  when  theta <= critical_parameter         (plain and basis-aware alike)

For a plain rule it looks at the tokens strictly likelier than the token (p_j > p_i), because a threshold
on a tie keeps it; for a basis-aware rule at the tokens with p_j >= tau*, because a threshold equal to
tau* already rejects. Both directions read the same sorted sums, so they agree exactly, at ties too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bat.program import FloatArray, IntArray
from bat.rules.base import LARGEST_THRESHOLD, BoolArray, ThresholdRule, as_fraction, as_levels
from bat.rules.summary import Summary, first_reaching, largest_target_before


@dataclass(frozen=True, slots=True)
class FallingRule(ThresholdRule):
    """A threshold that is the probability of the token at some rank, most likely first."""

    parameter: float

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return np.minimum(self._last_kept(rows), LARGEST_THRESHOLD)

    @classmethod
    def critical_parameter(
        cls, probs: FloatArray | Summary, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None = None
    ) -> FloatArray:
        rows = Summary.of(probs)
        level, ties_kept = as_levels(rows, critical, token_probs, basis_aware=cls.basis_aware)
        if not cls.basis_aware:
            return cls._inverse(rows, rows.count_above(level))
        rank = np.where(ties_kept, rows.count_above(level), rows.count_at_least(level))
        rank = np.where(level >= 1.0, 0, rank)  # a critical threshold of one: no threshold rejects
        return cls._inverse(rows, rank)

    @classmethod
    def _compare(cls, critical_parameter: FloatArray, parameter: FloatArray) -> BoolArray:
        return np.asarray(parameter <= critical_parameter)

    @abstractmethod
    def _last_kept(self, rows: Summary) -> FloatArray:
        """The probability of the last token the plain rule needs, [B]."""

    @classmethod
    @abstractmethod
    def _inverse(cls, rows: Summary, rank: IntArray) -> FloatArray:
        """The largest parameter whose last kept token is among the first ``rank``, [B]."""


@dataclass(frozen=True, slots=True)
class TopK(FallingRule):
    """Keep the k most likely tokens (Fan et al. 2018), and all that tie with the k-th.

    A k beyond the vocabulary keeps everything. transformers' TopKLogitsWarper keeps ties too.
    """

    name: ClassVar[str] = "top-k"
    requirement: ClassVar[str] = "must be an integer of at least 1"
    advice: ClassVar[str] = "Use a count such as 40."

    @classmethod
    def check_parameter(cls, parameter: object) -> int:
        value = as_fraction(parameter)
        if not value >= 1 or not value.is_integer():  # also NaN; infinity is no integer
            raise cls.refusal(parameter)
        return int(value)

    def _last_kept(self, rows: Summary) -> FloatArray:
        size = rows.probs.shape[1]
        place = size - min(int(self.parameter), size)
        return np.asarray(np.partition(rows.probs, place, axis=1)[:, place])

    @classmethod
    def _inverse(cls, rows: Summary, rank: IntArray) -> FloatArray:
        return rank.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Nucleus(FallingRule):
    """Keep the most likely tokens up to the one where their mass reaches p (Holtzman et al. 2020).

    Tokens that tie with that one are kept, unlike in transformers' TopPLogitsWarper, which cuts a tie where
    sorting happens to. A p of one keeps exactly the tokens with positive probability.
    """

    name: ClassVar[str] = "nucleus"
    requirement: ClassVar[str] = "must lie in (0, 1]"
    advice: ClassVar[str] = "Use a mass such as 0.95."

    @classmethod
    def check_parameter(cls, parameter: object) -> float:
        value = as_fraction(parameter)
        if not 0.0 < value <= 1.0:
            raise cls.refusal(parameter)
        return value

    def _last_kept(self, rows: Summary) -> FloatArray:
        rank = first_reaching(rows.running_sums, self.parameter, rows.positives)
        return np.asarray(np.take_along_axis(rows.descending, rank[:, None], axis=1)[:, 0])

    @classmethod
    def _inverse(cls, rows: Summary, rank: IntArray) -> FloatArray:
        return largest_target_before(rows.running_sums, rank, rows.positives)


@dataclass(frozen=True, slots=True)
class BasisAwareTopK(TopK):
    """Top-k's threshold, with the program deciding about tokens below it."""

    name: ClassVar[str] = "ba-top-k"
    basis_aware: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class BasisAwareNucleus(Nucleus):
    """Nucleus's threshold, with the program deciding about tokens below it."""

    name: ClassVar[str] = "ba-nucleus"
    basis_aware: ClassVar[bool] = True
