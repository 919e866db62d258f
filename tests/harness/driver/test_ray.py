"""Sweeps on a real Ray cluster of three nodes, whose workers and nodes are killed under way.

The tests share one cluster and, after the first, one pool: a worker takes seconds to import everything. They
run in the order in which they stand here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.driver.pool import REQUESTS_PER_WORKER, Outcome, Vacancy
from harness.driver.ray_pool import RayPool
from harness.store import Store
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep, write_corpus
from workers.requests import GenerateRequest, Request

pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own, which differ from release to release
]

SLOW = "fake:v=300,d=8,slow=0.1"  # the same results, but time enough to be killed in
SECONDS = 400.0  # a busy machine takes as long as it takes; this only ends a test that hangs
OBJECT_STORE = 80 * 2**20  # bytes; Ray's least


class Watched:
    """A pool that outlives its driver. `disturb` is told of workers that generate, until it says True."""

    def __init__(self, pool: RayPool, disturb: Callable[[str], bool] | None = None) -> None:
        self.pool, self._disturb = pool, disturb
        self._generating: list[str] = []
        self._deadline = time.monotonic() + SECONDS
        self.workers: set[str] = set()

    def vacancies(self) -> list[Vacancy]:
        return self.pool.vacancies()

    def submit(self, worker: str, ticket: str, request: Request[Any]) -> None:
        self.pool.submit(worker, ticket, request)
        self.workers.add(worker)
        if isinstance(request, GenerateRequest):
            self._generating.append(worker)

    def wait(self, seconds: float) -> list[Outcome]:
        assert time.monotonic() < self._deadline, "the sweep hangs"
        if self._disturb is not None and any(map(self._disturb, self._generating)):
            self._disturb = None
        self._generating.clear()
        return self.pool.wait(seconds)

    def wait_for_all(self) -> None:
        """Until every worker has started and is idle."""
        while len(self.pool.vacancies()) < REQUESTS_PER_WORKER * len(self.pool._actors):
            self.wait(1)

    def close(self) -> None:
        """Leave the pool to the next test."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("text") / "corpus")


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the results without Ray."""
    with open_quick_store(tmp_path_factory.mktemp("expected") / "r.db") as store:
        driver = make_driver(store, tiny_sweep(corpus), LocalPool)
        assert driver.run().complete
        return store.results_hash(driver.run_id)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head and two more nodes, with room for one worker each."""
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": OBJECT_STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE)
        ray.init(address=cluster.address, log_to_driver=False, configure_logging=False)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(scope="module")
def three(cluster: Any) -> Iterator[RayPool]:
    pool = RayPool(3)
    yield pool
    pool.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_quick_store(tmp_path / "r.db") as store:
        yield store


def drive(store: Store, corpus: Path, pool: Watched, model: str = SLOW) -> str:
    """Run the sweep to its end and return the hash of its results."""
    # Taking a node away takes seconds, in which no lease is renewed.
    sweep = tiny_sweep(corpus, model, resources={"lease_seconds": 60})
    driver = make_driver(store, sweep, lambda: pool)
    summary = driver.run()
    assert summary.complete
    assert (summary.done, summary.late) == (17, 0)
    return store.results_hash(driver.run_id)


def losses(store: Store) -> list[str]:
    """The errors of all attempts that failed."""
    with store.query("SELECT error FROM attempts WHERE outcome = 'failed'") as found:
        return [error for (error,) in found.rows]


def process_of(pool: RayPool, worker: str) -> int:
    return int(pool._actors[worker].location.rpartition(":")[2])


def test_one_worker_on_ray_gives_the_results_of_none(
    cluster: Any, store: Store, corpus: Path, expected: str
) -> None:
    pool = RayPool(1)
    assert drive(store, corpus, Watched(pool), "fake:v=300,d=8") == expected
    pool.close()


def test_three_workers_on_three_nodes_give_the_same(
    three: RayPool, store: Store, corpus: Path, expected: str
) -> None:
    pool = Watched(three)
    pool.wait_for_all()  # or the first to start may do everything
    assert drive(store, corpus, pool) == expected
    assert len(pool.workers) == 3
    assert losses(store) == []


def test_a_killed_worker_is_replaced_and_its_job_done_again(
    three: RayPool, store: Store, corpus: Path, expected: str
) -> None:
    killed: list[int] = []

    def kill(worker: str) -> bool:
        killed.append(process_of(three, worker))
        os.kill(killed[0], signal.SIGKILL)
        return True

    pool = Watched(three, kill)
    assert drive(store, corpus, pool) == expected
    [error] = losses(store)  # what waited behind it was given back, and counts no attempt
    assert error.startswith("worker lost: ")
    pool.wait_for_all()
    assert killed[0] not in [process_of(three, worker) for worker in three._actors]


def test_a_sweep_outlives_a_node_and_takes_in_another(
    cluster: Any, three: RayPool, store: Store, corpus: Path, expected: str
) -> None:
    nodes = {node.all_processes["raylet"][0].process.pid: node for node in cluster.worker_nodes}
    lost: list[str] = []

    def remove_its_node(worker: str) -> bool:
        found = subprocess.check_output(["ps", "-o", "ppid=", "-p", str(process_of(three, worker))])
        node = nodes.get(int(found))
        if node is None:
            return False  # the head, where the driver is at home too
        lost.append(worker)
        cluster.remove_node(node, allow_graceful=False)
        return True

    pool = Watched(three, remove_its_node)
    assert drive(store, corpus, pool) == expected
    [error] = losses(store)
    assert error.startswith("worker lost: ")
    # The worker that finds no room is handed nothing, and takes the first room that there is.
    assert {vacancy.worker for vacancy in three.vacancies()} == set(three._actors) - set(lost)
    cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE)
    pool.wait_for_all()
