"""How a run is getting on: counts, rates, owners, workers, failures, and what failures hold up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import CTE, Connection, func, select
from sqlalchemy.orm import aliased

from harness.jobs import JobKind
from harness.store.records import (
    AttemptOutcome,
    FailedJob,
    JobState,
    LeaseOwner,
    Progress,
    Rate,
    StoredJob,
    WorkerActivity,
)
from harness.store.statements import batches, in_run
from harness.store.tables import AttemptRow, JobNeedRow, JobRow, utc_now


def count_states(connection: Connection, run_id: int) -> list[Progress]:
    """The jobs of a run by kind and state, kinds in the order they are worked through."""
    counted: dict[str, dict[str, int]] = {}
    statement = select(JobRow.kind, JobRow.state, func.count()).where(in_run(run_id))
    for kind, state, count in connection.execute(statement.group_by(JobRow.kind, JobRow.state)):
        counted.setdefault(kind, {})[state] = count
    blocked = _blocked()
    held_up = select(JobRow.kind, func.count()).where(
        in_run(run_id), JobRow.state == JobState.WAITING, JobRow.key.in_(select(blocked.c.key))
    )
    stuck = {row[0]: row[1] for row in connection.execute(held_up.group_by(JobRow.kind))}
    return [
        Progress(
            kind=kind,
            blocked=stuck.get(kind, 0),
            **{state.value: counted[kind].get(state, 0) for state in JobState},
        )
        for kind in JobKind
        if kind in counted
    ]


def _blocked() -> CTE:
    """Keys of all jobs that need a job set aside, directly or through others."""
    failed = select(JobNeedRow.job_key.label("key")).join(JobRow, JobRow.key == JobNeedRow.needed_key)
    blocked = failed.where(JobRow.state == JobState.FAILED).cte("blocked", recursive=True)
    return blocked.union(select(JobNeedRow.job_key).join(blocked, blocked.c.key == JobNeedRow.needed_key))


def find_blocked(connection: Connection, run_id: int) -> list[str]:
    """Ids of the jobs of a run that wait for a job set aside, in their order."""
    blocked = _blocked()
    statement = (
        select(JobRow.id)
        .where(in_run(run_id), JobRow.state == JobState.WAITING, JobRow.key.in_(select(blocked.c.key)))
        .order_by(JobRow.priority, JobRow.key)
    )
    return list(connection.scalars(statement))


def find_failed(connection: Connection, run_id: int | None) -> list[FailedJob]:
    """The jobs that were set aside, in their order, with the error of the latest attempt."""
    statement = (
        select(
            *(JobRow.key, JobRow.id, JobRow.kind, JobRow.spec, JobRow.attempt, JobRow.failures),
            *(JobRow.losses, AttemptRow.owner, AttemptRow.error),
        )
        .outerjoin(AttemptRow, (AttemptRow.job_key == JobRow.key) & (AttemptRow.number == JobRow.attempt))
        .where(in_run(run_id), JobRow.state == JobState.FAILED)
        .order_by(JobRow.priority, JobRow.key)
    )
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
            blocks=_count_held_up_by(connection, row.key),
        )
        for row in connection.execute(statement).all()
    ]


def _count_held_up_by(connection: Connection, key: int) -> int:
    held = select(JobNeedRow.job_key.label("key")).where(JobNeedRow.needed_key == key)
    tree = held.cte("held_up", recursive=True)
    tree = tree.union(select(JobNeedRow.job_key).join(tree, tree.c.key == JobNeedRow.needed_key))
    return connection.scalar(select(func.count()).select_from(tree)) or 0


def measure_rates(connection: Connection, run_id: int, window_seconds: float) -> list[Rate]:
    """What was done in the last seconds, by the database's clock."""
    statement = (
        select(JobRow.kind, AttemptRow.started_at, AttemptRow.ended_at)
        .join(AttemptRow, AttemptRow.job_key == JobRow.key)
        .where(in_run(run_id), AttemptRow.outcome == AttemptOutcome.DONE)
        .where(AttemptRow.ended_at >= utc_now(-window_seconds))
    )
    taken: dict[str, list[float]] = {}
    for kind, started, ended in connection.execute(statement):
        assert ended is not None  # what is done has ended
        taken.setdefault(kind, []).append((ended - started).total_seconds())
    return [
        Rate(kind, len(taken[kind]), len(taken[kind]) / window_seconds, sum(taken[kind]) / len(taken[kind]))
        for kind in JobKind
        if kind in taken
    ]


