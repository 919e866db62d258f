"""How alike the texts are to each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bat.arrays import FloatArray, IntArray
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio, Statistic
from harness.scoring.statistics.ngrams import LARGEST_ORDER, NGrams, ngrams
from harness.scoring.texts import TextSet

LARGEST_SAMPLE = 1000
# Stands for a count of no matches, whose logarithm would be infinite (method 1 of Chen and Cherry 2014).
_NO_MATCH = 0.1


def self_bleu(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`self-bleu`: mean BLEU-4 of up to 1,000 texts, each against all others (Zhu et al. 2018).

    Texts without tokens are like nothing, and are neither scored nor compared with.
    """
    sampled = evenly_spaced(len(texts), LARGEST_SAMPLE)
    written = np.array([text for text in sampled.tolist() if len(texts.token_ids[text])], dtype=np.int64)
    scores, counted = np.zeros(len(texts)), np.zeros(len(texts))
    if len(written) > 1:
        scores[written] = bleu_against_others([texts.token_ids[text] for text in written.tolist()])
        counted[written] = 1.0
    return [Ratio("self-bleu", scores, counted)]


def evenly_spaced(count: int, largest: int) -> IntArray:
    """At most `largest` of the indices 0 to `count` - 1, the first among them, at equal distances."""
    taken = min(count, largest)
    return np.arange(taken) * count // max(1, taken)


def bleu_against_others(token_ids: Sequence[IntArray]) -> FloatArray:
    """BLEU of each text, with all other texts as references, [m]; at least two texts, none of them empty.

    The weights are even over the orders that a text has n-grams of, up to four.
    """
    lengths = np.array([len(ids) for ids in token_ids])
    logs, alike = np.zeros(len(lengths)), np.zeros(len(lengths), dtype=np.bool_)
    for grams in ngrams(token_ids):
        matches = _clipped_matches(grams, len(lengths))
        alike |= matches > 0
        windows = np.maximum(lengths - grams.order + 1, 0)
        precisions = np.where(matches > 0, matches, _NO_MATCH) / np.maximum(windows, 1)
        logs += np.where(windows > 0, np.log(precisions), 0.0)
    orders = np.minimum(lengths, LARGEST_ORDER)
    return np.where(alike, _brevity_penalty(lengths) * np.exp(logs / orders), 0.0)


def _clipped_matches(grams: NGrams, count: int) -> FloatArray:
    """For each text, its n-grams that another text has, each counted as often as one other has it at most.

    The most often that any other text has an n-gram is the largest count over texts, or for the text that
    holds the largest, the second largest.
    """
    pairs, counts = np.unique(grams.ids * count + grams.texts, return_counts=True)
    ids, texts = np.divmod(pairs, count)
    rising = np.lexsort((counts, ids))
    ids, texts, counts = ids[rising], texts[rising], counts[rising]
    last = np.flatnonzero(np.diff(ids, append=-1))  # the end of each n-gram's run of texts
    largest, second = np.zeros(grams.distinct, np.int64), np.zeros(grams.distinct, np.int64)
    largest[ids[last]] = counts[last]
    shared = last[(last > 0) & (ids[last - 1] == ids[last])]
    second[ids[shared]] = counts[shared - 1]
    others = np.where(counts == largest[ids], second[ids], largest[ids])
    matches = np.bincount(texts, weights=np.minimum(counts, others), minlength=count)
    return matches.astype(np.float64, copy=False)


def _brevity_penalty(lengths: IntArray) -> FloatArray:
    """exp(1 - r/c) for a text of c tokens, if r, the length of another text that is closest to c, is larger.

    Of two lengths that are equally close, the shorter counts.
    """
    # Distances first, then lengths, in one integer: [m, m]
    distances = np.abs(lengths[:, None] - lengths)
    preference = distances * (int(lengths.max()) + 1) + lengths
    np.fill_diagonal(preference, np.iinfo(np.int64).max)
    closest = lengths[preference.argmin(axis=1)]
    penalties: FloatArray = np.exp(np.minimum(0.0, 1 - closest / lengths))
    return penalties
