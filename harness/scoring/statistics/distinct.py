"""How many different phrases all texts together have."""

from __future__ import annotations

import numpy as np

from bat.arrays import FloatArray, IntArray
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Statistic, Whole
from harness.scoring.statistics.ngrams import NGrams, ngrams
from harness.scoring.texts import TextSet


def distinct(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`distinct-1` to `distinct-4`: distinct n-grams over n-grams of all texts (Li et al. 2016)."""
    blocks = resampling.blocks()[texts.prefix_index]  # [m]
    return [
        _distinct_share(grams, blocks[grams.texts], resampling.block_count)
        for grams in ngrams(texts.token_ids)
    ]


def _distinct_share(grams: NGrams, blocks: IntArray, block_count: int) -> Whole:
    """Leaving out a block takes away its windows, and the n-grams that occur in no other block."""
    some_block = np.zeros(grams.distinct, dtype=np.int64)
    some_block[grams.ids] = blocks
    elsewhere = np.zeros(grams.distinct, dtype=np.bool_)
    elsewhere[grams.ids[blocks != some_block[grams.ids]]] = True
    own = np.bincount(some_block[~elsewhere], minlength=block_count)
    windows = len(grams.ids) - np.bincount(blocks, minlength=block_count)
    return Whole(
        f"distinct-{grams.order}",
        float(_shares(np.array([grams.distinct]), np.array([len(grams.ids)]))[0]),
        _shares(grams.distinct - own, windows),
    )


def _shares(distinct_count: IntArray, windows: IntArray) -> FloatArray:
    shares = np.full(len(windows), np.nan)
    np.divide(distinct_count, windows, out=shares, where=windows > 0)
    return shares
