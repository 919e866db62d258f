"""How long texts are, and whether they came to an end."""

from __future__ import annotations

import numpy as np

from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio, Statistic
from harness.scoring.statistics.ngrams import without_end
from harness.scoring.texts import TextSet


def length(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`length` in tokens, the share that `ended`, and the share that is `empty`."""
    each = np.ones(len(texts))
    tokens = np.array([len(ids) for ids in texts.token_ids], dtype=np.float64)
    empty = np.array([len(ids) == 0 for ids in without_end(texts)], dtype=np.float64)
    return [
        Ratio("length", tokens, each),
        Ratio("ended", texts.ended.astype(np.float64), each),
        Ratio("empty", empty, each),
    ]
