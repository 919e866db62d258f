"""How steeply the frequencies of tokens fall."""

from __future__ import annotations

import numpy as np

from bat.arrays import IntArray
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Statistic, Whole
from harness.scoring.statistics.ngrams import ngrams
from harness.scoring.texts import TextSet

MOST_FREQUENT = 5000


def zipf(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`zipf`: Zipf's coefficient over all texts together (as Holtzman et al. 2020)."""
    tokens = next(ngrams(texts.token_ids, largest=1))
    blocks = resampling.blocks()[texts.prefix_index][tokens.texts]
    cells = blocks * tokens.distinct + tokens.ids
    counts = np.bincount(cells, minlength=resampling.block_count * tokens.distinct)
    by_block = counts.reshape(resampling.block_count, tokens.distinct)
    total = by_block.sum(axis=0)
    left_out = np.array([coefficient(total - block) for block in by_block])
    return [Whole("zipf", coefficient(total), left_out)]


def coefficient(counts: IntArray) -> float:
    """The negative slope of the least-squares line through log count against log rank.

    Not defined (NaN) for fewer than two tokens that occur.
    """
    frequent = -np.sort(-counts[counts > 0])[:MOST_FREQUENT]
    if frequent.size < 2:
        return float("nan")
    x, y = np.log(np.arange(1, frequent.size + 1)), np.log(frequent)
    x -= x.mean()
    return -float(x @ (y - y.mean()) / (x @ x))
