"""The store: the results of sweeps, and the queue of jobs.

The contract
------------
*Records.* Everything that goes in and comes out is a frozen record of plain values. No object of the database
leaves the store, so records can be kept, compared and sent to other processes.

*Transactions.* A method is one transaction: when it returns, its work is committed; when it raises, nothing
was changed. `kill -9` at any moment counts as raising.

*Repeating.* Adding a run, its jobs, prefixes or a resolution again changes nothing. Resuming a sweep is
repeating the same calls.

*Leases.* A claimed job is ours until its lease expires by the database's clock; `renew` extends it. Each
claim of a job has a new attempt number. Owner and number together prove that a lease is still ours. Losing a
lease is normal and not an error: `claim` takes back expired leases, and a late result is dropped (`complete`
returns False, `fail` returns None, `renew` leaves the lease out).

*Results.* The rows of a result and the job's change to `done` are one transaction, so a job is done exactly
when its whole result is stored, once.

*Errors.* After an error a job waits before its next attempt, twice as long each time. When its attempts are
used up it is `failed`: it keeps its errors, and the jobs that need it are blocked. `retry_failed` makes
failed jobs wait again.

Several drivers may use one store at once, in threads, processes or, with PostgreSQL, on many machines.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import select, update

from bat.errors import InvalidInputError
from harness.jobs import Job, JobKind, PrefixRows, Rows, rows_type_of
from harness.store import deletion, plans, queue, results, runs
from harness.store.addresses import Address, check_file, check_free_space, parse_address
from harness.store.engine import Database, connect
from harness.store.queue import Lease, RetryPolicy
from harness.store.reader import Reader
from harness.store.records import Instance, JobState, LocalInput, Resolution, Run
from harness.store.statements import add_rows, in_run
from harness.store.tables import AttemptRow, DriverRow, JobRow, utc_now
from harness.store.versions import check_version, find_version, upgrade


def open_store(address: Address, create: bool = True, retry: RetryPolicy | None = None) -> Store:
    """Open a database for a sweep, creating the file and the tables if they do not exist.

    Anything that would keep a sweep from writing raises now, before any work: see harness.store.errors.
    """
    return Store(open_for_writing(address, create=create), retry or RetryPolicy())


def open_for_writing(address: Address, *, create: bool, durable: bool = False) -> Database:
    """A database whose tables have the version of this code."""
    database = _connect(address, create=create, read_only=False, durable=durable)
    try:
        # A write transaction, so that a database that is not writable raises here.
        with database.writing() as connection:
            version = find_version(connection, database)
        if version is None and create:
            _, version = upgrade(database)
        check_version(version, database)
    except BaseException:
        database.close()
        raise
    return database


def open_reader(address: Address) -> Reader:
    """Open an existing database for reading only."""
    database = _connect(address, create=False, read_only=True)
    try:
        with database.reading() as connection:
            check_version(find_version(connection, database), database)
    except BaseException:
        database.close()
        raise
    return Reader(database)


def _connect(address: Address, *, create: bool, read_only: bool, durable: bool = False) -> Database:
    url = parse_address(address)
    if url.get_backend_name() == "sqlite":
        check_file(url, create=create)
        if not read_only:
            check_free_space(url)
    return connect(url, read_only=read_only, durable=durable)


class Store(Reader):
    """A store opened for writing. The docstring of this module is its contract."""

    def __init__(self, database: Database, retry: RetryPolicy) -> None:
        super().__init__(database)
        self.retry = retry

    # Plans

    def add_run(
        self,
        name: str,
        config: Mapping[str, Any],
        versions: Mapping[str, Any],
        inputs: Sequence[LocalInput] = (),
    ) -> int:
        """Add a run unless it exists, and return its id.

        `versions` are those of the libraries in use, `inputs` the local files that the sweep reads.
        """
        with self._database.writing() as connection:
            return runs.add(connection, name, config, versions, inputs)

    def record_inputs(self, run_id: int, inputs: Sequence[LocalInput]) -> None:
        """Store the local files of a run, as they were seen last."""
        with self._database.writing() as connection:
            runs.record_inputs(connection, run_id, inputs)

    def touch_run(self, run_id: int) -> None:
        """Make a run the latest one."""
        with self._database.writing() as connection:
            runs.touch(connection, run_id)

    def forget_empty_run(self, run_id: int) -> None:
        """Remove a run for which nothing was planned; one with a plan stays."""
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            runs.forget_empty(connection, run_id)

    def rename_run(self, run: Run, name: str) -> None:
        """Give a run another name. An error if a run of that name has the same configuration and files."""
        with self._database.writing() as connection:
            runs.rename(connection, run, name)

    def add_tags(self, run_id: int, tags: Iterable[str]) -> None:
        """Add tags to a run; those it has stay."""
        with self._database.writing() as connection:
            runs.add_tags(connection, run_id, tags)

    def remove_tags(self, run_id: int, tags: Iterable[str]) -> None:
        """Remove tags from a run."""
        with self._database.writing() as connection:
            runs.remove_tags(connection, run_id, tags)

    def delete_jobs_of(self, run_id: int) -> int:
        """Delete some of the jobs that only this run uses, and return how many; 0 when none are left."""
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            return deletion.delete_some_jobs(connection, run_id)

    def delete_run(self, run_id: int) -> None:
        """Delete a run, once its own jobs are deleted."""
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            deletion.delete_run(connection, run_id)

    def add_jobs(self, run_id: int, jobs: Iterable[Job], order: int | Sequence[int] = 0) -> int:
        """Add jobs to a run, and return how many are new to the database.

        `order` is one number for all jobs or one for each: smaller numbers run first, equal numbers in the
        order of adding. Every job that is needed must be stored already, or be among these.
        """
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            return plans.add_jobs(connection, run_id, jobs, order)

    def add_plan(
        self,
        run_id: int,
        jobs: Iterable[Job],
        stages: Sequence[int],
        plan: Sequence[Instance],
        resolutions: Sequence[Resolution] = (),
    ) -> int:
        """Add a plan in one transaction: jobs with their stages, instances, resolved parameters.

        Returns how many jobs are new to the database. Instances replace those with the same name, so a run
        always has the instances of its latest plan.
        """
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            count = plans.add_jobs(connection, run_id, jobs, stages)
            plans.replace_instances(connection, run_id, plan)
            for resolution in resolutions:
                plans.add_resolution(connection, run_id, resolution)
            return count

    def replace_instances(self, run_id: int, plan: Sequence[Instance]) -> None:
        """Store instances of a run, replacing those with the same names."""
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            plans.replace_instances(connection, run_id, plan)

    def add_prefix_set(self, rows: PrefixRows) -> None:
        """Store a set of prefixes, which generate jobs refer to by its id."""
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            plans.add_prefix_set(connection, rows)

    def add_resolution(self, run_id: int, resolution: Resolution) -> None:
        """Store the value of a resolved parameter. A second, different value is an error."""
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            plans.add_resolution(connection, run_id, resolution)

    # Drivers

    def beat(self, owner: str, run_id: int, doing: str) -> None:
        """Record that a driver is alive and what it is doing, also while it holds no lease."""
        with self._database.writing() as connection:
            add_rows(connection, DriverRow, [{"owner": owner, "run_id": run_id, "doing": doing}])
            own = update(DriverRow).where(DriverRow.owner == owner)
            connection.execute(own.values(doing=doing, seen_at=utc_now()))

    def leave(self, owner: str) -> None:
        """Record that a driver has ended."""
        present = (DriverRow.owner == owner, DriverRow.ended_at.is_(None))
        with self._database.writing() as connection:
            connection.execute(update(DriverRow).where(*present).values(ended_at=utc_now()))

    # The queue

    def claim(
        self,
        owner: str,
        limit: int,
        lease_seconds: float,
        run_id: int | None = None,
        prefer_model: str | None = None,
        workers: Sequence[str] = (),
        queued: Sequence[bool] = (),
    ) -> list[Lease]:
        """Lease up to `limit` jobs that are ready, in their order, jobs of the preferred model first.

        A job is ready when it is waiting, all jobs it needs are done, and its wait after an error is over.
        `prefer_model` is the label of a model. `workers` names, for each lease in order, the worker that will
        do the job; it is only recorded. `queued` says, for each, whether the worker has another job to finish
        first; `begin` then says when its turn has come. By default no job is queued.
        """
        _check_seconds(lease_seconds)
        if not owner:
            raise InvalidInputError("the owner of leases must have a name; got an empty string.")
        for name, given in (("workers", workers), ("queued", queued)):
            if given and len(given) != limit:
                raise InvalidInputError(
                    f"{name} must have one entry for each of {limit} leases, or none; got {len(given)}."
                )
        with self._database.writing() as connection:
            return queue.claim(
                connection, self.retry, owner, limit, lease_seconds, run_id, prefer_model, workers, queued
            )

    def begin(self, leases: Sequence[Lease]) -> None:
        """Record that workers have begun jobs that were queued behind others."""
        with self._database.writing() as connection:
            queue.begin(connection, leases)

    def renew(self, leases: Sequence[Lease], lease_seconds: float) -> list[Lease]:
        """Extend leases to `lease_seconds` from now, and return those that are still ours."""
        _check_seconds(lease_seconds)
        with self._database.writing() as connection:
            return queue.renew(connection, leases, lease_seconds)

    def release(self, leases: Sequence[Lease]) -> int:
        """Give jobs back untried, without counting an attempt. Return how many were still ours."""
        with self._database.writing() as connection:
            return queue.release(connection, leases)

    def release_others(self, owner: str, leases: Sequence[Lease]) -> int:
        """Give back the jobs of an owner that are not among these leases: it does not know that it has them,
        because the connection broke while it claimed them."""
        with self._database.writing() as connection:
            return queue.release_others(connection, owner, leases)

    def complete(self, lease: Lease, result: Rows) -> bool:
        """Store a result and mark its job as done. If the lease is not ours any more, return False only."""
        return self.complete_many([(lease, result)])[0]

    def complete_many(
        self,
        completions: Sequence[tuple[Lease, Rows]],
        time_use: Mapping[int, Mapping[str, Any]] | None = None,
        begun: Sequence[Lease] = (),
    ) -> list[bool]:
        """Complete several jobs in one transaction. Return, for each, whether its lease was still ours.

        `time_use` is what workers spent their time on, by the keys of jobs. It is no part of a result.
        `begun` are the jobs that their workers have begun instead; see `begin`.
        """
        for lease, result in completions:
            expected = rows_type_of(lease.kind)
            if not isinstance(result, expected):
                raise InvalidInputError(
                    f"the result of a {lease.kind} job must be {expected.__name__}; got "
                    f"{type(result).__name__}."
                )
        with self._database.writing() as connection:
            ours = queue.lock_ours(connection, [lease for lease, _ in completions])
            attempts = {(lease.job_key, lease.attempt) for lease in ours}
            kept = [(lease.job_key, lease.attempt) in attempts for lease, _ in completions]
            stored = {
                lease.job_key: result
                for (lease, result), is_ours in zip(completions, kept, strict=True)
                if is_ours
            }
            results.write(connection, stored)
            queue.finish(connection, stored, time_use)
            queue.begin(connection, begun)
        return kept

    def fail(
        self,
        lease: Lease,
        error: str,
        retry: bool = True,
        adjustment: Mapping[str, Any] | None = None,
    ) -> JobState | None:
        """Record an error. Return the new state of the job, or None if its lease was not ours any more.

        Without `retry` the job fails at once. `adjustment` is passed to the next attempt in its lease; it
        stays with the job, and so with its result. An error with an adjustment does not count towards the
        limit: the caller limits how often it adjusts.
        """
        with self._database.writing() as connection:
            return queue.fail(connection, self.retry, lease, error, retry=retry, adjustment=adjustment)

    def take_back(self, owner: str) -> int:
        """Take back all leases of an owner that is known to be dead, as if they had expired."""
        with self._database.writing() as connection:
            return queue.take_back_from(connection, self.retry, owner)

    def retry_lost(self, run_id: int) -> int:
        """Make jobs of a run wait again that failed by losses alone, and return how many."""
        with self._database.writing() as connection:
            return queue.retry_lost(connection, run_id)

    def retry_failed(
        self,
        run_id: int | None = None,
        kind: JobKind | None = None,
        job_ids: Iterable[str] | None = None,
        error_contains: str | None = None,
    ) -> int:
        """Make failed jobs that match all filters wait again, and return how many."""
        conditions: list[Any] = [in_run(run_id)]
        if kind is not None:
            conditions.append(JobRow.kind == kind)
        if job_ids is not None:
            conditions.append(JobRow.id.in_(list(job_ids)))
        if error_contains is not None:
            latest = select(1).where(
                AttemptRow.job_key == JobRow.key,
                AttemptRow.number == JobRow.attempt,
                AttemptRow.error.contains(error_contains, autoescape=True),
            )
            conditions.append(latest.exists())
        with self._database.writing() as connection:
            return queue.reset_failed(connection, conditions)


def _check_seconds(lease_seconds: float) -> None:
    if not 0 < lease_seconds < math.inf:
        raise InvalidInputError(f"lease_seconds must be positive and finite; got {lease_seconds}.")
