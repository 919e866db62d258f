"""Texts in clusters, as mauve-text clusters them.

mauve-text makes histograms of clusters and keeps to itself which text is in which. Resampling needs to know.
So its steps are taken here one by one, with the same libraries, arguments and seeds; a test holds both
together. The vectors of all texts, generated ones first, are scaled to length one and turned to their
principal components, of which the first are kept; then k-means divides them. Only k-means depends on the
seed, so the rest is done once for all seeds.
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

# Vectors of length one that differ by less than this in every place are equal but for rounding.
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
    found = _labels(rows, buckets, settings)
    return [Labels(each[len(generated) :], each[: len(generated)], buckets) for each in found]


def _reduce(human: FeatureArray, generated: FeatureArray, explained_variance: float) -> FeatureArray:
    """The first principal components of all texts, generated ones first, [g + h, kept]."""
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    rows = normalize(np.vstack([generated, human]), norm="l2", axis=1)
    if np.ptp(rows, axis=0).max() <= _ROUNDING:
        raise InvalidInputError(
            f"MAUVE needs texts that differ; the features of all {len(human)} human and {len(generated)} "
            "generated texts point the same way. Check what they were computed from."
        )
    # All components are asked for, so scikit-learn takes an exact solver: there is no seed to give.
    pca = PCA(n_components=None, whiten=False).fit(rows)
    enough = np.cumsum(pca.explained_variance_ratio_) >= explained_variance
    kept: FeatureArray = pca.transform(rows)[:, : int(np.argmax(enough)) + 1].astype(np.float32)
    return kept


def _labels(rows: FeatureArray, buckets: int, settings: Mapping[str, Any]) -> list[IntArray]:
    """The cluster of each row, for each seed: seeds side by side, each on one thread.

    Left to itself, faiss divides every step of k-means among threads that wait for each other. On cores that
    have something else to do as well, that was seen to take a hundred times as long.
    """
    import faiss

    def one_seed(seed: int) -> IntArray:
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # holds for the calling thread alone
        try:
            return _kmeans(rows, buckets, seed, settings)
        finally:
            faiss.omp_set_num_threads(before)

    return map_in_threads(one_seed, settings["kmeans_seeds"], threads_to_use())


def threads_to_use() -> int:
    """As many threads as OpenMP was given, which a worker of few cores is told by its environment."""
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
        # Nothing but the least number of rows below which faiss warns, past Python, on the error stream. A
        # tenth as many clusters as texts, the usual choice, is below its own.
        min_points_per_centroid=1,
    )
    kmeans.train(rows)
    labels: IntArray = kmeans.index.search(rows, 1)[1].reshape(-1)
    return labels


def _buckets(human: int, generated: int, asked: str | int) -> int:
    """How many clusters; `auto` counts as mauve-text does."""
    if asked == "auto":
        return max(2, round(min(human, generated) / 10))
    if int(asked) > human + generated:
        raise InvalidInputError(
            f"MAUVE needs at least one text for each bucket; got {asked} buckets for {human} human and "
            f"{generated} generated texts. Lower scoring.mauve.buckets, or take more prefixes."
        )
    return int(asked)


def _check_features(human: FeatureArray, generated: FeatureArray) -> None:
    if human.ndim != 2 or generated.ndim != 2 or human.shape[1:] != generated.shape[1:]:
        raise InvalidInputError(
            "features must be two tables of one width, a row for each text; got the shapes "
            f"{human.shape} (human) and {generated.shape} (generated). Use one features model for both."
        )
    if len(human) < 2 or len(generated) < 2:
        raise InvalidInputError(
            f"MAUVE compares at least two human texts with two generated ones; got {len(human)} and "
            f"{len(generated)}. Take more prefixes."
        )
    for side, features in (("human", human), ("generated", generated)):
        broken = np.count_nonzero(~np.isfinite(features).all(axis=1))
        if broken:
            raise InvalidInputError(
                f"features must be finite; those of {broken} of {len(features)} {side} texts are not. "
                "Compute them in float32 or bfloat16."
            )
