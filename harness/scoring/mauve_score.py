"""Scores of the clusters of human and generated texts: MAUVE (Pillutla et al. 2021) and its relatives.

The published values of MAUVE, MAUVE* and the frontier integral are those that mauve-text returns. Added are
divergences on the same clusters, and the values behind intervals: with prefixes resampled or reweighted, and
with blocks of prefixes left out. There a text counts as much as its prefix does, in its original cluster.
docs/design/scoring.md explains why clusters are kept fixed, what that costs, and why prefixes are reweighted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from bat.errors import BatError, InvalidInputError
from bat.threads import map_in_threads
from harness.scoring.clustering import FeatureArray, cluster, threads_to_use
from harness.scoring.divergences import HistogramScore, histogram_scores
from harness.scoring.mauve_text import MauveText
from harness.scoring.resampling import FloatArray, IntArray, Resampling

# How far mauve-text and our own formula may be apart. It sorts the points of its curve, where rounding can
# move the ends if the histograms are nearly equal.
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class ClusterScore:
    """One score of the clusters of one set of texts."""

    name: str
    values: tuple[float, ...]  # for each k-means seed
    # Under other weights of the prefixes, means over k-means seeds, by the key in the detail of the score:
    # left_out [blocks], and by the version of the score job resampled [resamples], or pairs of opposite
    # weights [r]: raised and lowered, or, skewed, weighed and opposite. Keys differ because values under
    # different weights must not be paired.
    behind: Mapping[str, FloatArray]


def cluster_scores(
    human: FeatureArray,
    generated: FeatureArray,
    human_prefixes: IntArray,
    generated_prefixes: IntArray,
    settings: Mapping[str, Any],
    resampling: Resampling,
    *,
    symmetric: bool = False,
) -> list[ClusterScore]:
    """All scores of the clusters, MAUVE first, with prefixes reweighted for their intervals.

    `human_prefixes` and `generated_prefixes` are the index of the prefix of each text. `settings` are a
    sweep's scoring.mauve. A value is NaN if the weights leave no text on one side. Weights are `symmetric`
    in score jobs of version 2.
    """
    clusterings = _clusterings(
        human, generated, human_prefixes, generated_prefixes, settings, resampling.prefixes
    )
    scores = histogram_scores(settings)
    behind = {"left_out": _means(clusterings, scores, resampling.left_out())}
    reweighted = [
        [_means(clusterings, scores, weights) for weights in pair]
        for pair in resampling.reweightings(symmetric=symmetric)
    ]
    names = ("raised", "lowered") if symmetric else ("weighed", "opposite")
    for side, name in enumerate(names if reweighted else ()):
        behind[name] = np.hstack([pair[side] for pair in reweighted])
    return [
        ClusterScore(
            score.name,
            values=tuple(each.published(score) for each in clusterings),
            behind={name: values[index] for name, values in behind.items()},
        )
        for index, score in enumerate(scores)
    ]


def mauve_alone(
    human: FeatureArray,
    generated: FeatureArray,
    human_prefixes: IntArray,
    generated_prefixes: IntArray,
    settings: Mapping[str, Any],
    resampling: Resampling,
) -> ClusterScore:
    """MAUVE with prefixes drawn with replacement: what score jobs of older versions compute."""
    clusterings = _clusterings(
        human, generated, human_prefixes, generated_prefixes, settings, resampling.prefixes
    )
    [mauve] = (score for score in histogram_scores(settings) if score.name == "mauve")
    behind = {"left_out": _means(clusterings, [mauve], resampling.left_out())[0]}
    resampled = [_means(clusterings, [mauve], weights)[0] for weights in resampling.draws()]
    if resampled:
        behind["resampled"] = np.concatenate(resampled)
    return ClusterScore(mauve.name, tuple(each.published(mauve) for each in clusterings), behind)


def _clusterings(
    human: FeatureArray,
    generated: FeatureArray,
    human_prefixes: IntArray,
    generated_prefixes: IntArray,
    settings: Mapping[str, Any],
    prefixes: int,
) -> list[_Clustering]:
    _check_prefixes("human", human_prefixes, len(human), prefixes)
    _check_prefixes("generated", generated_prefixes, len(generated), prefixes)
    return [
        _Clustering.of(made, human_prefixes, generated_prefixes, prefixes)
        for made in cluster(human, generated, settings)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Clustering:
    """How many texts of each prefix are in each bucket, [buckets, prefixes], and mauve-text's numbers."""

    human: scipy.sparse.csr_array
    generated: scipy.sparse.csr_array
    by_mauve_text: Mapping[str, float]

    @classmethod
    def of(
        cls, made: MauveText, human_prefixes: IntArray, generated_prefixes: IntArray, prefixes: int
    ) -> _Clustering:
        shape = (made.buckets, prefixes)
        return cls(
            scipy.sparse.csr_array((np.ones(len(human_prefixes)), (made.human, human_prefixes)), shape),
            scipy.sparse.csr_array(
                (np.ones(len(generated_prefixes)), (made.generated, generated_prefixes)), shape
            ),
            {
                "mauve": made.mauve,
                "mauve-star": made.mauve_star,
                "frontier-integral": made.frontier_integral,
            },
        )

    def histograms(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Counts of human and generated texts for each row of weights of prefixes, [r, buckets] each."""
        human, generated = ((side @ weights.T).T for side in (self.human, self.generated))
        return human, generated

    def published(self, score: HistogramScore) -> float:
        """The value of a score: mauve-text's own where it has one, after comparing it with ours."""
        human, generated = self.histograms(np.ones((1, self.human.shape[1])))
        ours = float(score.of(human, generated)[0])
        theirs = self.by_mauve_text.get(score.name)
        if theirs is None:
            return ours
        if np.array_equal(human * generated.sum(), generated * human.sum()):
            return ours  # for equal histograms, rounding makes mauve-text's value 1 or 0.75
        if abs(ours - theirs) > _TOLERANCE:
            raise BatError(
                f"{score.name} must be the same by mauve-text and by the formula behind its interval; got "
                f"{theirs!r} and {ours!r}. Install the version of mauve-text in pyproject.toml."
            )
        return theirs


def _means(
    clusterings: Sequence[_Clustering], scores: Sequence[HistogramScore], weights: FloatArray
) -> FloatArray:
    """The mean of each score over k-means seeds, for each row of weights, [scores, r]."""

    def of(clustering: _Clustering) -> list[FloatArray]:
        histograms = clustering.histograms(weights)
        return [score.of(*histograms) for score in scores]

    mean: FloatArray = np.mean(map_in_threads(of, clusterings, threads_to_use()), axis=0)
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
