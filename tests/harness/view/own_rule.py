"""A rule of another package, whose formula the page's script cannot know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bat.arrays import BoolArray, FloatArray
from bat.rules import Facts, Summary, ThresholdRule


@dataclass(frozen=True, slots=True)
class Cube(ThresholdRule):
    """Keep tokens at least as likely as the cube of the parameter, times the largest probability."""

    parameter: float

    plain_name: ClassVar[str] = "cube"
    example: ClassVar[float] = 0.3
    rises: ClassVar[bool] = True

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(self.parameter**3 * rows.maximum)

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return np.cbrt(levels / rows.maximum)