def list_owners(connection: Connection, run_id: int | None) -> list[LeaseOwner]:
    """Who holds leases."""
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
    rows: list[Any] = list(connection.execute(statement))  # leased jobs have an owner and an expiry
    owners = [LeaseOwner(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]
    return sorted(owners, key=lambda entry: entry.owner)


def list_workers(connection: Connection, run_id: int, window_seconds: float) -> list[WorkerActivity]:
    """Those who hold a job or ended one in the last seconds, by name."""
    at_work: dict[str, list[Any]] = {}
    open_attempts = (
        select(AttemptRow.worker, AttemptRow.owner, AttemptRow.started_at, JobRow.kind)
        .join(JobRow, (AttemptRow.job_key == JobRow.key) & (AttemptRow.number == JobRow.attempt))
        .where(in_run(run_id), JobRow.state == JobState.LEASED, AttemptRow.worker.is_not(None))
        .where(JobRow.lease_expires_at >= utc_now())  # or its driver is gone, and the worker with it
        .order_by(AttemptRow.started_at, JobRow.priority, JobRow.key)  # as they were handed out
    )
    for attempt in connection.execute(open_attempts):
        at_work.setdefault(attempt.worker or "", []).append(attempt)
    ended: dict[str, list[Any]] = {}
    recent = (
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
    for counted in connection.execute(recent):
        ended.setdefault(counted.worker or "", []).append(counted)
    latest = _latest_ends(connection, [attempts[0].started_at for attempts in at_work.values()])
    return [
        _activity(name, at_work.get(name, []), ended.get(name, []), latest.get(name))
        for name in sorted({*at_work, *ended})
    ]


def _latest_ends(connection: Connection, started: list[datetime]) -> dict[str, datetime]:
    """When each worker last ended a job, if that was after the first of these moments."""
    if not started:
        return {}
    statement = (
        select(AttemptRow.worker, func.max(AttemptRow.ended_at, type_=AttemptRow.ended_at.type))
        .where(AttemptRow.worker.is_not(None), AttemptRow.ended_at >= min(started))
        .group_by(AttemptRow.worker)
    )
    found: dict[Any, Any] = {row[0]: row[1] for row in connection.execute(statement)}
    return found


def _activity(
    worker: str, at_work: list[Any], ended: list[Any], latest_end: datetime | None
) -> WorkerActivity:
    counts = {row.outcome: row.count for row in ended}
    since = at_work[0].started_at if at_work else None
    if since is not None and latest_end is not None:
        # It does one job after another, so it came to this one when it had ended the one before.
        since = max(since, latest_end)
    return WorkerActivity(
        worker=worker,
        owner=(at_work or ended)[0].owner,
        kind=JobKind(at_work[0].kind) if at_work else None,
        since=since,
        behind=max(0, len(at_work) - 1),
        done=counts.get(AttemptOutcome.DONE, 0),
        failed=counts.get(AttemptOutcome.FAILED, 0) + counts.get(AttemptOutcome.LOST, 0),
    )


_STORED = (
    *(JobRow.id, JobRow.kind, JobRow.spec, JobRow.state, JobRow.attempt, JobRow.failures, JobRow.losses),
    *(JobRow.owner, JobRow.adjustment, JobRow.finished_at),
)


def find_jobs(connection: Connection, job_ids: Iterable[str]) -> dict[str, StoredJob]:
    """The jobs that are there, by id."""
    found: dict[str, StoredJob] = {}
    for batch in batches(dict.fromkeys(job_ids)):
        for row in connection.execute(select(*_STORED).where(JobRow.id.in_(batch))):
            found[row.id] = _stored(row)
    return found


def find_needs(connection: Connection, job_ids: Iterable[str]) -> set[str]:
    """Ids of the jobs whose results these jobs read."""
    needing, needed = aliased(JobRow), aliased(JobRow)
    found: set[str] = set()
    for batch in batches(dict.fromkeys(job_ids)):
        statement = (
            select(needed.id)
            .join(JobNeedRow, JobNeedRow.needed_key == needed.key)
            .join(needing, needing.key == JobNeedRow.job_key)
            .where(needing.id.in_(batch))
        )
        found.update(connection.scalars(statement))
    return found


def iterate_jobs(
    connection: Connection, run_id: int, kind: JobKind | None, state: JobState | None
) -> Iterator[StoredJob]:
    """The jobs of a run in their order, a few hundred of them in memory at a time."""
    statement = select(*_STORED).where(in_run(run_id)).order_by(JobRow.priority, JobRow.key)
    if kind is not None:
        statement = statement.where(JobRow.kind == kind)
    if state is not None:
        statement = statement.where(JobRow.state == state)
    yield from map(_stored, connection.execute(statement.execution_options(yield_per=500)))


def _stored(row: Any) -> StoredJob:
    job_id, kind, spec, state, *rest = row
    return StoredJob(job_id, JobKind(kind), spec, JobState(state), *rest)
