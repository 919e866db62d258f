"""Rules that reject more as their parameter falls: top-k and nucleus.

Their threshold is the probability of the token at some rank, most likely first, and their critical parameter
is the largest parameter that still rejects the token, 0 when none does.

For a plain rule it looks at the tokens strictly likelier than the token (p_j > p_i), because a threshold
on a tie keeps it; for a basis-aware rule at the tokens with p_j >= tau*, because a threshold equal to
tau* already rejects. Both directions read the same sorted sums, so they agree exactly, at ties too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bat.arrays import BoolArray, FloatArray
from bat.rules.base import Scale, ThresholdRule
from bat.rules.facts import Facts
from bat.rules.summary import LARGEST_THRESHOLD, Summary, first_reaching

# Beyond this mass a nucleus holds most of the vocabulary, and selecting its tokens saves nothing.
_NEARLY_ALL = 1.0 - 1e-6


@dataclass(frozen=True, slots=True)
class TopK(ThresholdRule):
    """Keep the k most likely tokens (Fan et al. 2018), and all that tie with the k-th.

    A k beyond the vocabulary keeps everything. transformers' TopKLogitsWarper keeps ties too.
    """

    parameter: float

    plain_name: ClassVar[str] = "top-k"
    limits: ClassVar[tuple[float, float]] = (0.0, math.inf)
    requirement: ClassVar[str] = "must be an integer of at least 1"
    quantity: ClassVar[str] = "count"
    example: ClassVar[float] = 40
    scale: ClassVar[Scale] = Scale.WHOLE

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        from bat.rules._select import largest  # compiled: names and parameters are checked without it

        rows = Summary.of(probs)
        rank = min(int(self.parameter), rows.probs.shape[1])
        last_kept = np.array([largest(row, rank) for row in rows.probs], dtype=np.float64)
        return np.minimum(last_kept, LARGEST_THRESHOLD)

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return rows.rank(levels, ties_kept).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Nucleus(ThresholdRule):
    """Keep the most likely tokens up to the one where their mass reaches p (Holtzman et al. 2020).

    Tokens that tie with that one are kept, unlike in transformers' TopPLogitsWarper, which cuts a tie where
    sorting happens to. A p of one keeps exactly the tokens with positive probability.
    """

    parameter: float

    plain_name: ClassVar[str] = "nucleus"
    requirement: ClassVar[str] = "must lie in (0, 1]"
    quantity: ClassVar[str] = "mass"
    example: ClassVar[float] = 0.95

    @classmethod
    def accept_parameter(cls, parameter: float) -> float | None:
        return parameter if 0.0 < parameter <= 1.0 else None

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        return np.minimum(self._last_kept(Summary.of(probs)), LARGEST_THRESHOLD)

    def _last_kept(self, rows: Summary) -> FloatArray:
        """The probability of the last token that the nucleus needs, [B]."""
        from bat.rules._select import probability_reaching

        # Rounding can leave every sum short of a target near one; then the sums over all tokens decide.
        if self.parameter < _NEARLY_ALL:
            quick = np.array([probability_reaching(row, self.parameter) for row in rows.probs])
            if (quick >= 0.0).all():
                return quick
        rank = first_reaching(rows.running_sums, self.parameter, rows.positives)
        return np.asarray(np.take_along_axis(rows.descending, rank[:, None], axis=1)[:, 0])

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return rows.mass(levels, ties_kept)
