"""How certain a score is: prefixes resampled with replacement, and blocks of prefixes left out.

All methods continue the same prefixes, and with the same seed they have the same resamplings and the same
blocks. So the difference of two methods has an interval of its own, from the differences under each
resampling, in which what makes a prefix hard for both of them cancels.

A resampling repeats prefixes, and repetition biases counts of distinct things and comparisons of histograms.
So intervals take their width from the resamplings, and their centre from the original texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BLOCKS = 20
# How far reweighting raises or lowers the weight of a prefix.
STEP = 0.25
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

    def reweightings(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Weights of prefixes raised or lowered at random, and the opposite ones, [r, prefixes] each.

        There are half as many pairs as resamples, so that both ways take as long. A single prefix has none:
        there is nothing to weigh it against.
        """
        random = np.random.default_rng([self.seed, self.prefixes, 2])
        pairs = self.resamples // 2 if self.prefixes > 1 else 0
        for start in range(0, pairs, _CHUNK):
            signs = random.choice([-STEP, STEP], size=(min(_CHUNK, pairs - start), self.prefixes))
            yield 1 + signs, 1 - signs

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
