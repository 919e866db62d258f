"""Rules that reject more as their parameter rises: epsilon, eta and min-p.

Their critical parameter is where rejection begins. It is at most 1, which lies outside every interval and
means "never". Thresholds and inverses are rounded float64 formulas, so for eta and min-p the two directions
may disagree within about 1e-12 of the boundary (relative), or where a parameter near 1e-308 makes the
threshold underflow; epsilon's are exact.
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
class Epsilon(ThresholdRule):
    """Keep tokens with probability at least epsilon (Hewitt et al. 2022)."""

    parameter: float

    plain_name: ClassVar[str] = "epsilon"
    quantity: ClassVar[str] = "probability"
    example: ClassVar[float] = 0.0006
    basis_aware_example: ClassVar[float | None] = 0.006
    rises: ClassVar[bool] = True
    scale: ClassVar[Scale] = Scale.LOG
    takes_tensors: ClassVar[bool] = True

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        return Summary.of(probs).capped(self.parameter)

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return levels


@dataclass(frozen=True, slots=True)
class Eta(ThresholdRule):
    """Keep tokens with probability at least min(eta, sqrt(eta) exp(-entropy)) (Hewitt et al. 2022).

    The entropy is in nats. The paper prints the second arm as sqrt(eta) times the entropy; its code, Hewitt
    et al. and transformers use exp(-entropy), and so do we. The basis-aware form is the paper's BA-eta.
    """

    parameter: float

    plain_name: ClassVar[str] = "eta"
    quantity: ClassVar[str] = "probability"
    example: ClassVar[float] = 0.002
    basis_aware_example: ClassVar[float | None] = 0.024
    rises: ClassVar[bool] = True
    scale: ClassVar[Scale] = Scale.LOG
    takes_tensors: ClassVar[bool] = True

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        second_arm = math.sqrt(self.parameter) * rows.xp.exp(-rows.entropy)
        return rows.capped(rows.xp.clip(second_arm, None, self.parameter))

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return np.asarray(np.maximum(levels, (levels * np.exp(rows.entropy)) ** 2))


@dataclass(frozen=True, slots=True)
class MinP(ThresholdRule):
    """Keep tokens at least alpha times as likely as the most likely one (Nguyen et al. 2024)."""

    parameter: float

    plain_name: ClassVar[str] = "min-p"
    quantity: ClassVar[str] = "fraction"
    example: ClassVar[float] = 0.05
    rises: ClassVar[bool] = True
    scale: ClassVar[Scale] = Scale.LOG
    takes_tensors: ClassVar[bool] = True

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(self.parameter * rows.maximum)

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return levels / rows.maximum
