"""The part of a Reader about the queue: jobs and their states, rates, drivers, workers, failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from statistics import fmean
from typing import TYPE_CHECKING, Any

from sqlalchemy import CTE, Connection, Select, func, select
from sqlalchemy.orm import aliased

from harness.jobs import JobKind, JobSpec
from harness.store.engine import Database
from harness.store.queue import Lease
from harness.store.records import (
    AttemptOutcome,
    DriverPresence,
    FailedJob,
    JobGroup,
    JobState,
    LeaseOwner,
    Progress,
    Rate,
    StoredJob,
    WorkerActivity,
)
from harness.store.statements import batches, by_key_only, in_run
from harness.store.tables import AttemptRow, DriverRow, JobNeedRow, JobRow, RunJobRow, utc_now

_STORED = (
    *(JobRow.id, JobRow.kind, JobRow.spec, JobRow.state, JobRow.attempt, JobRow.failures, JobRow.losses),
    *(JobRow.owner, JobRow.adjustment, JobRow.finished_at),
)

if TYPE_CHECKING:
    _DoneAttempts = Select[str, str | None, int | None, datetime, datetime | None]


class JobReader:
    """Queries about jobs. Each is answered from one snapshot."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Progress

    def progress(self, run_id: int) -> list[Progress]:
        """Counts for each kind of job in a run, in the order in which kinds are run."""
        by_kind: dict[str, dict[str, int]] = {}
        states = (
            select(JobRow.kind, JobRow.state, func.count())
            .join(RunJobRow, RunJobRow.job_key == JobRow.key)
            .where(RunJobRow.run_id == run_id)
            .group_by(JobRow.kind, JobRow.state)
        )
        # From the jobs that are blocked, which are few, rather than from all that wait.
        blocked_jobs = _blocked()
        blocked = (
            select(JobRow.kind, func.count())
            .join(blocked_jobs, blocked_jobs.c.key == JobRow.key)
            .where(in_run(run_id), by_key_only(JobRow.state) == JobState.WAITING)
            .group_by(JobRow.kind)
        )
        with self._database.reading() as connection:
            for kind, state, count in connection.execute(states):
                by_kind.setdefault(kind, {})[state] = count
            blocked_counts = {row[0]: row[1] for row in connection.execute(blocked)}
        return [
            Progress(
                kind=kind,
                blocked=blocked_counts.get(kind, 0),
                **{state.value: by_kind[kind].get(state, 0) for state in JobState},
            )
            for kind in JobKind
            if kind in by_kind
        ]

    def all_done(self, run_id: int) -> bool:
        """Whether every job of a run is done. Unlike counting, this does not read the jobs that are."""
        not_done = JobRow.state.in_([state.value for state in JobState if state is not JobState.DONE])
        with self._database.reading() as connection:
            return connection.scalar(select(1).where(in_run(run_id), not_done).limit(1)) is None

    def rates(self, run_id: int, window_seconds: float = 60.0) -> list[Rate]:
        """What was done in the last seconds, by the database's clock, for each group of jobs that ended."""
        seconds = self._seconds_by_group(
            _done_attempts().where(in_run(run_id), AttemptRow.ended_at >= utc_now(-window_seconds))
        )
        return [
            Rate(*group, len(seconds[group]), len(seconds[group]) / window_seconds, fmean(seconds[group]))
            for group in sorted(seconds, key=JobGroup.order)
        ]

    def mean_seconds(self, attempts: int = 5_000) -> dict[JobGroup, float]:
        """The mean seconds of the latest attempts that were done, in any run, for each group of jobs.

        Their number is limited so that large databases answer as fast as small ones.
        """
        latest = _done_attempts().order_by(AttemptRow.ended_at.desc()).limit(attempts)
        return {group: fmean(seconds) for group, seconds in self._seconds_by_group(latest).items()}

    def _seconds_by_group(self, attempts: _DoneAttempts) -> dict[JobGroup, list[float]]:
        seconds: dict[JobGroup, list[float]] = {}
        with self._database.reading() as connection:
            for kind, model, constraints, started, ended in connection.execute(attempts):
                assert ended is not None  # a done attempt has ended
                group = JobGroup(JobKind(kind), model, constraints)
                seconds.setdefault(group, []).append((ended - started).total_seconds())
        return seconds

    def owners(self, run_id: int | None = None) -> list[LeaseOwner]:
        """The drivers that hold leases now."""
        statement = (
            select(
                JobRow.owner,
                func.count(),
                func.min(AttemptRow.started_at, type_=AttemptRow.started_at.type),
                func.min(JobRow.lease_expires_at, type_=AttemptRow.started_at.type),
                func.min(JobRow.lease_expires_at) < utc_now(),
            )
            .join(AttemptRow, (AttemptRow.job_key == JobRow.key) & (AttemptRow.number == JobRow.attempt))
            .where(in_run(run_id), JobRow.state == JobState.LEASED)
            .group_by(JobRow.owner)
        )
        with self._database.reading() as connection:
            rows: list[Any] = list(connection.execute(statement))  # leased jobs have an owner and an expiry
        owners = [LeaseOwner(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]
        return sorted(owners, key=lambda owner: owner.owner)

    def drivers(self, run_id: int) -> list[DriverPresence]:
        """The drivers of a run that have not reported their end, the most recently seen first.

        A driver that plans is among them, although it holds no lease.
        """
        statement = (
            select(DriverRow.owner, DriverRow.doing, DriverRow.started_at, DriverRow.seen_at)
            .where(DriverRow.run_id == run_id, DriverRow.ended_at.is_(None))
            .order_by(DriverRow.seen_at.desc(), DriverRow.owner)
        )
        with self._database.reading() as connection:
            return [DriverPresence(*row) for row in connection.execute(statement)]

    def workers(self, run_id: int, window_seconds: float = 60.0) -> list[WorkerActivity]:
        """The workers that hold a job of a run or ended one in the last seconds, by name."""
        running: dict[str, list[Any]] = {}
        ended: dict[str, list[Any]] = {}
        with self._database.reading() as connection:
            for attempt in connection.execute(_running_attempts(run_id)):
                running.setdefault(attempt.worker or "", []).append(attempt)
            for outcome in connection.execute(_recent_outcomes(run_id, window_seconds)):
                ended.setdefault(outcome.worker or "", []).append(outcome)
            latest = _latest_ends(connection, [attempts[0].started_at for attempts in running.values()])
        return [
            _activity(name, running.get(name, []), ended.get(name, []), latest.get(name))
            for name in sorted({*running, *ended})
        ]

    def failed(self, run_id: int | None = None) -> list[FailedJob]:
        """The failed jobs in their order, with the latest error and how many jobs each one blocks."""
        statement = (
            select(
                *(JobRow.key, JobRow.id, JobRow.kind, JobRow.spec, JobRow.attempt, JobRow.failures),
                *(JobRow.losses, AttemptRow.owner, AttemptRow.error),
            )
            .outerjoin(AttemptRow, (AttemptRow.job_key == JobRow.key) & (AttemptRow.number == JobRow.attempt))
            .where(in_run(run_id), JobRow.state == JobState.FAILED)
            .order_by(JobRow.priority, JobRow.key)
        )
        with self._database.reading() as connection:
            return [
                FailedJob(
                    id=row.id,
                    kind=JobKind(row.kind),
                    spec=row.spec,
                    attempts=row.attempt,
                    failures=row.failures,
                    losses=row.losses,
                    owner=row.owner,
                    error=row.error,
                    blocks=_count_blocked_by(connection, row.key),
                )
                for row in connection.execute(statement).all()
            ]

    def blocked(self, run_id: int) -> list[str]:
        """Ids of the jobs of a run that need a failed job, in their order."""
        blocked = _blocked()
        statement = (
            select(JobRow.id)
            .where(in_run(run_id), JobRow.state == JobState.WAITING, JobRow.key.in_(select(blocked.c.key)))
            .order_by(JobRow.priority, JobRow.key)
        )
        with self._database.reading() as connection:
            return list(connection.scalars(statement))

    # Jobs

    def jobs(
        self, run_id: int, kind: JobKind | None = None, state: JobState | None = None
    ) -> Iterator[StoredJob]:
        """The jobs of a run in their order, a few hundred of them in memory at a time."""
        statement = select(*_STORED).where(in_run(run_id)).order_by(JobRow.priority, JobRow.key)
        if kind is not None:
            statement = statement.where(JobRow.kind == kind)
        if state is not None:
            statement = statement.where(JobRow.state == state)
        with self._database.reading() as connection:
            yield from map(_stored, connection.execute(statement.execution_options(yield_per=500)))

    def find_jobs(self, job_ids: Iterable[str]) -> dict[str, StoredJob]:
        """The jobs with these ids that exist, by id."""
        jobs: dict[str, StoredJob] = {}
        with self._database.reading() as connection:
            for batch in batches(dict.fromkeys(job_ids)):
                for row in connection.execute(select(*_STORED).where(JobRow.id.in_(batch))):
                    jobs[row.id] = _stored(row)
        return jobs

    def parsed_jobs(self, job_ids: Iterable[str]) -> dict[str, JobSpec[Any]]:
        """The typed specifications of the jobs with these ids that exist, by id."""
        return {job_id: job.parse() for job_id, job in self.find_jobs(job_ids).items()}

    def needs(self, job_ids: Iterable[str]) -> set[str]:
        """Ids of the jobs whose results these jobs read."""
        needing, needed = aliased(JobRow), aliased(JobRow)
        needed_ids: set[str] = set()
        with self._database.reading() as connection:
            for batch in batches(dict.fromkeys(job_ids)):
                statement = (
                    select(needed.id)
                    .join(JobNeedRow, JobNeedRow.needed_key == needed.key)
                    .join(needing, needing.key == JobNeedRow.job_key)
                    .where(needing.id.in_(batch))
                )
                needed_ids.update(connection.scalars(statement))
        return needed_ids

    def completed(self, leases: Iterable[Lease]) -> set[str]:
        """The ids of those jobs whose results these very leases stored."""
        claims = {(lease.job_key, lease.attempt, lease.owner): lease.job_id for lease in leases}
        columns = AttemptRow.job_key, AttemptRow.number, AttemptRow.owner
        completed: set[str] = set()
        with self._database.reading() as connection:
            for batch in batches({key for key, _, _ in claims}):
                done = (AttemptRow.job_key.in_(batch), AttemptRow.outcome == AttemptOutcome.DONE)
                rows = map(tuple, connection.execute(select(*columns).where(*done)))
                completed |= {claims[row] for row in rows if row in claims}
        return completed

    def done_ids(self, job_ids: Iterable[str]) -> set[str]:
        """The ids among these whose jobs are done."""
        done: set[str] = set()
        with self._database.reading() as connection:
            for batch in batches(dict.fromkeys(job_ids)):
                is_done = JobRow.state == JobState.DONE
                done.update(connection.scalars(select(JobRow.id).where(JobRow.id.in_(batch), is_done)))
        return done


def _blocked() -> CTE:
    """Keys of all jobs that need a failed job, directly or through others."""
    failed = select(JobNeedRow.job_key.label("key")).join(JobRow, JobRow.key == JobNeedRow.needed_key)
    blocked = failed.where(JobRow.state == JobState.FAILED).cte("blocked", recursive=True)
    return blocked.union(select(JobNeedRow.job_key).join(blocked, blocked.c.key == JobNeedRow.needed_key))


def _count_blocked_by(connection: Connection, key: int) -> int:
    direct = select(JobNeedRow.job_key.label("key")).where(JobNeedRow.needed_key == key)
    blocked = direct.cte("blocked_by", recursive=True)
    blocked = blocked.union(select(JobNeedRow.job_key).join(blocked, blocked.c.key == JobNeedRow.needed_key))
    return connection.scalar(select(func.count()).select_from(blocked)) or 0


def _running_attempts(run_id: int) -> Select[str | None, str, datetime, str]:
    """The attempts that workers hold, in the order in which they were handed out."""
    return (
        select(AttemptRow.worker, AttemptRow.owner, AttemptRow.started_at, JobRow.kind)
        .join(JobRow, (AttemptRow.job_key == JobRow.key) & (AttemptRow.number == JobRow.attempt))
        .where(in_run(run_id), JobRow.state == JobState.LEASED, AttemptRow.worker.is_not(None))
        .where(JobRow.lease_expires_at >= utc_now())  # otherwise its driver is gone, and the worker with it
        .order_by(AttemptRow.started_at, JobRow.priority, JobRow.key)
    )


def _recent_outcomes(run_id: int, window_seconds: float) -> Select[str | None, str, str, int]:
    """How many attempts of each worker ended in the last seconds, by outcome."""
    return (
        select(
            AttemptRow.worker,
            func.max(AttemptRow.owner).label("owner"),
            AttemptRow.outcome,
            func.count().label("count"),
        )
        .join(JobRow, AttemptRow.job_key == JobRow.key)
        .where(in_run(run_id), AttemptRow.worker.is_not(None))
        .where(AttemptRow.ended_at >= utc_now(-window_seconds))
        .group_by(AttemptRow.worker, AttemptRow.outcome)
    )


def _done_attempts() -> _DoneAttempts:
    """The group, start and end of each attempt that was done."""
    group = (JobRow.kind, JobRow.model, JobRow.constraints)
    return (
        select(*group, AttemptRow.started_at, AttemptRow.ended_at)
        .join(AttemptRow, AttemptRow.job_key == JobRow.key)
        .where(AttemptRow.outcome == AttemptOutcome.DONE)
    )


def _latest_ends(connection: Connection, started: list[datetime]) -> dict[str, datetime]:
    """When each worker last ended a job, if that was after the first of these moments."""
    if not started:
        return {}
    statement = (
        select(AttemptRow.worker, func.max(AttemptRow.ended_at, type_=AttemptRow.ended_at.type))
        .where(AttemptRow.worker.is_not(None), AttemptRow.ended_at >= min(started))
        .group_by(AttemptRow.worker)
    )
    ends: dict[Any, Any] = {row[0]: row[1] for row in connection.execute(statement)}
    return ends


def _activity(
    worker: str, running: list[Any], ended: list[Any], latest_end: datetime | None
) -> WorkerActivity:
    counts = {row.outcome: row.count for row in ended}
    since = running[0].started_at if running else None
    if since is not None and latest_end is not None:
        # A worker does one job after another, so it began this one when the previous one ended.
        since = max(since, latest_end)
    return WorkerActivity(
        worker=worker,
        owner=(running or ended)[0].owner,
        kind=JobKind(running[0].kind) if running else None,
        since=since,
        behind=max(0, len(running) - 1),
        done=counts.get(AttemptOutcome.DONE, 0),
        failed=counts.get(AttemptOutcome.FAILED, 0) + counts.get(AttemptOutcome.LOST, 0),
    )


def _stored(row: Any) -> StoredJob:
    job_id, kind, spec, state, *rest = row
    return StoredJob(job_id, JobKind(kind), spec, JobState(state), *rest)
