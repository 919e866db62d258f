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

from bat.arrays import BoolArray, FloatArray
from bat.rules.base import LARGEST_THRESHOLD, ThresholdRule, as_fraction
from bat.rules.facts import Facts, as_levels, facts_of
from bat.rules.summary import Summary, first_reaching

# Beyond this mass a nucleus holds most of the vocabulary, and selecting its tokens saves nothing.
_NEARLY_ALL = 1.0 - 1e-6


@dataclass(frozen=True, slots=True)
class FallingRule(ThresholdRule):
    """A threshold that is the probability of the token at some rank, most likely first."""

    parameter: float

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return np.minimum(self._last_kept(rows), LARGEST_THRESHOLD)

    @classmethod
    def critical_parameter(
        cls, probs: FloatArray | Facts, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None = None
    ) -> FloatArray:
        rows = facts_of(probs)
        level, ties_kept = as_levels(len(rows), critical, token_probs, basis_aware=cls.basis_aware)
        return cls._inverse(rows, level, ties_kept)

    @classmethod
    def _compare(cls, critical_parameter: FloatArray, parameter: FloatArray) -> BoolArray:
        return np.asarray(parameter <= critical_parameter)

    @abstractmethod
    def _last_kept(self, rows: Summary) -> FloatArray:
        """The probability of the last token the plain rule needs, [B]."""

    @classmethod
    @abstractmethod
    def _inverse(cls, rows: Facts, level: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """The largest parameter whose last kept token refuses the level, [B]."""


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
        from bat.rules._select import largest  # compiled: names and parameters are checked without it

        rank = min(int(self.parameter), rows.probs.shape[1])
        return np.array([largest(row, rank) for row in rows.probs])

    @classmethod
    def _inverse(cls, rows: Facts, level: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return rows.rank(level, ties_kept).astype(np.float64)


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
        from bat.rules._select import probability_reaching

        # Rounding can leave every sum short of a target near one; then the sums over all tokens decide.
        if self.parameter < _NEARLY_ALL:
            quick = np.array([probability_reaching(row, self.parameter) for row in rows.probs])
            if (quick >= 0.0).all():
                return quick
        rank = first_reaching(rows.running_sums, self.parameter, rows.positives)
        return np.asarray(np.take_along_axis(rows.descending, rank[:, None], axis=1)[:, 0])

    @classmethod
    def _inverse(cls, rows: Facts, level: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return rows.mass(level, ties_kept)


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
