"""Simulated workers that answer at once, so that only the driver and the database take time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from harness.driver.pool import REQUESTS_PER_WORKER, Outcome, Vacancy
from workers.requests import Answer, FeaturizeRequest, GenerateRequest, Request, Worker

WORKERS = 64
WORDS = ("the", "mayor", "said", "a", "new", "bridge", "over", "river", "would", "open", "if", "funds")


class InstantPool:
    """Workers that have every answer ready, so that only the driver and the database take time."""

    def __init__(self) -> None:
        self._worker = Worker("cpu", threads=1)
        self._ready: dict[object, Answer[Any]] = {}
        self._out: dict[str, list[tuple[str, Request[Any]]]] = {f"worker-{n}": [] for n in range(WORKERS)}
        self.most_in_flight = 0
        self.answered = 0
        self.memory: list[tuple[int, int]] = []  # (jobs answered, resident bytes)

    def answer(self, request: Request[Any]) -> Answer[Any]:
        """The answer to the first request like this one. Texts are the same for all seeds, so that there are
        few of them, and one set of scores serves all settings."""
        like: object = type(request)
        if isinstance(request, GenerateRequest):
            like = request.prefixes[0].id
        elif isinstance(request, FeaturizeRequest):
            like = request.texts
        if like not in self._ready:
            self._ready[like] = self._worker.answer(request)
        return self._ready[like]

    def vacancies(self) -> list[Vacancy]:
        return [
            Vacancy(name, None, name)
            for busy in range(REQUESTS_PER_WORKER)
            for name, out in self._out.items()
            if len(out) <= busy
        ]

    def submit(self, worker: str, ticket: str, request: Request[Any]) -> None:
        self.answer(request)
        self._out[worker].append((ticket, request))
        self.most_in_flight = max(self.most_in_flight, sum(map(len, self._out.values())))

    def wait(self, seconds: float) -> list[Outcome]:
        """One answer from each busy worker, as if they finished at about the same time."""
        outcomes = []
        for name, out in self._out.items():
            if out:
                ticket, request = out.pop(0)
                outcomes.append(Outcome(ticket, name, self.answer(request)))
        self.answered += len(outcomes)
        self.memory.append((self.answered, resident_bytes()))
        return outcomes

    def close(self) -> None:
        pass


def resident_bytes() -> int:
    """The memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def write_corpus(folder: Path, documents: int) -> Path:
    """Write a folder with this many texts of thirty words."""
    folder.mkdir()
    generator = np.random.default_rng(0)
    for number in range(documents):
        words = " ".join(generator.choice(WORDS, 30).tolist())
        (folder / f"{number}.txt").write_text(f"Report {number}: {words}.")
    return folder
