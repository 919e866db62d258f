"""Intervals by resampling documents: tokens of one document are alike, so whole documents are drawn again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from bat.arrays import FloatArray, IntArray
from bat.errors import InvalidInputError

CONFIDENCE = 0.95

# Replicates held at once: of 10,000 rows, 5 MB.
_REPLICATES_PER_BLOCK = 64


class Documents:
    """The documents that rows belong to, in an order that does not depend on the rows'."""

    def __init__(self, names: npt.NDArray[np.str_]) -> None:
        found, index = np.unique(names, return_inverse=True)
        self.count = len(found)
        self.index: IntArray = index.astype(np.int64)  # [n]: the document of each row

    def totals(self, rows: npt.NDArray[np.bool_]) -> IntArray:
        """Count the true entries of each document, [..., D], in rows [..., n]."""
        flat = rows.reshape(-1, rows.shape[-1])
        counted = [np.bincount(self.index[row], minlength=self.count) for row in flat]
        return np.array(counted, dtype=np.int64).reshape(*rows.shape[:-1], self.count)

    def resample(self, replicates: int, seed: int) -> Iterator[IntArray]:
        """Yield how often each document occurs in each replicate, in blocks [r, D].

        A replicate is as many documents as there are, drawn with repetition. The same seed gives the same
        replicates to every question asked of the same documents, so that answers can be compared in pairs.
        There are none of fewer than two documents: they cannot tell how documents differ.
        """
        if replicates < 0:
            raise InvalidInputError(f"replicates must be at least 0; got {replicates}.")
        if self.count < 2:
            return
        key = hashlib.blake2b(f"bootstrap {seed}".encode(), digest_size=16).digest()
        generator = np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))
        for start in range(0, replicates, _REPLICATES_PER_BLOCK):
            size = min(_REPLICATES_PER_BLOCK, replicates - start)
            drawn = generator.integers(self.count, size=(size, self.count))
            drawn += self.count * np.arange(size)[:, None]
            yield np.bincount(drawn.ravel(), minlength=size * self.count).reshape(size, self.count)


def interval(replicates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the percentile interval over the first axis; NaN where there are no replicates.

    The ends are values that occurred, the wider ones where the percentile falls between two.
    """
    if len(replicates) == 0:
        unknown = np.full(replicates.shape[1:], np.nan)
        return unknown, unknown
    outside = (1.0 - CONFIDENCE) / 2.0
    low = np.quantile(replicates, outside, axis=0, method="lower")
    high = np.quantile(replicates, 1.0 - outside, axis=0, method="higher")
    return np.asarray(low), np.asarray(high)
