"""The overhead of driver and database: thousands of jobs on many workers that answer immediately."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.instant_pool import WORKERS, InstantPool, write_corpus
from benchmarks.record import Figure, seconds_each
from harness.config import parse_config
from harness.driver.driver import Driver
from harness.driver.pool import REQUESTS_PER_WORKER
from harness.jobs import JobKind
from harness.planning import planner
from harness.planning.finished import stored_identity
from harness.planning.materials import Materials
from harness.planning.planner import Plan, add_prefixes
from harness.store import open_store

JOBS = 5000
PREFIXES = 50


def measure() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _simulate(Path(folder))
        yield from _run_again(Path(folder))


def _run_again(folder: Path) -> Iterator[Figure]:
    """Run the command of a finished sweep again, in a shell."""
    program = str(Path(sys.executable).with_name("bat-harness"))
    command = [program, "run", "configs/smoke.yaml", "--db", str(folder / "smoke.db")]
    subprocess.run(command, check=True, capture_output=True)

    def run_again() -> None:
        process = subprocess.run(command, check=True, capture_output=True, text=True)
        assert process.stderr.startswith("Nothing to do"), process.stderr

    seconds = statistics.median(seconds_each(lambda _: run_again(), range(5)))
    group = "configs/smoke.yaml, run a second time"
    yield Figure(group, "time until 'Nothing to do'", seconds, "s", "", "< 2 s", seconds < 2)


def _simulate(folder: Path) -> Iterator[Figure]:
    config = parse_config(
        {
            "name": "simulation",
            "models": [{"name": "fake:v=300,d=8"}],
            "corpus": {"name": str(write_corpus(folder / "text", 4 * PREFIXES))},
            "prefixes": {"count": PREFIXES, "tokens": 5, "min_continuation_tokens": 6, "shard_size": 1},
            "generation": {"max_tokens": 16, "seeds": list(range(JOBS // PREFIXES))},
            "features": {"model": "fake:v=300,d=8"},
            "methods": [{"rule": "eta", "parameter": 0.01}],
            "stages": [{"name": "generate"}],
        }
    )
    materials = Materials(config)
    pool = InstantPool()
    with open_store(f"sqlite:///{folder / 'results.db'}") as store:
        run_id = store.add_run(config.name, stored_identity(config), {})
        driver = _GenerateOnly(store, run_id, materials, lambda: pool)
        began = time.perf_counter()
        driver._enqueue()
        planned = time.perf_counter()
        summary = driver.run()
        ended = time.perf_counter()
        assert summary.done == JOBS, summary
    group = f"queue, {JOBS:,} jobs over {WORKERS} simulated workers, SQLite"
    per_second = JOBS / (ended - planned)
    yield Figure(group, "plan and enqueue the jobs", planned - began, "s")
    yield Figure(group, "driver and database", 1e3 / per_second, "ms per job", "16 tokens per job, stored")
    yield Figure(group, "throughput", per_second, "jobs/s", "", ">= 200 jobs/s", per_second >= 200)
    yield Figure(
        group, "maximum requests in flight", pool.most_in_flight, "", f"{REQUESTS_PER_WORKER} per worker"
    )
    early = next(size for answered, size in pool.memory if answered >= JOBS // 5)
    growth = (pool.memory[-1][1] - early) / 2**20
    name = "memory growth from job 1,000 to the last"
    yield Figure(group, name, growth, "MiB", "", "flat: <= 32 MiB", growth <= 32)


class _GenerateOnly(Driver):
    """Leaves out features and scores: one kind of job is enough for timing."""

    def _enqueue(self) -> Plan:
        plan = planner.make_plan(self.materials.config, self.materials, self.store)
        plan.jobs = [(order, job) for order, job in plan.jobs if job.kind is JobKind.GENERATE]
        add_prefixes(self.store, self.materials, plan)
        self.store.add_jobs(self.run_id, [job.job for _, job in plan.jobs])
        return plan
