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
from bat.rules.summary import Summary


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
    takes_tensors: ClassVar[bool] = True
    scale: ClassVar[Scale] = Scale.WHOLE

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(rows.largest(int(self.parameter)))

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
    takes_tensors: ClassVar[bool] = True

    @classmethod
    def accept_parameter(cls, parameter: float) -> float | None:
        return parameter if 0.0 < parameter <= 1.0 else None

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(rows.last_reaching(self.parameter))

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return rows.mass(levels, ties_kept)
