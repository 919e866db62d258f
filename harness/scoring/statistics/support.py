"""Quality and diversity apart: precision and recall of the texts' features (Kynkäänniemi et al. 2019).

A set of texts covers the balls around its vectors that reach to the third nearest other vector of the set.
Precision is the share of generated texts in what human texts cover, recall the share of human texts in what
generated texts cover. Vectors have length one, as for MAUVE.
"""

from __future__ import annotations

import numpy as np

from bat.arrays import BoolArray, FloatArray, IntArray, SingleArray
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Statistic, Whole
from harness.scoring.texts import TextSet

NEIGHBOURS = 3
# Neighbours to look up at once: enough, almost always, to have three in other blocks.
_LOOKED_UP = 16
# Rows of distances in memory at once.
_CHUNK = 500


def support(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`precision` and `recall`; none of human text, which is not compared with itself."""
    if texts.features is None or texts.features.human is None:
        return []
    blocks = resampling.blocks()
    human = _Side(_unit(texts.features.human), blocks)
    generated = _Side(_unit(texts.features.texts), blocks[texts.prefix_index])
    precision = covered_share(generated, human, resampling.block_count)
    recall = covered_share(human, generated, resampling.block_count)
    return [
        Whole("precision", float(precision[0]), precision[1:]),
        Whole("recall", float(recall[0]), recall[1:]),
    ]


class _Side:
    """Vectors of one side, and the block of each."""

    def __init__(self, vectors: FloatArray, blocks: IntArray) -> None:
        self.vectors, self.blocks = vectors, blocks

    def kept(self, block_count: int) -> BoolArray:
        """Which vectors count: all of them, then without each block, [1 + blocks, n]."""
        kept: BoolArray = self.blocks != np.arange(-1, block_count)[:, None]
        return kept


def covered_share(points: _Side, cover: _Side, block_count: int) -> FloatArray:
    """The share of points that a side covers: of all, then without each block on both sides, [1 + blocks]."""
    from sklearn.metrics import pairwise_distances_chunked

    radii = _radii(cover, block_count)  # [1 + blocks, n]
    counted = points.kept(block_count)  # [1 + blocks, points]
    covered = np.empty((len(radii), len(points.vectors)), dtype=np.bool_)
    start = 0
    for distances in pairwise_distances_chunked(points.vectors, cover.vectors, working_memory=64):
        stop = start + len(distances)
        for row, reach in enumerate(radii):
            covered[row, start:stop] = (distances <= reach).any(axis=1)
        start = stop
    shares: FloatArray = np.full(len(radii), np.nan)
    defined = counted.any(axis=1) & ~np.isnan(radii).any(axis=1)
    np.divide((covered & counted).sum(axis=1), counted.sum(axis=1), out=shares, where=defined)
    return shares


def _radii(side: _Side, block_count: int) -> FloatArray:
    """The distance of each vector to its third nearest other one: of all, then without each block.

    -1 for a vector that is left out; NaN for all if there are too few others.
    """
    from sklearn.neighbors import NearestNeighbors

    count = len(side.vectors)
    radii: FloatArray = np.full((1 + block_count, count), np.nan)
    if count <= NEIGHBOURS:
        return radii
    search = NearestNeighbors(algorithm="brute").fit(side.vectors)
    looked_up = min(count - 1, _LOOKED_UP)
    distances, neighbours = search.kneighbors(n_neighbors=looked_up)  # [n, looked_up], without itself
    for row, kept in enumerate(side.kept(block_count)):
        if np.count_nonzero(kept) <= NEIGHBOURS:
            continue
        reached = np.cumsum(kept[neighbours], axis=1)
        radii[row] = np.take_along_axis(distances, np.argmax(reached >= NEIGHBOURS, axis=1)[:, None], axis=1)[
            :, 0
        ]
        for vector in np.flatnonzero(reached[:, -1] < NEIGHBOURS).tolist():
            others = kept.copy()
            others[vector] = False
            own = np.linalg.norm(side.vectors[others] - side.vectors[vector], axis=1)
            radii[row, vector] = np.partition(own, NEIGHBOURS - 1)[NEIGHBOURS - 1]
        radii[row, ~kept] = -1
    return radii


def _unit(vectors: SingleArray) -> FloatArray:
    from sklearn.preprocessing import normalize

    unit: FloatArray = normalize(vectors.astype(np.float64))
    return unit
