"""Several drivers at once, drivers that are killed, and readers beside them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

import pytest

from harness.store import JobState, Store, open_reader
from tests.harness.store.drivers import score, work, write_half
from tests.harness.store.examples import CONFIG, VERSIONS, add, claim_one, let_expire, score_job

# A fresh interpreter: a copy of this one would share its connections.
SPAWN = multiprocessing.get_context("spawn")


Work = Callable[[str, str, Connection], None]


def start(work: Work, address: str, owner: str) -> tuple[SpawnProcess, Connection]:
    """A process that works on a store, and our end of a pipe to it."""
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=work, args=(address, owner, theirs), daemon=True)
    process.start()
    theirs.close()  # so that a process that dies ends our waiting for it
    return process, ours


@pytest.fixture(autouse=True)
def _children_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[3])


def test_processes_share_the_jobs_and_do_none_twice(store: Store, address: str) -> None:
    jobs = [score_job(number) for number in range(150)]
    add(store, *jobs)
    pipes = [start(work, address, f"driver {number}")[1] for number in range(2)]
    for pipe in pipes:
        assert pipe.recv() == "ready"
    for pipe in pipes:
        pipe.send("go")
    done = [job_id for pipe in pipes for job_id in pipe.recv()]
    assert sorted(done) == sorted(job.id for job in jobs)
    with store.query("SELECT count(*), max(number) FROM attempts") as answer:
        assert list(answer.rows) == [(150, 1)]


def test_threads_may_share_a_store(store: Store) -> None:
    jobs = [score_job(number) for number in range(80)]
    add(store, *jobs)

    def drive(owner: str) -> list[str]:
        done = []
        while leases := store.claim(owner, 2, 600.0):
            store.renew(leases, 600.0)
            done += [lease.job_id for lease in leases if store.complete(lease, score())]
        return done

    with ThreadPoolExecutor(4) as pool:
        done = [job_id for part in pool.map(drive, "abcd") for job_id in part]
    assert sorted(done) == sorted(job.id for job in jobs)


def test_leases_that_ran_out_are_taken_by_one_driver_only(store: Store) -> None:
    add(store, *(score_job(number) for number in range(40)))
    let_expire(store, *store.claim("dead", 40, 600.0))
    barrier = threading.Barrier(4)

    def drive(owner: str) -> list[tuple[str, int]]:
        barrier.wait()
        return [(lease.job_id, lease.attempt) for lease in store.claim(owner, 15, 600.0)]

    with ThreadPoolExecutor(4) as pool:
        taken = [entry for part in pool.map(drive, "abcd") for entry in part]
    assert len(taken) == len(set(taken)) <= 40
    assert {attempt for _, attempt in taken} == {2}
    # Where rows are locked, a driver may have passed over what another was just taking back.
    taken += [(lease.job_id, lease.attempt) for lease in store.claim("e", 40, 600.0)]
    assert len(taken) == len(set(taken)) == 40


def test_drivers_may_plan_the_same_jobs_at_once(store: Store) -> None:
    jobs = [score_job(number) for number in range(60)]
    barrier = threading.Barrier(4)

    def plan(turn: int) -> int:
        barrier.wait()
        run_id = store.add_run(f"run {turn % 2}", CONFIG, VERSIONS)
        return store.add_jobs(run_id, jobs if turn % 2 else jobs[::-1])

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(plan, range(4))) == 60
    assert [store.progress(run.id)[0].total for run in store.runs()] == [60, 60]


def test_a_writer_killed_in_the_middle_loses_nothing_that_was_committed(store: Store, address: str) -> None:
    run_id = add(store, *(score_job(number) for number in range(3)))
    writer, pipe = start(write_half, address, "writer")
    first = pipe.recv()
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()

    (progress,) = store.progress(run_id)
    assert (progress.done, progress.leased, progress.waiting) == (1, 1, 1)
    assert [entry.value for entry in store.scores([first])] == [0.25]
    with store.query("SELECT count(*) FROM scores") as answer:
        assert list(answer.rows) == [(1,)]
    assert store.take_back("writer") == 1
    for lease in store.claim("another", 9, 600.0):
        assert store.complete(lease, score())
    assert store.progress(run_id)[0].done == 3


def test_readers_and_a_writer_never_wait_for_each_other(store: Store, address: str) -> None:
    run_id = add(store, *(score_job(number) for number in range(60)))
    stop = threading.Event()

    def read() -> int:
        """Ask again and again, on new connections too, and see nothing half done."""
        asked = 0
        done = "SELECT count(*) FROM jobs WHERE state = 'done'"
        while not stop.is_set() or asked == 0:
            with open_reader(address) as reader:
                for _ in range(5):
                    with reader.query(f"SELECT ({done}) - (SELECT count(*) FROM scores)") as answer:
                        assert list(answer.rows) == [(0,)]
                    asked += reader.progress(run_id)[0].total == 60
        return asked

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        while leases := store.claim("writer", 2, 600.0):
            store.complete_many([(lease, score()) for lease in leases])
        stop.set()
        assert all(reader.result() > 0 for reader in readers)


def test_a_reader_goes_on_beside_an_open_transaction(store: Store, address: str) -> None:
    add(store, score_job(1))
    lease = claim_one(store)
    with open_reader(address) as reader, store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE jobs SET priority = 77")
        assert reader.find_jobs([lease.job_id])[lease.job_id].state is JobState.LEASED
        with reader.query("SELECT priority FROM jobs") as answer:
            assert list(answer.rows) == [(0,)]
