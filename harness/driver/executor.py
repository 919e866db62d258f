"""A worker that also scores: what every worker of a sweep runs."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.scoring.mauve_score import FeatureArray, mauve_scores
from workers.requests import Answer as ModelAnswer
from workers.requests import ModelRequest, Request
from workers.worker import Worker


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRequest:
    """Compare the features of what people and a model wrote. Needs no model of its own."""

    human: FeatureArray
    generated: FeatureArray
    mauve: Mapping[str, Any]
    model: ModelRequest | None = None


@dataclass(frozen=True, slots=True)
class ScoreAnswer:
    """MAUVE for each seed of k-means."""

    mauve: tuple[float, ...]
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
        scores = mauve_scores(request.human, request.generated, request.mauve)
        return ScoreAnswer(tuple(scores), time.perf_counter() - began)
