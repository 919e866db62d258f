"""MAUVE (Pillutla et al. 2021) of human and generated texts, with its values under resampling.

The values are those of mauve-text. Added are the values for resampled prefixes, and with blocks of prefixes
left out: there a text counts as often as its prefix does, in its original cluster. docs/design/scoring.md
explains why clusters are kept fixed, and what that costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from bat.errors import InvalidInputError
from bat.threads import map_in_threads
from harness.scoring.clustering import FeatureArray, Labels, cluster, threads_to_use
from harness.scoring.resampling import FloatArray, IntArray, Resampling

# How far the mixture weights stay away from 0 and 1, as in mauve-text.
_MARGIN = 1e-6
# Numbers in one temporary array: histograms are compared in chunks.
_CHUNK_NUMBERS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class MauveScores:
    """MAUVE of one set of texts."""

    values: tuple[float, ...]  # for each k-means seed, equal to mauve-text's
    resampled: FloatArray  # [resamples], mean over k-means seeds
    left_out: FloatArray  # [blocks], mean over k-means seeds


def mauve_scores(
    human: FeatureArray,
    generated: FeatureArray,
    human_prefixes: IntArray,
    generated_prefixes: IntArray,
    settings: Mapping[str, Any],
    resampling: Resampling,
) -> MauveScores:
    """MAUVE for each k-means seed, and its mean over them under each resampling and without each block.

    `human_prefixes` and `generated_prefixes` are the index of the prefix of each text. `settings` are a
    sweep's scoring.mauve. A value is NaN if the weights leave no text on one side.
    """
    prefixes = resampling.prefixes
    _check_prefixes("human", human_prefixes, len(human), prefixes)
    _check_prefixes("generated", generated_prefixes, len(generated), prefixes)
    clusterings = [
        _Clustering.of(labels, human_prefixes, generated_prefixes, prefixes)
        for labels in cluster(human, generated, settings)
    ]
    curve = (settings["scaling_factor"], settings["curve_points"])
    once = np.ones((1, prefixes))
    resampled = [_mean(clusterings, weights, *curve) for weights in resampling.draws()]
    return MauveScores(
        values=tuple(float(each.mauve(once, *curve)[0]) for each in clusterings),
        resampled=np.concatenate([np.empty(0), *resampled]),
        left_out=_mean(clusterings, resampling.left_out(), *curve),
    )


def mauve_of_histograms(
    human: FloatArray, generated: FloatArray, scaling_factor: float, curve_points: int
) -> FloatArray:
    """MAUVE of each pair of histograms, [r, buckets] counts each; NaN where one of the two is empty."""
    rows = max(1, _CHUNK_NUMBERS // human.shape[1])
    values = np.empty(len(human))
    for start in range(0, len(human), rows):
        part = slice(start, start + rows)
        values[part] = _areas(_shares(human[part]), _shares(generated[part]), scaling_factor, curve_points)
    return values


def _areas(p: FloatArray, q: FloatArray, scaling_factor: float, curve_points: int) -> FloatArray:
    """The area under the divergence curve of each row, p and q [r, buckets].

    KL(q, r) is the sum of q log q less the sum of q log r, so one logarithm of the mixture r serves both
    divergences.
    """
    p_log_p, q_log_q = (np.sum(each * _log(each), axis=1) for each in (p, q))
    # The curve begins and ends on the axes, at (1, 0) and (0, 1).
    x, y = np.zeros((2, curve_points + 2, len(p)))
    x[0], y[-1] = 1, 1
    for point, weight in enumerate(np.linspace(_MARGIN, 1 - _MARGIN, curve_points), start=1):
        log_mixture = _log(weight * p + (1 - weight) * q)
        from_q = q_log_q - np.einsum("rb,rb->r", q, log_mixture)
        from_p = p_log_p - np.einsum("rb,rb->r", p, log_mixture)
        x[point] = np.exp(-scaling_factor * np.maximum(from_q, 0))
        y[point] = np.exp(-scaling_factor * np.maximum(from_p, 0))
    # x falls and y rises along the curve, so it is sorted already. mauve-text sorts it; if both histograms
    # are equal, so that all points but the ends are (1, 1), rounding may put (1, 0) before them, and the
    # result is 0.75. The order of the curve gives 1. mauve-text also averages the areas seen from both axes,
    # which are the same trapezoids.
    area: FloatArray = np.sum((x[1:] + x[:-1]) / 2 * np.diff(y, axis=0), axis=0)
    return area


def _shares(counts: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        shares: FloatArray = counts / counts.sum(axis=1, keepdims=True)
    return shares


def _log(values: FloatArray) -> FloatArray:
    """Logarithms, and 0 for those of 0, which are only ever multiplied by 0."""
    logs: FloatArray = np.log(values, where=values > 0, out=np.zeros_like(values))
    return logs


@dataclass(frozen=True, slots=True, eq=False)
class _Clustering:
    """How many texts of each prefix are in each bucket, [buckets, prefixes]."""

    human: scipy.sparse.csr_array
    generated: scipy.sparse.csr_array

    @classmethod
    def of(
        cls, labels: Labels, human_prefixes: IntArray, generated_prefixes: IntArray, prefixes: int
    ) -> _Clustering:
        shape = (labels.buckets, prefixes)
        return cls(
            scipy.sparse.csr_array((np.ones(len(human_prefixes)), (labels.human, human_prefixes)), shape),
            scipy.sparse.csr_array(
                (np.ones(len(generated_prefixes)), (labels.generated, generated_prefixes)), shape
            ),
        )

    def mauve(self, weights: FloatArray, scaling_factor: float, curve_points: int) -> FloatArray:
        """The value for each row of weights of prefixes [r, prefixes]."""
        human, generated = ((side @ weights.T).T for side in (self.human, self.generated))
        return mauve_of_histograms(human, generated, scaling_factor, curve_points)


def _mean(
    clusterings: Sequence[_Clustering], weights: FloatArray, scaling_factor: float, curve_points: int
) -> FloatArray:
    values = map_in_threads(
        lambda each: each.mauve(weights, scaling_factor, curve_points), clusterings, threads_to_use()
    )
    mean: FloatArray = np.mean(values, axis=0)
    return mean


def _check_prefixes(side: str, index: IntArray, texts: int, prefixes: int) -> None:
    if index.shape != (texts,) or index.dtype.kind not in "iu":
        raise InvalidInputError(
            f"{side}_prefixes must be one integer for each of the {texts} {side} texts; got an array of "
            f"{index.dtype} of shape {index.shape}. Give the index of the prefix of each text."
        )
    if texts and (index.min() < 0 or index.max() >= prefixes):
        raise InvalidInputError(
            f"{side}_prefixes must lie in [0, {prefixes}), the resampled prefixes; got {index.min()} "
            f"to {index.max()}. Create the resampling with the number of prefixes."
        )
