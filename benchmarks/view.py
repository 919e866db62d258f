"""`bat-harness view` on a large database: the first byte of each page, and what open pages cost a sweep.

The database has 5,000 prefixes, 12 settings and 17 seeds: more than a million texts, each with its trace. The
texts are written by a fake model, once for each shard, plain and basis-aware; all seeds store the same ones.
"""

from __future__ import annotations

import argparse
import http.client
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from benchmarks.instant_pool import InstantPool, write_corpus
from benchmarks.record import Figure, figures_of, write_figures
from harness.config import parse_config
from harness.config.schema import SweepConfig
from harness.driver.driver import Driver
from harness.driver.pool import Outcome
from harness.driver.stopping import Stop
from harness.jobs import FeatureRows, FeaturizeGenerated, Generate, JobSpec, Rows, ScoreGenerated
from harness.planning.finished import find_start
from harness.planning.materials import Materials, SweepInputs
from harness.planning.planner import enqueue
from harness.store import Lease, Store, open_store
from workers.requests import Worker

PREFIXES, SHARD, SEEDS = 5_000, 250, 17
PARAMETERS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
MODEL = "fake:v=300,d=8"
SCORING: dict[str, Any] = {"resamples": 20, "mauve": {"kmeans_seeds": [25], "kmeans_redo": 1}}
AT_A_TIME = 20  # jobs in a transaction
VISITS = 5
FIRST_BYTE_SECONDS = 0.3

PAGES = {
    "runs": "/",
    "a run": "/runs/1",
    "its results": "/runs/1/results",
    "the jobs of a number": "/runs/1/results/trace?row=eta%3D0.001&score=mauve",
    "texts": "/runs/1/texts",
    "texts, the last page": "/runs/1/texts?from=4980",
    "texts, a word that is rare": "/runs/1/texts?words=Report+4321",
    "texts with fallbacks": "/runs/1/texts?having=fallbacks",
    "texts, where two settings part": "/runs/1/texts?first=eta%3D0.001&second=ba-eta%3D0.001+%28c%3D4%29",
    "one prefix": "/runs/1/texts/2500",
    "rejection": "/runs/1/rejection",
    "ask, progress": "/ask?name=progress",
}

OPEN_PAGES = 10
SEGMENTS = 8  # with and without open pages, in turns
JOBS_IN_A_SEGMENT = 4_000  # some seconds: the first look of a page that opens is not what is measured


def measure() -> Iterator[Figure]:
    """All figures, from a process of their own."""
    yield from figures_of("benchmarks.view")


def _figures(folder: Path, *, seeds: int = SEEDS) -> Iterator[Figure]:
    address = f"sqlite:///{folder / 'large.db'}"
    if not (folder / "large.db").exists():
        _fill(address, folder, seeds)
    texts = PREFIXES * 2 * len(PARAMETERS) * seeds
    group = f"view, {PREFIXES:,} prefixes x {2 * len(PARAMETERS)} settings, {texts:,} traces"
    with _serving(address) as port:
        for name, path in PAGES.items():
            first, *others = (_first_byte(port, path) for _ in range(VISITS))
            slowest = max(first, *others)
            note = (
                f"first byte, the slowest of {VISITS} visits; median {1e3 * statistics.median(others):.0f} ms"
            )
            limit = FIRST_BYTE_SECONDS
            yield Figure(group, name, 1e3 * slowest, "ms", note, f"< {1e3 * limit:.0f} ms", slowest < limit)
    with tempfile.TemporaryDirectory(prefix="bat-view-") as name:
        yield _cost_of_open_pages(Path(name))


# The database


def _sweep(corpus: Path, **changes: Any) -> SweepConfig:
    return parse_config(
        {
            "name": "large",
            "models": [{"name": MODEL, "label": "fake"}],
            "corpus": {"name": str(corpus)},
            "prefixes": {"count": PREFIXES, "tokens": 5, "min_continuation_tokens": 6, "shard_size": SHARD},
            "generation": {"max_tokens": 16},
            "measurement": {"tokens": 2_000, "per_document": 2, "constraints": [4]},
            "features": {"model": MODEL, "shard_size": SHARD},
            "scoring": SCORING,
            "methods": [
                {"rule": "eta", "parameter": list(PARAMETERS)},
                {"rule": "ba-eta", "parameter": list(PARAMETERS), "constraints": 4},
            ],
            "stages": [{"name": "measure", "kind": "measure"}, {"name": "compare"}],
            **changes,
        }
    )


def _fill(address: str, folder: Path, seeds: int) -> None:
    corpus = write_corpus(folder / "text", int(2.2 * PREFIXES))
    config = _sweep(corpus, generation={"max_tokens": 16, "seeds": list(range(seeds))})
    materials = Materials(config)
    with open_store(address) as store:
        start = find_start(store, config)
        run_id = store.add_run(config.name, start.identity, {}, start.inputs)
        enqueue(store, run_id, materials)
        _do_all(store, run_id, materials)


