"""The queue: claiming, renewing and ending leases. Each function runs inside the caller's transaction.

    waiting -> leased -> done
       ^          |----> failed      when all attempts are used up, or a retry cannot help
       '----------'                  after an error, when the lease expires, or when it is released

Every transaction that changes jobs locks their rows first, in the order of keys, so no two transactions
deadlock; on SQLite there is one writer anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, null, or_, select, update
from sqlalchemy.orm import aliased

from bat.errors import InvalidInputError
from harness.jobs import JobKind, JobSpec, SpecJson, parse_job, storable
from harness.store.records import AttemptOutcome, JobState
from harness.store.statements import add_rows, batches, by_key_only, in_run
from harness.store.tables import AttemptRow, JobNeedRow, JobRow, utc_now

_NOBODY: dict[str, Any] = {"owner": null(), "lease_expires_at": null()}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a job is tried, and how long it waits after an error.

    Lost leases are counted separately, and more of them are allowed: a driver that is killed repeatedly says
    nothing about its jobs, but a job that kills its workers must not be retried for ever. A job that no
    worker had begun is innocent, and its loss counts for nothing.
    """

    max_failures: int = 3
    max_losses: int = 10
    first_wait_seconds: float = 2.0  # doubled after each further error
    longest_wait_seconds: float = 300.0

    def __post_init__(self) -> None:
        for name in ("max_failures", "max_losses"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"{name} must be at least 1; got {getattr(self, name)}.")
        for name in ("first_wait_seconds", "longest_wait_seconds"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InvalidInputError(f"{name} must be finite and at least 0; got {getattr(self, name)}.")

    def wait_seconds(self, failures: int) -> float:
        """How long a job waits after this many errors."""
        doublings = min(max(failures, 1) - 1, 60)  # beyond it, any wait is the longest
        return min(self.first_wait_seconds * 2.0**doublings, self.longest_wait_seconds)


@dataclass(frozen=True, slots=True)
class Lease:
    """A job that is ours until `expires_at`, by the database's clock. `attempt` is the fencing token."""

    job_id: str
    job_key: int
    kind: JobKind
    spec: SpecJson
    attempt: int
    owner: str
    expires_at: datetime
    failures: int  # errors before this attempt
    adjustment: Mapping[str, Any] | None  # what to do differently from the plan, such as smaller batches

    def parse(self) -> JobSpec[Any]:
        """The typed specification of the job."""
        return parse_job(self.kind, self.spec)


def claim(
    connection: Connection,
    policy: RetryPolicy,
    owner: str,
    limit: int,
    lease_seconds: float,
    run_id: int | None,
    model: str | None,
    workers: Sequence[str | None],
    queued: Sequence[bool],
) -> list[Lease]:
    """Lease jobs that are ready: those of the preferred model first, then in their order."""
    take_back_expired(connection, policy)
    keys: list[int] = []
    if model is not None:
        keys = _find_ready(connection, limit, run_id, JobRow.model == model)
        keys += _find_ready(connection, limit - len(keys), run_id, JobRow.model.is_distinct_from(model))
    else:
        keys = _find_ready(connection, limit, run_id)
    taken: dict[int, Lease] = {}
    for batch in batches(keys):
        statement = (
            update(JobRow)
            .where(JobRow.key.in_(batch), by_key_only(JobRow.state) == JobState.WAITING)
            .values(
                state=JobState.LEASED.value,
                owner=owner,
                attempt=JobRow.attempt + 1,
                lease_expires_at=utc_now(lease_seconds),
                not_before=null(),
            )
            .returning(
                JobRow.id,
                JobRow.key,
                JobRow.kind,
                JobRow.spec,
                JobRow.attempt,
                JobRow.owner,
                JobRow.lease_expires_at,
                JobRow.failures,
                JobRow.adjustment,
            )
        )
        for row in connection.execute(statement):
            taken[row.key] = Lease(row.id, row.key, JobKind(row.kind), *row[3:])
    leases = [taken[key] for key in keys if key in taken]
    attempts = [
        {
            "job_key": lease.job_key,
            "number": lease.attempt,
            "owner": owner,
            "worker": worker,
            "begun": not waits,
        }
        for lease, worker, waits in zip(
            leases, workers or [None] * limit, queued or [False] * limit, strict=False
        )
    ]
    add_rows(connection, AttemptRow, attempts)
    return leases


def _find_ready(connection: Connection, limit: int, run_id: int | None, *conditions: Any) -> list[int]:
    """Keys of jobs that can start now, locked if the database locks rows; locked rows are left out."""
    if limit <= 0:
        return []
    needed = aliased(JobRow)
    missing = (
        select(1)
        .select_from(JobNeedRow)
        .join(needed, needed.key == JobNeedRow.needed_key)
        .where(JobNeedRow.job_key == JobRow.key, needed.state != JobState.DONE)
    )
    statement = (
        select(JobRow.key)
        .where(
            JobRow.state == JobState.WAITING,
            or_(JobRow.not_before.is_(None), JobRow.not_before <= utc_now()),
            ~missing.exists(),
            in_run(run_id),
            *conditions,
        )
        .order_by(JobRow.priority, JobRow.key)
        .limit(limit)
        # Other transactions may still insert rows that refer to these.
        .with_for_update(skip_locked=True, key_share=True, of=JobRow)
    )
    return list(connection.scalars(statement))


def lock_ours(connection: Connection, leases: Iterable[Lease]) -> list[Lease]:
    """The leases that are still ours, by owner and attempt; their rows stay locked in this transaction.

    An expired lease that nobody else has claimed counts as ours: no other attempt has begun.
    """
    by_claim: dict[tuple[Any, ...], Lease]
    by_claim = {(lease.job_key, lease.attempt, lease.owner): lease for lease in leases}
    ours: list[Lease] = []
    for batch in batches(sorted({lease.job_key for lease in by_claim.values()})):
        rows = connection.execute(
            select(JobRow.key, JobRow.attempt, JobRow.owner)
            .where(JobRow.key.in_(batch), by_key_only(JobRow.state) == JobState.LEASED)
            .order_by(JobRow.key)
            .with_for_update(key_share=True)
        )
        ours += [by_claim[tuple(row)] for row in rows if tuple(row) in by_claim]
    return ours


def renew(connection: Connection, leases: Sequence[Lease], lease_seconds: float) -> list[Lease]:
    """Extend leases; return those that are still ours."""
    ours = {lease.job_key: lease for lease in lock_ours(connection, leases)}
    renewed: list[Lease] = []
    for batch in batches(ours):
        statement = (
            update(JobRow)
            .where(JobRow.key.in_(batch))
            .values(lease_expires_at=utc_now(lease_seconds))
            .returning(JobRow.key, JobRow.lease_expires_at)
        )
        ends: dict[int, Any] = {row.key: row.lease_expires_at for row in connection.execute(statement)}
        renewed += [replace(ours[key], expires_at=ends[key]) for key in batch]
    return renewed


def begin(connection: Connection, leases: Sequence[Lease]) -> None:
    """Record that workers have begun jobs that had waited behind others."""
    for lease in leases:
        own = (AttemptRow.job_key == lease.job_key, AttemptRow.number == lease.attempt)
        connection.execute(update(AttemptRow).where(*own).values(begun=True))


def release(connection: Connection, leases: Sequence[Lease]) -> int:
    """Give jobs back as if they had never been claimed; return how many were still ours."""
    return _give_back(connection, {lease.job_key for lease in lock_ours(connection, leases)})


def release_others(connection: Connection, owner: str, leases: Sequence[Lease]) -> int:
    """Give back the jobs of an owner that are not among its leases; return how many."""
    statement = select(JobRow.key).where(JobRow.state == JobState.LEASED, JobRow.owner == owner)
    held = set(connection.scalars(statement.order_by(JobRow.key).with_for_update(key_share=True)))
    return _give_back(connection, held - {lease.job_key for lease in leases})


def _give_back(connection: Connection, keys: Collection[int]) -> int:
    _set(connection, keys, state=JobState.WAITING.value, **_NOBODY)
    _end_attempts(connection, keys, AttemptOutcome.RELEASED)
    return len(keys)


def finish(
    connection: Connection, keys: Iterable[int], time_use: Mapping[int, Mapping[str, Any]] | None = None
) -> None:
    """Mark jobs as done whose leases `lock_ours` returned; `time_use` is by key, for jobs that have one."""
    held = set(keys)
    known = [{"of_job": key, "use": dict(use)} for key, use in (time_use or {}).items() if key in held]
    if known:
        statement = update(AttemptRow).where(
            AttemptRow.job_key == bindparam("of_job"), AttemptRow.outcome == AttemptOutcome.RUNNING
        )
        connection.execute(statement.values(time_use=bindparam("use")), known)
    _set(connection, held, state=JobState.DONE.value, finished_at=utc_now(), **_NOBODY)
    _end_attempts(connection, held, AttemptOutcome.DONE)


def fail(
    connection: Connection,
    policy: RetryPolicy,
    lease: Lease,
    error: str,
    *,
    retry: bool,
    adjustment: Mapping[str, Any] | None,
) -> JobState | None:
    """Record an error: the job waits for another attempt or fails. None if the lease is not ours any more."""
    if not lock_ours(connection, [lease]):
        return None
    # With an adjustment, the next attempt differs, so this one does not count.
    failures = lease.failures + (adjustment is None)
    again = retry and failures < policy.max_failures
    state = JobState.WAITING if again else JobState.FAILED
    changes: dict[str, Any] = {"state": state.value, "failures": failures, **_NOBODY}
    changes |= {"not_before": utc_now(policy.wait_seconds(failures))} if again else {"finished_at": utc_now()}
    if adjustment is not None:
        changes["adjustment"] = dict(adjustment)
    _set(connection, [lease.job_key], **changes)
    _end_attempts(connection, [lease.job_key], AttemptOutcome.FAILED, error)
    return state


def take_back_expired(connection: Connection, policy: RetryPolicy) -> int:
    """Take back expired leases, except locked ones, which are being completed or renewed."""
    expired = JobRow.lease_expires_at < utc_now()
    return _take_back(connection, policy, expired, "the lease ran out", skip_locked=True)


def take_back_from(connection: Connection, policy: RetryPolicy, owner: str) -> int:
    """Take back the leases of an owner that is known to be dead."""
    theirs = JobRow.owner == owner
    return _take_back(connection, policy, theirs, "the owner of the lease is gone", skip_locked=False)


def _take_back(
    connection: Connection, policy: RetryPolicy, condition: Any, reason: str, *, skip_locked: bool
) -> int:
    statement = (
        select(JobRow.key)
        .where(JobRow.state == JobState.LEASED, condition)
        .order_by(JobRow.key)
        .with_for_update(skip_locked=skip_locked, key_share=True)
    )
    keys = set(connection.scalars(statement))
    begun = select(1).where(
        AttemptRow.job_key == JobRow.key,
        AttemptRow.number == JobRow.attempt,
        AttemptRow.begun.is_(True),
    )
    losses = JobRow.losses + case((begun.exists(), 1), else_=0)
    used_up = and_(begun.exists(), losses >= policy.max_losses)
    _set(
        connection,
        keys,
        state=case((used_up, JobState.FAILED.value), else_=JobState.WAITING.value),
        finished_at=case((used_up, utc_now()), else_=null()),
        losses=losses,
        **_NOBODY,
    )
    _end_attempts(connection, keys, AttemptOutcome.LOST, reason)
    return len(keys)


def reset_failed(connection: Connection, conditions: Sequence[Any]) -> int:
    """Make failed jobs wait again, with no attempts counted."""
    statement = select(JobRow.key).where(and_(JobRow.state == JobState.FAILED, *conditions))
    keys = set(connection.scalars(statement.order_by(JobRow.key).with_for_update(key_share=True)))
    fresh = {"state": JobState.WAITING.value, "failures": 0, "losses": 0}
    _set(connection, keys, **fresh, not_before=null(), finished_at=null())
    return len(keys)


def retry_lost(connection: Connection, run_id: int) -> int:
    """Make jobs of a run wait again that failed because their leases were lost, not by errors."""
    latest = select(1).where(
        AttemptRow.job_key == JobRow.key,
        AttemptRow.number == JobRow.attempt,
        AttemptRow.outcome == AttemptOutcome.LOST,
    )
    statement = select(JobRow.key).where(JobRow.state == JobState.FAILED, latest.exists(), in_run(run_id))
    keys = set(connection.scalars(statement.order_by(JobRow.key).with_for_update(key_share=True)))
    _set(connection, keys, state=JobState.WAITING.value, losses=0, finished_at=null())
    return len(keys)


def _set(connection: Connection, keys: Iterable[int], **values: Any) -> None:
    for batch in batches(sorted(keys)):
        connection.execute(update(JobRow).where(JobRow.key.in_(batch)).values(**values))


def _end_attempts(
    connection: Connection, keys: Iterable[int], outcome: AttemptOutcome, error: str | None = None
) -> None:
    for batch in batches(sorted(keys)):
        connection.execute(
            update(AttemptRow)
            .where(AttemptRow.job_key.in_(batch), AttemptRow.outcome == AttemptOutcome.RUNNING)
            .values(
                outcome=outcome.value,
                ended_at=utc_now(),
                error=None if error is None else storable(error),
            )
        )
