"""All scores of one set of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bat.arrays import SingleArray
from bat.errors import InvalidInputError
from harness.scoring.mauve_score import mauve_scores
from harness.scoring.resampling import Resampling
from harness.scoring.scores import PLUGIN, ScoreEntry
from harness.scoring.statistics import STATISTIC_NAMES, get_statistic
from harness.scoring.summarize import mauve_entry, summarize
from harness.scoring.texts import TextSet


@dataclass(frozen=True, slots=True, eq=False)
class FeaturePair:
    """The vectors of what people wrote after each prefix, and of the texts, in their order."""

    human: SingleArray  # [prefixes, d]
    generated: SingleArray  # [m, d]


def score_texts(
    texts: TextSet,
    statistics: Sequence[str],
    resampling: Resampling,
    features: FeaturePair | None = None,
    mauve: Mapping[str, Any] | None = None,
) -> tuple[ScoreEntry, ...]:
    """The statistics asked for, by family, and MAUVE where there are features to compare."""
    entries: list[ScoreEntry] = []
    if features is not None and mauve is not None:
        scores = mauve_scores(
            features.human,
            features.generated,
            np.arange(texts.prefixes),
            texts.prefix_index,
            mauve,
            resampling,
        )
        entries.append(mauve_entry(mauve["kmeans_seeds"], scores))
    for family in statistics:
        made = summarize(get_statistic(family)(texts, resampling), texts, resampling)
        entries += made if family in STATISTIC_NAMES else [_marked(entry, family) for entry in made]
    twice = [name for name, count in Counter(entry.name for entry in entries).items() if count > 1]
    if twice:
        raise InvalidInputError(
            f"scores of one set of texts must have different names; got {twice[0]!r} twice, from "
            f"scoring.statistics {list(statistics)}. Rename the score in the plug-in that gives it."
        )
    return tuple(entries)


def _marked(entry: ScoreEntry, statistic: str) -> ScoreEntry:
    """Say which plug-in a score is from: reports show all of these, and a choice of our own."""
    return replace(entry, detail={**(entry.detail or {}), PLUGIN: statistic})
