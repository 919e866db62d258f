"""Statistics of a set of texts, in the two shapes that all of them have.

Ratio   a sum over texts divided by another, such as tokens rejected a token: resampled exactly
Whole   anything else, such as the number of distinct words: recomputed with each block left out
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bat.arrays import FloatArray, IntArray


def _unchanged(values: FloatArray) -> FloatArray:
    return values


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """The sum of numerators over the sum of denominators, a pair for each text; then a transform.

    Not defined (NaN) where the denominators add up to nothing.
    """

    name: str
    numerators: FloatArray  # [m]
    denominators: FloatArray  # [m]
    transform: Callable[[FloatArray], FloatArray] = _unchanged

    def at(self, weights: FloatArray, places: IntArray) -> FloatArray:
        """The value for each row of weights of prefixes [r, prefixes], given the prefix of each text [m]."""
        of_texts = weights[:, places]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = (of_texts @ self.numerators) / (of_texts @ self.denominators)
        return self.transform(ratios)


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A statistic of all texts together, and of all but each block in turn."""

    name: str
    value: float
    left_out: FloatArray  # [blocks]


Statistic = Ratio | Whole
