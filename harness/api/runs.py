"""The runs of a database: their list and status, and retrying failed jobs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean
from harness.jobs import JobKind
from harness.status import run_list, run_status
from harness.status.failures import FailedJobError, find_failed
from harness.status.run_list import RunSummary
from harness.status.run_status import RunState, RunStatus
from harness.store import Reader, Run, open_reader, open_store

# A URL, the path of an SQLite file, or a database that is open already.
Database = str | os.PathLike[str] | Reader

# The name of a run (the latest one of that name), its number, NAME#NUMBER, or None for the latest run.
RunName = str | int | None

ALL = "all"  # every run of a database

_SHORTEST_ID = 6  # minimum number of digits of a job id
_BATCH = 500  # jobs per transaction, so that a running sweep does not wait long


def list_runs(db: Database) -> list[RunSummary]:
    """List the runs of a database with their numbers of jobs, the latest run first."""
    with reading(db) as reader:
        return run_list.list_runs(reader)


def get_status(db: Database, run: RunName = None) -> RunStatus:
    """Return the status of a run: jobs by stage, rates, workers, errors. `str()` gives it in a sentence.

    `run` is its name, its number or NAME#NUMBER; default: the latest run. A running sweep is not blocked.
    """
    with reading(db) as reader:
        return run_status.gather(reader, choose_run(reader, run))


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run with its counts, and while it is running its pace and the time left."""

    summary: RunSummary
    jobs_per_second: float | None = None
    seconds_left: float | None = None
    seconds_left_is_least: bool = False


def list_progress(db: Database) -> list[RunProgress]:
    """List the runs of a database as `list_runs` does, those that are running with their pace."""
    with reading(db) as reader:
        return [_progress(reader, summary) for summary in run_list.list_runs(reader)]


def _progress(reader: Reader, summary: RunSummary) -> RunProgress:
    if summary.state is not RunState.RUNNING:
        return RunProgress(summary)
    status = run_status.gather(reader, summary.run)
    pace = sum(rate.jobs_per_second for rate in status.rates)
    return RunProgress(summary, pace or None, status.seconds_left, status.seconds_left_is_least)


def find_failed_jobs(
    db: Database, run: RunName = None, first: int = 0, count: int = 100
) -> list[FailedJobError]:
    """The failed jobs of a run with their errors, so many from one of them on."""
    with reading(db) as reader:
        return find_failed(reader, choose_run(reader, run).id, first, count)


@dataclass(frozen=True, slots=True)
class RetryOutcome:
    """Which failed jobs of a run were selected, and how many of them were put back into the queue."""

    run: Run
    database: str  # its address
    failed: tuple[FailedJobError, ...]  # all failed jobs of the run
    selected: tuple[FailedJobError, ...]  # those that match every filter
    retried: int  # 0 for a dry run


def retry_failed(
    db: str | os.PathLike[str],
    run: RunName = None,
    *,
    kind: str | None = None,
    jobs: Iterable[str] = (),
    error: str | None = None,
    dry_run: bool = False,
) -> RetryOutcome:
    """Put failed jobs of a run back into the queue, with all their attempts.

    `kind`, `jobs` (ids, or their beginnings) and `error` (text that the last error contains) select jobs
    that match all of them; default: all failed jobs. A running sweep picks them up; otherwise run it again.
    """
    check_kind(kind)
    with open_reader(db) as reader:
        chosen = choose_run(reader, run)
        failed, address = find_failed(reader, chosen.id), reader.address
    selected = [
        failure
        for failure in _select(failed, tuple(jobs), chosen.name)
        if kind in (None, failure.kind.value) and (error is None or error in failure.error)
    ]
    retried = 0
    if selected and not dry_run:
        ids = [failure.job_id for failure in selected]
        with open_store(db, create=False) as store:
            retried = sum(
                store.retry_failed(chosen.id, job_ids=ids[start : start + _BATCH])
                for start in range(0, len(ids), _BATCH)
            )
    return RetryOutcome(chosen, address, tuple(failed), tuple(selected), retried)


def choose_run(reader: Reader, run: RunName = None) -> Run:
    """The run with that number, or the latest run of that name; NAME#NUMBER is exact. Default: the latest."""
    if run is None:
        runs = reader.runs()
        if not runs:
            raise InvalidInputError(
                f"{reader.address} has no run yet. Start one with: bat-harness run configs/demo.yaml "
                f"--db {reader.address}"
            )
        return runs[0]
    if isinstance(run, str) and run.isdecimal():
        by_number = reader.find_run(int(run))  # takes precedence over a run whose name is a number
        if by_number is not None:
            return by_number
    if isinstance(run, str) and "#" in run:
        return _choose_labelled(reader, run)
    return reader.get_run(run)


def _choose_labelled(reader: Reader, label: str) -> Run:
    name, _, number = label.rpartition("#")
    run = reader.find_run(int(number)) if number.isdecimal() else None
    if run is None or name not in ("", run.name):
        labels = ", ".join(run.label for run in reader.runs()) or "none"
        raise InvalidInputError(f"there is no run {label!r} in {reader.address}. Its runs: {labels}.")
    return run


def choose_runs(reader: Reader, runs: RunName | Iterable[str | int] = None) -> list[Run]:
    """The runs with those numbers or names, each once, or "all"; default: the latest run."""
    if runs == ALL:
        return reader.runs() or [choose_run(reader)]
    names: Iterable[RunName] = [runs] if runs is None or isinstance(runs, str | int) else runs
    chosen = [choose_run(reader, name) for name in names] or [choose_run(reader)]
    return list({run.id: run for run in chosen}.values())


@contextmanager
def reading(db: Database) -> Iterator[Reader]:
    """Open a database for reading, and close it at the end unless it was open before."""
    if isinstance(db, Reader):
        yield db
        return
    with open_reader(db) as reader:
        yield reader


def check_kind(kind: str | None) -> None:
    """Raise unless this is a kind of job."""
    kinds = [job_kind.value for job_kind in JobKind]
    if kind is not None and kind not in kinds:
        raise InvalidInputError(
            f"the kind of job must be one of {', '.join(kinds)}; got {kind!r}.{did_you_mean(kind, kinds)}"
        )


def _select(failed: Sequence[FailedJobError], ids: Sequence[str], name: str) -> list[FailedJobError]:
    """The failed jobs with these ids; without ids, all."""
    if not ids:
        return list(failed)
    selected: dict[str, FailedJobError] = {}
    for beginning in ids:
        if len(beginning) < _SHORTEST_ID:
            raise InvalidInputError(
                f"a job id must be given with at least {_SHORTEST_ID} digits; got {beginning!r}."
            )
        matches = [failure for failure in failed if failure.job_id.startswith(beginning)]
        if not matches:
            raise InvalidInputError(
                f"no failed job of run {name!r} has an id that begins with {beginning!r}. "
                f"See: bat-harness query --name failures --run {name}"
            )
        if len(matches) > 1:
            raise InvalidInputError(
                f"{len(matches)} failed jobs of run {name!r} have ids that begin with {beginning!r}. "
                "Give more digits."
            )
        selected[matches[0].job_id] = matches[0]
    return list(selected.values())