def _do_all(store: Store, run_id: int, materials: Materials) -> None:
    """Store a result for every job; one that is like another has the same."""
    inputs, worker = SweepInputs(materials, store), Worker("cpu", threads=1)
    random = np.random.default_rng(0)
    ready: dict[object, Rows] = {}
    while leases := store.claim("benchmark", AT_A_TIME, 3_600.0, run_id):
        completions: list[tuple[Lease, Rows]] = []
        for lease in leases:
            spec: JobSpec[Any] = lease.parse()
            if isinstance(spec, FeaturizeGenerated):
                completions.append((lease, FeatureRows(random.standard_normal((SHARD, 8), np.float32))))
                continue
            like: object = lease.job_id
            if isinstance(spec, Generate):
                like = (spec.prefixes.start, spec.rule)
            elif isinstance(spec, ScoreGenerated):
                like = ScoreGenerated
            if like not in ready:
                ready[like] = spec.rows(worker.answer(spec.request(inputs)).value)
            completions.append((lease, ready[like]))
        store.complete_many(completions)


# The pages


@contextmanager
def _serving(address: str) -> Iterator[int]:
    """The port of `bat-harness view` in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = str(Path(sys.executable).with_name("bat-harness"))
    command = [program, "view", "--db", address, "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            while True:
                try:
                    _first_byte(port, "/static/view.css")
                    break
                except OSError:
                    time.sleep(0.2)
            time.sleep(15)  # what it imports beside, for the first visitors
            yield port
        finally:
            server.terminate()


def _first_byte(port: int, path: str) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read(1)
    seconds = time.perf_counter() - began
    answer.read()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{path} has status {answer.status}")
    return seconds


# What open pages cost


def _cost_of_open_pages(folder: Path) -> Figure:
    """Jobs per second of a driver with ten pages of its run open, relative to none, in turns."""
    corpus = write_corpus(folder / "few", 400)
    seeds = SEGMENTS * JOBS_IN_A_SEGMENT // 100 + 20
    config = _sweep(
        corpus,
        prefixes={"count": 100, "tokens": 5, "min_continuation_tokens": 6, "shard_size": 1},
        generation={"max_tokens": 16, "seeds": list(range(seeds))},
        # Without perplexity: the likelihoods of human text are not the same for all shards.
        scoring={**SCORING, "statistics": ["repetition"]},
        methods=[{"rule": "eta", "parameter": 0.01}],
        stages=[{"name": "compare"}],
    )
    address = f"sqlite:///{folder / 'running.db'}"
    with open_store(address) as store:
        start = find_start(store, config)
        run_id = store.add_run(config.name, start.identity, {}, start.inputs)
        with _serving(address) as port, _visitors(port) as show:
            pool = _InTurns(show)
            Driver(store, run_id, Materials(config), lambda: pool, stop=pool.stop).run()
    pairs = zip(pool.rates[::2], pool.rates[1::2], strict=True)
    ratios = [with_pages / without for without, with_pages in pairs]
    ratio = statistics.median(ratios)
    note = f"{OPEN_PAGES} pages of the run that is driven; {len(ratios)} pairs of {JOBS_IN_A_SEGMENT:,} jobs"
    name = "jobs/s with open pages, relative to none"
    return Figure("view, while a sweep runs", name, ratio, "x", note, ">= 0.95x", ratio >= 0.95)


class _InTurns(InstantPool):
    """Workers that answer at once, while pages are shown and hidden."""

    def __init__(self, show: Any) -> None:
        super().__init__()
        self._show, self.stop = show, Stop()
        self.rates: list[float] = []
        self._began, self._ends_at = time.perf_counter(), JOBS_IN_A_SEGMENT

    def wait(self, seconds: float) -> list[Outcome]:
        if self.answered >= self._ends_at:
            # The first segment is warm-up: its answers are being made.
            if self._ends_at > JOBS_IN_A_SEGMENT:
                self.rates.append(JOBS_IN_A_SEGMENT / (time.perf_counter() - self._began))
            if len(self.rates) == SEGMENTS:
                self.stop.request()
            self._show(len(self.rates) % 2 == 1)
            self._ends_at += JOBS_IN_A_SEGMENT
            self._began = time.perf_counter()
        return super().wait(seconds)


@contextmanager
def _visitors(port: int) -> Iterator[Any]:
    """A function that opens ten pages and listens to them, in another process, or closes them."""
    command = [sys.executable, "-m", "benchmarks.view", "--listen", f"http://127.0.0.1:{port}/runs/1/events"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:

        def show(is_open: bool) -> None:
            assert process.stdin is not None
            process.stdin.write("open\n" if is_open else "close\n")
            process.stdin.flush()

        try:
            yield show
        finally:
            process.terminate()


def _listen(url: str) -> None:
    """Listen with ten connections while the standard input says so."""
    where = urlsplit(url)
    opened: list[http.client.HTTPConnection] = []
    for line in sys.stdin:
        if line.strip() == "open":
            for _ in range(OPEN_PAGES):
                connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=600)
                connection.request("GET", where.path)
                opened.append(connection)
                answer = connection.getresponse()
                threading.Thread(target=_read_all, args=(answer,), daemon=True).start()
        else:
            while opened:
                connection = opened.pop()
                if connection.sock is not None:
                    connection.sock.shutdown(socket.SHUT_RDWR)
                connection.close()


def _read_all(answer: http.client.HTTPResponse) -> None:
    try:
        while answer.readline():
            pass
    except (AttributeError, OSError, ValueError, http.client.HTTPException):
        pass  # it was closed


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", metavar="URL")
    parser.add_argument("--folder", type=Path, help="where the database is kept, or found")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    arguments = parser.parse_args()
    if arguments.listen:
        _listen(arguments.listen)
    else:
        with tempfile.TemporaryDirectory(prefix="bat-view-") as name:
            write_figures(_figures(arguments.folder or Path(name), seeds=arguments.seeds))
