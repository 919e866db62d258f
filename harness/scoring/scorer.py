"""All scores of one set of texts, and the request for them, which needs no model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bat.errors import InvalidInputError
from harness.scoring.mauve_score import cluster_scores, mauve_alone
from harness.scoring.resampling import Resampling
from harness.scoring.scores import PLUGIN, ScoreEntry
from harness.scoring.statistics import STATISTIC_NAMES, get_statistic
from harness.scoring.summarize import cluster_entry, summarize
from harness.scoring.texts import TextSet
from workers.requests import Request

if TYPE_CHECKING:
    from workers.requests import Worker


@dataclass(frozen=True, eq=False)
class ScoreRequest(Request[tuple[ScoreEntry, ...]]):
    """Score texts on their own and, with the features of human text, against that."""

    texts: TextSet
    statistics: tuple[str, ...]
    resampling: Resampling
    mauve: Mapping[str, Any] | None = None  # None for human text, which is not compared with itself
    version: int | None = None  # of the procedure

    def run(self, worker: Worker) -> tuple[ScoreEntry, ...]:
        return score_texts(self.texts, self.statistics, self.resampling, self.mauve, self.version)


def score_texts(
    texts: TextSet,
    statistics: Sequence[str],
    resampling: Resampling,
    mauve: Mapping[str, Any] | None = None,
    version: int | None = None,
) -> tuple[ScoreEntry, ...]:
    """The statistics asked for, by family; before them scores of clusters, if there is human text.

    `version` is that of the procedure: None for that of the oldest score jobs, which has MAUVE alone.
    """
    entries: list[ScoreEntry] = []
    features = texts.features
    if features is not None and features.human is not None and mauve is not None:
        of_human = np.arange(texts.prefixes)
        arguments = (features.human, features.texts, of_human, texts.prefix_index, mauve, resampling)
        scores = (
            [mauve_alone(*arguments)]
            if version is None
            else cluster_scores(*arguments, symmetric=version == 2)
        )
        entries += [cluster_entry(mauve["kmeans_seeds"], score) for score in scores]
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
