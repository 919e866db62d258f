"""All scores of one set of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.scoring.mauve_score import mauve_scores
from harness.scoring.resampling import Resampling
from harness.scoring.scores import ScoreEntry
from harness.scoring.statistics import FAMILIES
from harness.scoring.summarize import mauve_entry, summarize
from harness.scoring.texts import TextSet

FeatureArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class FeaturePair:
    """The vectors of what people wrote after each prefix, and of the texts, in their order."""

    human: FeatureArray  # [prefixes, d]
    generated: FeatureArray  # [m, d]


def score_texts(
    texts: TextSet,
    statistics: Sequence[str],
    resampling: Resampling,
    features: FeaturePair | None = None,
    mauve: Mapping[str, Any] | None = None,
) -> tuple[ScoreEntry, ...]:
    """The statistics asked for, by family, and MAUVE where there are features to compare."""
    entries = []
    if features is not None and mauve is not None:
        found = mauve_scores(
            features.human,
            features.generated,
            np.arange(texts.prefixes),
            texts.prefix_index,
            mauve,
            resampling,
        )
        entries.append(mauve_entry(mauve["kmeans_seeds"], found))
    for family in statistics:
        entries += summarize(FAMILIES[family](texts, resampling), texts, resampling)
    return tuple(entries)
