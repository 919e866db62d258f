"""How much texts repeat themselves."""

from __future__ import annotations

import numpy as np

from bat.arrays import FloatArray, IntArray
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio, Statistic
from harness.scoring.statistics.ngrams import NGrams, ngrams, without_end
from harness.scoring.texts import TextSet

SMALLEST_PHRASE = 2
TIMES = 3


def repetition(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`seq-rep-2` to `seq-rep-4` (Welleck et al. 2020) and `looping` (Holtzman et al. 2020)."""
    found: list[Statistic] = [
        _repeated_share(grams, len(texts)) for grams in ngrams(texts.token_ids) if grams.order > 1
    ]
    looping = np.array([ends_in_loop(ids) for ids in without_end(texts)], dtype=np.float64)
    return [*found, Ratio("looping", looping, np.ones(len(texts)))]


def ends_in_loop(token_ids: IntArray) -> bool:
    """Whether a text ends with a phrase of at least two tokens, three times in a row.

    In other words, whether the last 3 L tokens have period L, for an L of at least 2.
    """
    backwards = token_ids[::-1]
    longest = len(token_ids) // TIMES
    # The last token must stand one phrase earlier too, which leaves few lengths to look at.
    lengths = np.flatnonzero(backwards[SMALLEST_PHRASE : longest + 1] == backwards[:1]) + SMALLEST_PHRASE
    return any(
        bool(np.array_equal(backwards[: (TIMES - 1) * length], backwards[length : TIMES * length]))
        for length in lengths.tolist()
    )


def _repeated_share(grams: NGrams, count: int) -> Ratio:
    """The share of a text's n-grams that stand earlier in it, over texts that have any."""
    windows = np.bincount(grams.texts, minlength=count)
    # Sorted by hand: numpy's unique builds a hash table here, which takes many times as long.
    together = np.sort(grams.texts * max(1, grams.distinct) + grams.ids)
    first = np.diff(together, prepend=-1) != 0
    distinct = np.bincount(together[first] // max(1, grams.distinct), minlength=count)
    counted = windows > 0
    shares: FloatArray = np.where(counted, 1 - distinct / np.maximum(windows, 1), 0.0)
    return Ratio(f"seq-rep-{grams.order}", shares, counted.astype(np.float64))
