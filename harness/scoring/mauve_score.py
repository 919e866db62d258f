"""MAUVE (Pillutla et al. 2021) of two sets of features, through mauve-text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError

FeatureArray = npt.NDArray[np.float32]


def mauve_scores(human: FeatureArray, generated: FeatureArray, settings: Mapping[str, Any]) -> list[float]:
    """MAUVE for each seed of k-means. `settings` are those of a sweep's scoring.mauve."""
    import mauve  # brings in faiss and scikit-learn, which take seconds

    if len(human) < 2 or len(generated) < 2:
        raise InvalidInputError(
            f"MAUVE compares at least two texts with two others; got {len(human)} and {len(generated)}. "
            "Take more prefixes."
        )
    return [
        float(
            mauve.compute_mauve(
                p_features=human,
                q_features=generated,
                num_buckets=settings["buckets"],
                pca_max_data=-1,
                kmeans_explained_var=settings["explained_variance"],
                kmeans_num_redo=settings["kmeans_redo"],
                kmeans_max_iter=settings["kmeans_max_iterations"],
                divergence_curve_discretization_size=settings["curve_points"],
                mauve_scaling_factor=settings["scaling_factor"],
                seed=seed,
                verbose=False,
            ).mauve
        )
        for seed in settings["kmeans_seeds"]
    ]
