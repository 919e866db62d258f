"""MAUVE as mauve-text computes it, with the cluster of each text, which resampling needs.

mauve-text clusters the texts and returns histograms of the clusters, but not which text is in which cluster.
Clustering is most of the work, so doing it again for that would double the time. Instead, a copy of
mauve-text's module that nobody else sees is given a k-means that remembers what it was trained on. Everything
else is mauve-text's own code. The clusters are checked against the histograms that it returns.
"""

from __future__ import annotations

import functools
import importlib.util
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from bat.arrays import FloatArray, IntArray, SingleArray
from bat.errors import BatError


@dataclass(frozen=True, slots=True, eq=False)
class MauveText:
    """What mauve-text returns for one seed, and the cluster of each text, in [0, buckets)."""

    mauve: float
    mauve_star: float  # of smoothed histograms (Pillutla et al. 2023)
    frontier_integral: float
    human: IntArray  # [h]
    generated: IntArray  # [g]
    buckets: int


def compute(human: SingleArray, generated: SingleArray, seed: int, settings: Mapping[str, Any]) -> MauveText:
    """Run mauve-text with one of k-means' seeds; `settings` are a sweep's scoring.mauve."""
    module, trained = _module(), _trained
    returned = module.compute_mauve(
        p_features=human,
        q_features=generated,
        num_buckets=settings["buckets"],
        kmeans_explained_var=settings["explained_variance"],
        kmeans_num_redo=settings["kmeans_redo"],
        kmeans_max_iter=settings["kmeans_max_iterations"],
        divergence_curve_discretization_size=settings["curve_points"],
        mauve_scaling_factor=settings["scaling_factor"],
        seed=seed,
        verbose=False,
    )
    kmeans, rows = trained.kmeans, trained.rows
    del trained.kmeans, trained.rows
    labels = kmeans.index.search(rows, 1)[1].reshape(-1)
    found = MauveText(
        mauve=float(returned.mauve),
        mauve_star=float(returned.mauve_star),
        frontier_integral=float(returned.frontier_integral),
        human=labels[len(generated) :],  # mauve-text stacks generated texts first
        generated=labels[: len(generated)],
        buckets=int(returned.num_buckets),
    )
    _check_clusters("human", found.human, returned.p_hist)
    _check_clusters("generated", found.generated, returned.q_hist)
    return found


_trained = threading.local()  # the k-means that mauve-text trained last on this thread, and its rows


@functools.cache
def _module() -> ModuleType:
    """Our copy of mauve-text's module."""
    import faiss

    class RememberingKmeans(faiss.Kmeans):
        """k-means that is also found under `_trained`."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            # Only the limit below which faiss prints a warning, past Python. Its default is above the usual
            # choice of a tenth as many clusters as texts.
            super().__init__(*arguments, min_points_per_centroid=1, **options)

        def train(self, x: Any, *arguments: Any, **options: Any) -> Any:
            _trained.kmeans, _trained.rows = self, x
            return super().train(x, *arguments, **options)

    spec = importlib.util.find_spec("mauve.compute_mauve")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.faiss = SimpleNamespace(Kmeans=RememberingKmeans)  # type: ignore[attr-defined]
    return module


def _check_clusters(side: str, labels: IntArray, histogram: FloatArray) -> None:
    """Raise unless the clusters are those that mauve-text made its histogram of."""
    shares = np.bincount(labels, minlength=len(histogram)) / max(1, len(labels))
    if len(shares) != len(histogram) or not np.allclose(shares, histogram, rtol=0, atol=1e-12):
        raise BatError(
            f"the clusters of {side} texts must be those of mauve-text's histogram; "
            f"{np.count_nonzero(shares[: len(histogram)] != histogram)} of {len(histogram)} buckets differ. "
            "Install the versions of mauve-text and faiss in pyproject.toml."
        )
