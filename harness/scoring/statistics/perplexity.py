"""How surprising the texts are to the model."""

from __future__ import annotations

import numpy as np

from bat.errors import InvalidInputError
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio, Statistic
from harness.scoring.texts import TextSet


def perplexity(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`perplexity`: exp of the mean negative log-likelihood a token, under the model as it is."""
    log_probs = texts.likelihood.log_probs
    impossible = int(np.count_nonzero(~np.isfinite(log_probs)))
    if impossible:
        raise InvalidInputError(
            f"perplexity needs a probability above zero for every token; got {impossible} of "
            f"{log_probs.size} tokens without one. Check the model's precision (dtype), or leave perplexity "
            "out of scoring.statistics."
        )
    of_texts, count = texts.likelihood.texts, len(texts)
    losses = np.bincount(of_texts, weights=-log_probs, minlength=count).astype(np.float64)
    tokens = np.bincount(of_texts, minlength=count).astype(np.float64)
    return [Ratio("perplexity", losses, tokens, np.exp)]
