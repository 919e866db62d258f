"""Clusters of texts, as mauve-text computes them.

mauve-text makes histograms of clusters and does not return which text is in which cluster, which resampling
needs. So its steps are repeated here, with the same libraries, arguments and seeds; a test checks that both
agree. The vectors of all texts, generated ones first, are normalized to length one and projected on their
first principal components; then k-means clusters them. Only k-means depends on the seed, so the rest is done
once for all seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from bat.threads import map_in_threads

FeatureArray = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]

# Vectors of length one that differ by less than this in every coordinate are equal up to rounding.
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The cluster of each text, in [0, buckets)."""

    human: IntArray  # [h]
    generated: IntArray  # [g]
    buckets: int


def cluster(human: FeatureArray, generated: FeatureArray, settings: Mapping[str, Any]) -> list[Labels]:
    """Cluster all texts together, once for each of k-means' seeds; `settings` are a sweep's scoring.mauve."""
    _check_features(human, generated)
    buckets = _buckets(len(human), len(generated), settings["buckets"])
    rows = _reduce(human, generated, settings["explained_variance"])
    labels_by_seed = _labels(rows, buckets, settings)
    return [Labels(labels[len(generated) :], labels[: len(generated)], buckets) for labels in labels_by_seed]


def _reduce(human: FeatureArray, generated: FeatureArray, explained_variance: float) -> FeatureArray:
    """The first principal components of all texts, generated ones first, [g + h, kept]."""
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    rows = normalize(np.vstack([generated, human]), norm="l2", axis=1)
    if np.ptp(rows, axis=0).max() <= _ROUNDING:
        raise InvalidInputError(
            f"MAUVE needs texts that differ; the features of all {len(human)} human and {len(generated)} "
            "generated texts have one direction. Check the texts and the features model."
        )
    # For all components scikit-learn uses an exact solver, which needs no seed.
    pca = PCA(n_components=None, whiten=False).fit(rows)
    enough = np.cumsum(pca.explained_variance_ratio_) >= explained_variance
    kept: FeatureArray = pca.transform(rows)[:, : int(np.argmax(enough)) + 1].astype(np.float32)
    return kept


def _labels(rows: FeatureArray, buckets: int, settings: Mapping[str, Any]) -> list[IntArray]:
    """The cluster of each row, for each seed: seeds in parallel, each on one thread.

    By default faiss divides every step of k-means among threads that wait for each other. On busy cores that
    can take a hundred times as long.
    """
    import faiss

    def cluster_with(seed: int) -> IntArray:
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # for this thread only
        try:
            return _kmeans(rows, buckets, seed, settings)
        finally:
            faiss.omp_set_num_threads(before)

    return map_in_threads(cluster_with, settings["kmeans_seeds"], threads_to_use())


def threads_to_use() -> int:
    """The number of threads of OpenMP, which the environment of a worker sets to its cores."""
    import faiss

    return int(faiss.omp_get_max_threads())


def _kmeans(rows: FeatureArray, buckets: int, seed: int, settings: Mapping[str, Any]) -> IntArray:
    """The cluster of each row."""
    import faiss

    kmeans = faiss.Kmeans(
        rows.shape[1],
        buckets,
        niter=settings["kmeans_max_iterations"],
        nredo=settings["kmeans_redo"],
        update_index=True,
        seed=seed + 2,  # as in mauve-text
        # Only the limit below which faiss prints a warning. Its default is above the usual choice of a tenth
        # as many clusters as texts.
        min_points_per_centroid=1,
    )
    kmeans.train(rows)
    labels: IntArray = kmeans.index.search(rows, 1)[1].reshape(-1)
    return labels


def _buckets(human: int, generated: int, setting: str | int) -> int:
    """The number of clusters; `auto` is the rule of mauve-text."""
    if setting == "auto":
        return max(2, round(min(human, generated) / 10))
    if int(setting) > human + generated:
        raise InvalidInputError(
            f"MAUVE needs at least one text for each bucket; got {setting} buckets for {human} human and "
            f"{generated} generated texts. Lower scoring.mauve.buckets, or use more prefixes."
        )
    return int(setting)


def _check_features(human: FeatureArray, generated: FeatureArray) -> None:
    if human.ndim != 2 or generated.ndim != 2 or human.shape[1:] != generated.shape[1:]:
        raise InvalidInputError(
            "features must be two matrices of the same width, a row for each text; got the shapes "
            f"{human.shape} (human) and {generated.shape} (generated). Use one features model for both."
        )
    if len(human) < 2 or len(generated) < 2:
        raise InvalidInputError(
            f"MAUVE needs at least two human and two generated texts; got {len(human)} and "
            f"{len(generated)}. Use more prefixes."
        )
    for side, features in (("human", human), ("generated", generated)):
        invalid = np.count_nonzero(~np.isfinite(features).all(axis=1))
        if invalid:
            raise InvalidInputError(
                f"features must be finite; those of {invalid} of {len(features)} {side} texts are not. "
                "Compute them in float32 or bfloat16."
            )
