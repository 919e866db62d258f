"""A worker that also scores: what every worker of a sweep runs."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.scoring.resampling import Resampling
from harness.scoring.scorer import FeaturePair, score_texts
from harness.scoring.texts import TextSet
from harness.store import ScoreEntry
from workers.requests import Answer as ModelAnswer
from workers.requests import ModelRequest, Request
from workers.worker import Worker


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRequest:
    """Score texts. Needs no model of its own."""

    texts: TextSet
    statistics: tuple[str, ...]
    resampling: Resampling
    features: FeaturePair | None = None  # none for what people wrote, which is not compared with itself
    mauve: Mapping[str, Any] | None = None
    model: ModelRequest | None = None


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """The scores, and how long they took."""

    scores: tuple[ScoreEntry, ...]
    seconds: float


AnyRequest = Request | ScoreRequest
AnyAnswer = ModelAnswer | ScoreAnswer


class Executor(Worker):
    """Answers every request that a sweep makes."""

    def place(self) -> str:
        """Where this worker runs: its machine and process."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def execute(self, request: AnyRequest) -> AnyAnswer:
        """Do what is asked."""
        if not isinstance(request, ScoreRequest):
            return self.answer(request)
        began = time.perf_counter()
        scores = score_texts(
            request.texts, request.statistics, request.resampling, request.features, request.mauve
        )
        return ScoreAnswer(scores, time.perf_counter() - began)
