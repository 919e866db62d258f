"""Small databases that the tests of commands look at, in the states that sweeps leave behind."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select, update

from harness.cli import main
from harness.jobs import Job, JobKind, JobLabels
from harness.store import Instance, InstanceKind, InstanceState, JobState, RetryPolicy, Store, open_store
from harness.store.tables import AttemptRow, JobRow, RunRow, utc_now
from tests.harness.store import examples

CONFIG = {"name": "big"}

# A parameter of that run that results have still to decide.
OPEN_PARAMETER = "compare: ba-eta on gpt2: ba-eta rejecting as much as eta=0.002 (c=20)"

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
    label = JobLabels("gpt2")
    measure = [Job(JobKind.MEASURE, {"number": number}, (), label) for number in range(2)]
    generate = [Job(JobKind.GENERATE, {"number": number}, (), label) for number in range(6)]
    featurize = [Job(JobKind.FEATURIZE, {"of": job.id}, (job.id,)) for job in generate]
    score = Job(JobKind.SCORE, {"name": "mauve"}, tuple(job.id for job in featurize))
    store.add_prefix_set(examples.make_prefix_rows())
    jobs = [*measure, *generate, *featurize, score]
    store.add_plan(run_id, jobs, [1] * 2 + [2] * 13, [*_instances(jobs), OPEN])


OPEN = Instance(
    name=f"{OPEN_PARAMETER}, seed 0",
    position=3,
    kind=InstanceKind.GENERATE,
    stage="compare",
    stage_position=2,
    split="test",
    model="gpt2",
    method="ba-eta",
    seed=0,
    rule="ba-eta",
    constraints=20,
    state=InstanceState.OPEN,
    resolution=OPEN_PARAMETER,
)


def _instances(jobs: Sequence[Job]) -> list[Instance]:
    """What the jobs are for: measuring, and all others for one setting."""
    measured = Instance(
        name="measure: human text on gpt2",
        position=1,
        kind=InstanceKind.MEASURE,
        stage="measure",
        stage_position=1,
        split="validation",
        model="gpt2",
        jobs=tuple(("measurement", job.id) for job in jobs[:2]),
    )
    setting = replace(
        OPEN,
        name="compare: eta on gpt2: eta=0.002, seed 0",
        position=2,
        method="eta",
        rule="eta",
        parameter=0.002,
        constraints=None,
        state=InstanceState.KNOWN,
        resolution=None,
        jobs=tuple(("texts", job.id) for job in jobs[2:]),
    )
    return [measured, setting]


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


def make_groups(
    store: Store, kind: JobKind, groups: Sequence[tuple[str | None, int | None]], seconds: Sequence[float]
) -> None:
    """As if the finished jobs of a kind were of these models and constraints, and had taken that long."""
    with store._database.writing() as connection:
        keys = connection.scalars(
            select(JobRow.key).where(JobRow.kind == kind, JobRow.state == JobState.DONE)
        ).all()
        for key, (model, constraints), took in zip(keys, groups, seconds, strict=True):
            job, attempts = JobRow.key == key, AttemptRow.job_key == key
            connection.execute(update(JobRow).where(job).values(model=model, constraints=constraints))
            times = {"started_at": utc_now(-took), "ended_at": utc_now()}
            connection.execute(update(AttemptRow).where(attempts).values(times))


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
