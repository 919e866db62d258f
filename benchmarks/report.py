"""A run with a million rows of token traces: its report, with the command from a cold start, and its
DataFrames, in a process with the libraries loaded.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.instant_pool import write_corpus
from benchmarks.record import Figure, figures_of, write_figures
from harness.config import parse_config
from harness.driver.driver import Driver
from harness.driver.pool import REQUESTS_PER_WORKER, Outcome, Vacancy
from harness.planning.finished import stored_identity
from harness.planning.materials import Materials
from harness.store import open_store
from workers.requests import Request, Worker

PREFIXES = 2100  # texts end after about 130 tokens
TOKENS = 250  # per text at most
METHODS = 4
ROWS = 1_000_000
MEASURED = 10_000  # human tokens, as in the paper
MODEL = "fake:v=300,d=8"


class OneWorker:
    """One worker, in this process."""

    def __init__(self) -> None:
        self._worker = Worker("cpu")
        self._out: list[tuple[str, Request[Any]]] = []

    def vacancies(self) -> list[Vacancy]:
        return [Vacancy("worker", None, "here")] * (REQUESTS_PER_WORKER - len(self._out))

    def submit(self, worker: str, ticket: str, request: Request[Any]) -> None:
        self._out.append((ticket, request))

    def wait(self, seconds: float) -> list[Outcome]:
        if not self._out:
            return []
        ticket, request = self._out.pop(0)
        return [Outcome(ticket, "worker", self._worker.answer(request))]

    def close(self) -> None:
        pass


def measure() -> Iterator[Figure]:
    """Run this module in a separate process, and yield its figures as they arrive."""
    return figures_of("benchmarks.report")


def _figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        address = f"sqlite:///{folder / 'results.db'}"
        rows = _run(folder, address)
        program = str(Path(sys.executable).parent / "bat-harness")
        command = [program, "report", "--db", address, "--output", str(folder / "report"), "--force"]
        times = []
        for _ in range(2):
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - began)
        group = f"report, {rows:,} token-trace rows, {METHODS} methods, {MEASURED:,} human tokens"
        best = min(times)
        yield Figure(group, "bat-harness report, from start to end", best, "s", "", "< 20 s", best < 20.0)
        yield from _frames(address, rows)


def _frames(address: str, rows: int) -> Iterator[Figure]:
    """The time of a DataFrame of all tokens, including opening the database, and of smaller ones."""
    import harness

    group = "results as DataFrames"
    began = time.perf_counter()
    with harness.open_results(address) as results:
        tokens = results.tokens()
        seconds = time.perf_counter() - began
        if len(tokens) != rows:
            raise RuntimeError(f"the DataFrame must have {rows:,} tokens; got {len(tokens):,}")
        size = tokens.memory_usage(deep=True).sum() / 1e6
        name = f"tokens() of {rows:,} tokens"
        yield Figure(group, name, seconds, "s", f"{size:.0f} MB", "< 10 s", seconds < 10.0)
        for name in ("texts", "measurements", "scores", "estimates"):
            call = getattr(results, name)
            began = time.perf_counter()
            count = len(call())
            yield Figure(group, f"{name}() of {count:,} rows", time.perf_counter() - began, "s")


def _run(folder: Path, address: str) -> int:
    """Run a sweep with a fake model; return the number of generated tokens."""
    config = parse_config(
        {
            "name": "large",
            "models": [{"name": MODEL}],
            "corpus": {"name": str(write_corpus(folder / "text", 4 * PREFIXES))},
            "prefixes": {
                "count": PREFIXES,
                "tokens": 5,
                "min_continuation_tokens": 6,
                "shard_size": PREFIXES,
            },
            "generation": {"max_tokens": TOKENS, "batch_size": PREFIXES},
            "measurement": {"tokens": MEASURED, "per_document": 20, "constraints": [4], "shard_size": 500},
            "features": {"model": MODEL, "max_tokens": 64, "batch_size": 256},
            "methods": [
                {"rule": "eta", "parameter": 0.002},
                {"rule": "ba-eta", "parameter": {"match": {"method": "eta"}}, "constraints": 4},
                {"rule": "epsilon", "parameter": 0.002},
                {"rule": "nucleus", "parameter": 0.9},
            ],
            "stages": [{"name": "measure", "kind": "measure"}, {"name": "compare"}],
        }
    )
    with open_store(address) as store:
        run_id = store.add_run(config.name, stored_identity(config), {})
        summary = Driver(store, run_id, Materials(config), OneWorker).run()
        if not summary.complete:
            raise RuntimeError(f"the sweep did not complete: {summary}")
        with store.query("SELECT sum(token_count) FROM generations") as answer:
            [[tokens]] = answer.rows
    if tokens < ROWS:
        raise RuntimeError(f"the run must have {ROWS:,} rows; got {tokens:,}. Increase PREFIXES.")
    return int(tokens)


if __name__ == "__main__":
    write_figures(_figures())
