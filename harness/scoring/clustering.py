"""Clusters of texts for each of k-means' seeds, with what mauve-text makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from bat.threads import map_in_threads
from harness.scoring.mauve_text import MauveText, compute

FeatureArray = npt.NDArray[np.float32]

# Vectors of length one that differ by less than this in every coordinate are equal up to rounding.
_ROUNDING = 1e-6


def cluster(human: FeatureArray, generated: FeatureArray, settings: Mapping[str, Any]) -> list[MauveText]:
    """Cluster all texts together, once for each of k-means' seeds; `settings` are a sweep's scoring.mauve.

    Seeds run in parallel, each on one thread. By default faiss divides every step of k-means among threads
    that wait for each other. On busy cores that can take a hundred times as long.
    """
    import faiss

    _check_features(human, generated)
    _check_buckets(len(human), len(generated), settings["buckets"])

    def cluster_with(seed: int) -> MauveText:
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # for this thread only
        try:
            return compute(human, generated, seed, settings)
        finally:
            faiss.omp_set_num_threads(before)

    return map_in_threads(cluster_with, settings["kmeans_seeds"], threads_to_use())


def threads_to_use() -> int:
    """The number of threads of OpenMP, which the environment of a worker sets to its cores."""
    import faiss

    return int(faiss.omp_get_max_threads())


def _check_buckets(human: int, generated: int, setting: str | int) -> None:
    if setting != "auto" and int(setting) > human + generated:
        raise InvalidInputError(
            f"MAUVE needs at least one text for each bucket; got {setting} buckets for {human} human and "
            f"{generated} generated texts. Lower scoring.mauve.buckets, or use more prefixes."
        )


def _check_features(human: FeatureArray, generated: FeatureArray) -> None:
    from sklearn.preprocessing import normalize

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
    rows = normalize(np.vstack([generated, human]), norm="l2", axis=1)
    if np.ptp(rows, axis=0).max() <= _ROUNDING:
        raise InvalidInputError(
            f"MAUVE needs texts that differ; the features of all {len(human)} human and {len(generated)} "
            "generated texts have one direction. Check the texts and the features model."
        )
