"""kill -9 of drivers and workers at any moment: nothing committed is lost, nothing is done twice."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.harness.driver.processes import ProcessPool
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep, write_corpus

# More schedules than an ordinary run of the tests has time for: BAT_HARNESS_CRASHES=200 pytest ...
SCHEDULES = int(os.environ.get("BAT_HARNESS_CRASHES", "20"))


def drive(corpus: str, file: str, seed: int, answers: int | None) -> None:
    """Run the sweep in this process; after so many answers be killed, before or while they are written."""
    os.dup2(os.open(_errors(file), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    import torch

    torch.set_num_threads(1)
    chance = np.random.default_rng(seed)
    answered = 0

    def doomed(busy: list[str]) -> list[str]:
        return [worker for worker in busy if chance.random() < 0.02]

    def maybe_die() -> None:
        nonlocal answered
        answered += 1
        if answers is not None and answered >= answers:
            os.kill(os.getpid(), signal.SIGKILL)

    def start_pool() -> ProcessPool:
        return ProcessPool(4, doomed, maybe_die)

    with open_quick_store(Path(file)) as store:
        store.retry = type(store.retry)(max_failures=100, max_losses=100, first_wait_seconds=0.0)
        # Leases of one that is seen to be dead are taken back at once. Of another machine nothing is known:
        # its leases have to run out.
        owner = f"elsewhere:1:{seed}" if chance.random() < 0.5 else None
        driver = make_driver(store, tiny_sweep(Path(corpus)), start_pool, owner=owner)
        driver.lease_seconds = 0.6
        if chance.random() < 0.5 and answers is not None:
            _die_while_writing(store, chance)
        driver.run()


def _errors(file: str) -> str:
    """What the latest driver on a database wrote to its standard error."""
    return f"{file}.errors"


def _die_while_writing(store, chance) -> None:  # type: ignore[no-untyped-def]
    """Be killed inside a transaction that has written rows but not committed them."""
    from harness.store import results

    real = results.write

    def write(connection, kept) -> None:  # type: ignore[no-untyped-def]
        real(connection, kept)
        if kept and chance.random() < 0.2:
            os.kill(os.getpid(), signal.SIGKILL)

    results.write = write


@pytest.fixture(scope="module")
def context() -> multiprocessing.context.BaseContext:
    # A server that has imported everything once, and forks children that begin at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.harness.driver.test_crashes", "mauve", "harness.driver.driver"])
    return context


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("text") / "corpus")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_any_schedule_of_kills_ends_with_the_same_results(
    context: multiprocessing.context.BaseContext, corpus: Path, tmp_path: Path
) -> None:
    def run(name: str, seed: int, answers: int | None) -> int:
        file = str(tmp_path / f"{name}.db")
        child = context.Process(target=drive, args=(str(corpus), file, seed, answers))  # type: ignore[attr-defined]
        child.start()
        child.join(timeout=300)
        assert child.exitcode is not None, "the driver hangs"
        assert child.exitcode in (0, -signal.SIGKILL), Path(_errors(file)).read_text(encoding="utf-8")
        return int(child.exitcode)

    with open_quick_store(tmp_path / "undisturbed.db") as store:
        assert make_driver(store, tiny_sweep(corpus), LocalPool).run().complete  # one worker, in this process
        expected = store.results_hash(1)
        done = sum(progress.done for progress in store.progress(1))
    killed = killed_workers = 0
    for seed in range(SCHEDULES):
        schedule = np.random.default_rng(1000 + seed)
        while True:
            # Most lives end after a few answers; the last is left to finish.
            answers = int(schedule.integers(1, 8)) if schedule.random() < 0.7 else None
            ended = run(f"schedule-{seed}", int(schedule.integers(1 << 30)), answers)
            if ended == 0:
                break
            killed += 1
        with open_quick_store(tmp_path / f"schedule-{seed}.db") as store:
            assert store.results_hash(1) == expected, f"schedule {seed}"
            assert sum(progress.done for progress in store.progress(1)) == done
            assert store.failed(1) == []
            with store.query("SELECT count(*) FROM attempts WHERE error LIKE 'worker lost%'") as answer:
                [(lost,)] = answer.rows
                killed_workers += lost
    # The schedules really kill. They are seeded, but how many workers are at work at a time is not: about one
    # a schedule dies, so that the chance of so few is below 1e-6.
    assert killed >= SCHEDULES
    assert killed_workers >= SCHEDULES / 10
