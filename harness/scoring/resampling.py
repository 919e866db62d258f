"""How certain a score is: prefixes resampled with replacement, and blocks of prefixes left out.

All methods continue the same prefixes, and with the same seed they have the same resamplings and the same
blocks. So the difference of two methods has an interval of its own, from the differences under each
resampling, in which what makes a prefix hard for both of them cancels.

A resampling repeats prefixes, and repetition biases counts of distinct things and comparisons of histograms.
So intervals take their width from the resamplings, and their centre from the original texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BLOCKS = 20
# The standard deviation of the weight of a prefix under reweighting.
STEP = 0.25
_GOLDEN_RATIO = (1 + math.sqrt(5)) / 2
# Resamplings that are processed together: enough for numpy, few enough for memory.
_CHUNK = 100


@dataclass(frozen=True, slots=True)
class Resampling:
    """Resamplings of a number of prefixes; equal ones are the same resamplings."""

    prefixes: int
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.prefixes < 1 or self.resamples < 0:
            raise InvalidInputError(
                "a resampling must have at least 1 prefix and at least 0 resamples; got "
                f"{self.prefixes} and {self.resamples}."
            )

    def draws(self) -> Iterator[FloatArray]:
        """How often each prefix is drawn, [r, prefixes] at a time: `resamples` rows in all."""
        random = np.random.default_rng([self.seed, self.prefixes, 0])
        even = np.full(self.prefixes, 1 / self.prefixes)
        for start in range(0, self.resamples, _CHUNK):
            count = min(_CHUNK, self.resamples - start)
            yield random.multinomial(self.prefixes, even, size=count).astype(np.float64)

    def reweightings(self, *, symmetric: bool = False) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Weights of prefixes changed at random, and changed the opposite way, [r, prefixes] each.

        Changes are STEP times numbers with mean 0, variance 1 and third moment 1, the moments of how often
        a prefix is drawn with replacement, less 1. Of all such numbers, Mammen (1993) takes the two that
        stay closest to 0. They are -1 and 1, with third moment 0, if `symmetric`, as in score jobs of
        version 2.

        There are half as many pairs as resamples, so that both ways take as long. A single prefix has none:
        there is nothing to weigh it against.
        """
        random = np.random.default_rng([self.seed, self.prefixes, 2 if symmetric else 3])
        pairs = self.resamples // 2 if self.prefixes > 1 else 0
        for start in range(0, pairs, _CHUNK):
            size = (min(_CHUNK, pairs - start), self.prefixes)
            changes = random.choice([-STEP, STEP], size=size) if symmetric else STEP * _skewed(random, size)
            yield 1 + changes, 1 - changes

    @property
    def block_count(self) -> int:
        """The number of blocks of prefixes."""
        return min(BLOCKS, self.prefixes)

    def blocks(self) -> IntArray:
        """The block of each prefix, [prefixes]: random, with sizes that differ by at most one."""
        random = np.random.default_rng([self.seed, self.prefixes, 1])
        blocks = np.empty(self.prefixes, dtype=np.int64)
        blocks[random.permutation(self.prefixes)] = np.arange(self.prefixes) % self.block_count
        return blocks

    def left_out(self) -> FloatArray:
        """Weights of the prefixes that leave out each block in turn, [blocks, prefixes]."""
        kept: FloatArray = (self.blocks() != np.arange(self.block_count)[:, None]).astype(np.float64)
        return kept


def _skewed(random: np.random.Generator, size: tuple[int, int]) -> FloatArray:
    """Two values with mean 0, variance 1 and third moment 1 (Mammen 1993)."""
    chance = 1 / (1 + _GOLDEN_RATIO**2)
    return np.where(random.random(size) < chance, _GOLDEN_RATIO, 1 - _GOLDEN_RATIO)
