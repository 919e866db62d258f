"""A driver under fire for minutes: a worker is killed every few seconds, again and again.

Rounds of a small sweep run one after another in one process, on worker processes that are really killed.
After each round the results are compared with those of an undisturbed run. This process only drives: models
run in others, so its memory is a driver's, which must stay flat.
"""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from benchmarks.instant_pool import resident_bytes, write_corpus
from benchmarks.record import Figure
from harness.config import parse_config
from harness.config.schema import SweepConfig
from harness.driver.driver import Driver
from harness.driver.log import LOGGER
from harness.driver.pool import Pool
from harness.driver.stopping import Stop
from harness.planning.finished import stored_identity
from harness.planning.materials import Materials
from harness.store import RetryPolicy, Store, open_store
from tests.harness.driver.processes import ProcessPool

MODEL = "fake:v=300,d=8"
SLOW_MODEL = f"{MODEL},slow=0.005"  # the same model by name and weights, so that kills hit jobs at work
WORKERS = 3
SECONDS_BETWEEN_KILLS = 3.0
SECONDS_BETWEEN_LINES = 15.0
GRACE_SECONDS = 600.0  # for the round that runs when the time is up
FLAT_MIB = 32

# A job may lose its worker again and again.
RETRY = RetryPolicy(max_failures=1000, max_losses=1000, first_wait_seconds=0.0)


def measure(minutes: float, say: Callable[[str], None]) -> Iterator[Figure]:
    """Run rounds until the time is up; `say` gets a line now and then."""
    torch.set_num_threads(1)
    LOGGER.setLevel(logging.ERROR)  # lost workers are what this is about
    watch = _Watch(minutes * 60, say)
    with tempfile.TemporaryDirectory(prefix="bat-soak-") as name:
        corpus = write_corpus(Path(name) / "text", 400)
        while not watch.is_over:
            watch.round += 1
            disturbed = _run(Path(name), _sweep(corpus, SLOW_MODEL, watch.round), watch.start_pool, watch)
            calm = _run(Path(name), _sweep(corpus, MODEL, watch.round), lambda: ProcessPool(1), None)
            watch.equal += disturbed == calm
            watch.settle()
    group = f"soak, {watch.elapsed / 60:.1f} minutes, a worker killed every {SECONDS_BETWEEN_KILLS:g} s"
    rounds, growth = watch.round, watch.growth_mib
    yield Figure(group, "jobs done", watch.done, "", f"{watch.attempts_lost} attempts lost")
    yield Figure(group, "workers killed", watch.kills, "")
    yield Figure(
        group, "rounds whose results equal an undisturbed run's", watch.equal, f"of {rounds}",
        "", "all", watch.equal == rounds,
    )  # fmt: skip
    note = f"from {watch.memory[0][1]:.0f} to {watch.memory[-1][1]:.0f} MiB"
    yield Figure(group, "driver memory after the first round", growth, "MiB more", note,
                 f"flat: <= {FLAT_MIB} MiB", growth <= FLAT_MIB)  # fmt: skip


@dataclass
class _Watch:
    """Time, kills and memory of the whole soak."""

    seconds: float
    say: Callable[[str], None]
    began: float = field(default_factory=time.monotonic)
    round: int = 0
    equal: int = 0
    done: int = 0
    attempts_lost: int = 0
    kills: int = 0
    memory: list[tuple[float, float]] = field(default_factory=list)  # (seconds, MiB) at the end of rounds
    _killed_at: float = field(default_factory=time.monotonic)
    _told_at: float = field(default_factory=time.monotonic)
    _chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    @property
    def is_over(self) -> bool:
        return self.elapsed > self.seconds

    @property
    def growth_mib(self) -> float:
        return max(size for _, size in self.memory) - self.memory[0][1]

    def start_pool(self) -> ProcessPool:
        return ProcessPool(WORKERS, self.doomed)

    def doomed(self, busy: list[str]) -> list[str]:
        """Choose a worker to kill, if it is time; also tell how it goes."""
        now = time.monotonic()
        if now - self._told_at > SECONDS_BETWEEN_LINES:
            self._told_at = now
            size = resident_bytes() / 2**20
            self.say(f"{self.elapsed:5.0f} s: round {self.round}, {self.kills} kills, driver {size:.0f} MiB")
        if not busy or now - self._killed_at < SECONDS_BETWEEN_KILLS:
            return []
        self._killed_at = now
        self.kills += 1
        return [busy[int(self._chance.integers(len(busy)))]]

    def settle(self) -> None:
        """Note the memory at the end of a round, when both runs have released what they held."""
        self.memory.append((self.elapsed, resident_bytes() / 2**20))


def _sweep(corpus: Path, model: str, number: int) -> SweepConfig:
    """About 250 jobs of every kind; each round has seeds of its own, so that no result is there already."""
    return parse_config(
        {
            "name": f"soak-{number}",
            "models": [{"name": model, "label": "fake"}],
            "corpus": {"name": str(corpus)},
            "prefixes": {"count": 40, "tokens": 5, "min_continuation_tokens": 6, "shard_size": 2},
            "generation": {"max_tokens": 12, "batch_size": 2, "seeds": [2 * number, 2 * number + 1]},
            "measurement": {"tokens": 60, "per_document": 3, "constraints": [4], "shard_size": 4},
            "features": {"model": MODEL, "max_tokens": 16, "shard_size": 2, "batch_size": 2},
            "scoring": {"mauve": {"kmeans_seeds": [25], "kmeans_redo": 1}, "resamples": 4},
            "methods": [
                {"rule": "eta", "parameter": 0.01},
                {"rule": "ba-eta", "parameter": {"match": {"method": "eta"}}, "constraints": 4},
            ],
            "stages": [{"name": "measure", "kind": "measure"}, {"name": "compare", "split": "test"}],
        }
    )


def _run(folder: Path, config: SweepConfig, pool: Callable[[], Pool], watch: _Watch | None) -> str:
    """Run a sweep in a database of its own, and return the hash of its results."""
    file = folder / "results.db"
    file.unlink(missing_ok=True)
    stop = Stop()
    with open_store(file, retry=RETRY) as store:
        run_id = store.add_run(config.name, stored_identity(config), {})
        driver = Driver(store, run_id, Materials(config), pool, stop=stop, report=_stopper(watch, stop))
        summary = driver.run()
        if watch is not None:
            watch.done += summary.done
            watch.attempts_lost += _count_lost(store)
        return store.results_hash(run_id) if summary.complete else f"not complete: {summary}"


def _stopper(watch: _Watch | None, stop: Stop) -> Callable[[object], None]:
    """Stop a round that does not end by itself."""

    def check(_: object) -> None:
        if watch is not None and watch.elapsed > watch.seconds + GRACE_SECONDS:
            stop.request()

    return check


def _count_lost(store: Store) -> int:
    with store.query("SELECT count(*) FROM attempts WHERE error LIKE 'worker lost%'") as answer:
        [(lost,)] = answer.rows
    return int(lost)
