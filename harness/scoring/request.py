"""The request for scores, which needs no model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.scoring.resampling import Resampling
from harness.scoring.scorer import score_texts
from harness.scoring.scores import ScoreEntry
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
