"""A sweep small enough to be run dozens of times, and pools that need no Ray."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from harness.config import parse_config
from harness.config.schema import SweepConfig
from harness.driver.driver import Driver
from harness.driver.pool import REQUESTS_PER_WORKER, Failure, FailureKind, Outcome, Vacancy
from harness.driver.ray_pool import classify
from harness.planning.finished import find_start
from harness.planning.materials import Materials
from harness.store import RetryPolicy, Store, open_store
from workers.requests import Request, Worker

WORDS = (
    "the",
    "mayor",
    "said",
    "a",
    "new",
    "bridge",
    "over",
    "river",
    "would",
    "open",
    "if",
    "funds",
    "allow",
)


def write_corpus(folder: Path, documents: int = 40) -> Path:
    """Documents of made-up sentences, long enough to be measured."""
    folder.mkdir(exist_ok=True)
    generator = np.random.default_rng(5)
    for number in range(documents):
        words = generator.choice(WORDS, 30).tolist()
        (folder / f"{number}.txt").write_text(" ".join([f"Report {number}:", *words]) + ".")
    return folder


def tiny_sweep(corpus: Path, model: str = "fake:v=300,d=8", **changes: Any) -> SweepConfig:
    """Measures, matches, generates, featurizes and scores: 17 jobs of every kind."""
    return parse_config(
        {
            "name": "tiny",
            "models": [{"name": model, "label": "fake"}],
            "corpus": {"name": str(corpus)},
            "prefixes": {"count": 6, "tokens": 5, "min_continuation_tokens": 6, "shard_size": 3},
            "generation": {"max_tokens": 6, "batch_size": 2},
            "measurement": {"tokens": 12, "per_document": 3, "constraints": [4], "shard_size": 2},
            "features": {"model": "fake:v=300,d=8", "max_tokens": 16, "shard_size": 3, "batch_size": 2},
            "scoring": {"mauve": {"kmeans_seeds": [25], "kmeans_redo": 1}, "resamples": 4},
            "methods": [
                {"rule": "eta", "parameter": 0.01},
                {"rule": "ba-eta", "parameter": {"match": {"method": "eta"}}, "constraints": 4},
            ],
            "stages": [{"name": "measure", "kind": "measure"}, {"name": "compare", "split": "test"}],
            "resources": {"lease_seconds": 2, "max_attempts": 3},
            **changes,
        }
    )


class LocalPool:
    """Workers in this process, which answer in an order that the seed decides.

    `lose` is asked before each answer whether the worker dies instead.
    """

    def __init__(
        self,
        workers: int = 1,
        seed: int = 0,
        lose: Callable[[], bool] = lambda: False,
        after_answer: Callable[[], None] = lambda: None,
    ) -> None:
        self._worker = Worker("cpu", threads=1)
        self._out: dict[str, list[tuple[str, Request[Any]]]] = {f"w{number}": [] for number in range(workers)}
        self._order = np.random.default_rng(seed)
        self._lose, self._after_answer = lose, after_answer
        self.answered = 0
        self.closed = False

    def vacancies(self) -> list[Vacancy]:
        return [
            Vacancy(name, None, f"here:{name}", queued=bool(out) or busy > 0)
            for busy in range(REQUESTS_PER_WORKER)
            for name, out in self._out.items()
            if len(out) <= busy
        ]

    def submit(self, worker: str, ticket: str, request: Request[Any]) -> None:
        self._out[worker].append((ticket, request))

    def wait(self, seconds: float) -> list[Outcome]:
        busy = [name for name, out in self._out.items() if out]
        if not busy:
            return []
        worker = busy[int(self._order.integers(len(busy)))]
        if self._lose():
            lost, self._out[worker] = self._out[worker], []
            return [
                Outcome(ticket, worker, Failure(FailureKind.WORKER_LOST, "its process ended"))
                for ticket, _ in lost
            ]
        ticket, request = self._out[worker].pop(0)
        try:
            outcome = Outcome(ticket, worker, self._worker.answer(request))
        except Exception as error:
            outcome = Outcome(ticket, worker, classify(error))
        self.answered += 1
        self._after_answer()
        return [outcome]

    def close(self) -> None:
        self.closed = True


def open_quick_store(file: Path) -> Store:
    """A store whose jobs do not wait long after an error."""
    return open_store(f"sqlite:///{file}", retry=RetryPolicy(max_failures=3, first_wait_seconds=0.0))


def make_driver(store: Store, config: SweepConfig, pool: Callable[[], LocalPool], **options: Any) -> Driver:
    """A driver of the sweep's one run."""
    start = find_start(store, config)
    run_id = store.add_run(config.name, start.identity, {}, start.inputs)
    return Driver(store, run_id, Materials(config), pool, **options)
