"""What rules ask about many tokens of one distribution."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from bat.arrays import BoolArray, FloatArray, IntArray
from bat.rules.summary import Summary


class ContextSummary(Summary):
    """A summary of one distribution [v] that is asked about ``tokens`` levels at once.

    Its answers are those of a batch of as many equal rows, bit for bit. Every array has one row only, which
    broadcasts over the levels, so that the distribution is neither copied nor sorted once a token.
    """

    def __init__(self, probs: FloatArray, tokens: int) -> None:
        super().__init__(probs.reshape(1, -1))
        self._tokens = tokens

    def __len__(self) -> int:
        return self._tokens

    @cached_property
    def _ascending(self) -> FloatArray:  # [v]
        return self.descending[0, ::-1]

    def largest(self, rank: int) -> FloatArray:
        """The ``rank``-th largest probability, from 1 on, [1]; the smallest where there are fewer tokens."""
        return self.descending[:, min(rank, self._ascending.size) - 1]

    def rank(self, levels: FloatArray, ties_kept: BoolArray) -> IntArray:
        """How many tokens have a probability that, taken as the threshold, rejects the level, [tokens]."""
        up_to, below = (np.searchsorted(self._ascending, levels, side) for side in ("right", "left"))
        above = self._ascending.size - np.where(ties_kept, up_to, below)
        return np.where(levels >= 1.0, 0, above)  # a critical threshold of one: no threshold rejects
