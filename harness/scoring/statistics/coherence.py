"""How close texts stay to their prefixes."""

from __future__ import annotations

import numpy as np

from bat.arrays import FloatArray
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio, Statistic
from harness.scoring.texts import TextSet


def coherence(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`coherence`: mean cosine of the features of a text and those of its prefix alone (as Su et al. 2022).

    The features of a text are those that MAUVE compares: with its prefix, unless features.include_prefix is
    false.
    """
    if texts.features is None or texts.features.prefixes is None:
        return []
    own, prefixes = (
        _unit(vectors.astype(np.float64)) for vectors in (texts.features.texts, texts.features.prefixes)
    )
    cosines: FloatArray = np.einsum("md,md->m", own, prefixes[texts.prefix_index])
    return [Ratio("coherence", cosines, np.ones(len(texts)))]


def _unit(vectors: FloatArray) -> FloatArray:
    """The vectors at length one; those without a direction stay 0."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: FloatArray = vectors / np.where(lengths > 0, lengths, 1.0)
    return unit
