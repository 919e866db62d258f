"""How varied the tokens of a text are, to read beside perplexity."""

from __future__ import annotations

import numpy as np

from bat.arrays import FloatArray
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio, Statistic
from harness.scoring.statistics.ngrams import ngrams
from harness.scoring.texts import TextSet


def entropy(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`entropy`: of the token frequencies within a text, in nats; mean over texts that have a token.

    Perplexity alone rewards texts that repeat themselves, whose entropy is low (Zheng et al. 2024).
    """
    tokens = next(ngrams(texts.token_ids, largest=1))
    lengths = np.bincount(tokens.texts, minlength=len(texts))
    pairs, counts = np.unique(tokens.texts * max(1, tokens.distinct) + tokens.ids, return_counts=True)
    of_texts = pairs // max(1, tokens.distinct)
    shares = counts / lengths[of_texts]
    entropies: FloatArray = np.bincount(
        of_texts, weights=-shares * np.log(shares), minlength=len(texts)
    ).astype(np.float64)
    return [Ratio("entropy", entropies, (lengths > 0).astype(np.float64))]
