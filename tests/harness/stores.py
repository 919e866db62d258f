"""Small databases that the tests of commands look at, in the states that sweeps leave behind."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from harness.cli import main
from harness.jobs import Job, JobKind
from harness.store import RetryPolicy, Store, open_store
from harness.store.tables import AttemptRow, RunRow, utc_now
from tests.harness.store import examples

# As harness.config.run_identity writes it, cut down to what a status reads.
CONFIG = {
    "name": "big",
    "methods": [
        {"name": "eta", "parameter": [0.002]},
        {"name": "ba-eta", "parameter": {"best": None, "match": {"method": "eta"}, "hrr": None}},
        {"name": "epsilon", "parameter": {"best": {"split": "validation"}, "match": None, "hrr": None}},
    ],
    "stages": [
        {
            "name": "select",
            "kind": "generate",
            "split": "validation",
            "methods": ["epsilon"],
            "models": ["gpt2"],
        },
        {"name": "measure", "kind": "measure", "split": None, "methods": [], "models": ["gpt2"]},
        {
            "name": "compare",
            "kind": "generate",
            "split": "test",
            "methods": ["eta", "ba-eta"],
            "models": ["gpt2"],
        },
    ],
}

# As Ray tells it: where it happened, then what.
RAY_ERROR = (
    "error: \x1b[36mray::Executor.execute()\x1b[39m (pid={pid}, ip=10.0.0.1)\n"
    '  File "worker.py", line 3, in execute\n    answer()\nValueError: the batch has NaN in row 7'
)


def filled(folder: Path) -> str:
    """The address of a database with one run, "demo", that is done."""
    return _copy(_fill, folder)


def planned(folder: Path) -> tuple[str, int]:
    """A run, "big", of 2 measure jobs, 6 generate jobs, a featurize job for each, and a score job for all."""
    return _copy(_plan, folder), 1


def _copy(make: Callable[[Store], object], folder: Path) -> str:
    path = folder / "results.db"
    path.write_bytes(_made_by(make))
    return f"sqlite:///{path}"


@functools.cache
def _made_by(make: Callable[[Store], object]) -> bytes:
    """The file of a database, which is made once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.db")
        with open_store(f"sqlite:///{path}") as store:
            make(store)
        return path.read_bytes()


def _fill(store: Store) -> None:
    examples.fill(store)


def _plan(store: Store) -> None:
    run_id = store.add_run("big", CONFIG, {"torch": "2.13"})
    measure = [Job(JobKind.MEASURE, {"number": number, "model": "gpt2"}) for number in range(2)]
    generate = [Job(JobKind.GENERATE, {"number": number, "model": "gpt2"}) for number in range(6)]
    featurize = [Job(JobKind.FEATURIZE, {"of": job.id}, (job.id,)) for job in generate]
    score = Job(JobKind.SCORE, {"name": "mauve"}, tuple(job.id for job in featurize))
    store.add_prefix_set(examples.make_prefix_rows())
    store.add_jobs(run_id, measure, 1)
    store.add_jobs(run_id, [*generate, *featurize, score], 2)


def open_again(address: str) -> Store:
    """Open such a database for a driver that gives up at the first error."""
    return open_store(address, create=False, retry=RetryPolicy(max_failures=1))


def work(store: Store, run_id: int, count: int, owner: str = "driver") -> None:
    """Do that many jobs."""
    for lease in store.claim(owner, count, 600.0, run_id):
        assert store.complete(lease, examples.result_of(lease))


def fail(store: Store, run_id: int, *errors: str) -> None:
    """Let a job fail for good for each of the errors."""
    for lease, error in zip(store.claim("driver", len(errors), 600.0, run_id), errors, strict=True):
        store.fail(lease, error)


def move_back(store: Store, *, started: float, attempts_took: float) -> None:
    """As if the run had been started that long ago, and what was done had taken that long."""
    with store._database.writing() as connection:
        connection.execute(update(RunRow).values(started_at=utc_now(-started)))
        ended = update(AttemptRow).where(AttemptRow.ended_at.is_not(None))
        connection.execute(ended.values(started_at=utc_now(-attempts_took), ended_at=utc_now()))


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Run a command, check its exit code, and return what it printed; with an error, what it said."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    printed = capsys.readouterr()
    assert int(left.value.code or 0) == code, printed.err
    if code == 1 and not printed.out:
        assert "Traceback" not in printed.err
        return printed.err
    return printed.out
