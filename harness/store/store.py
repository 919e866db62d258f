"""The store: everything a sweep knows, and the queue of what is left to do.

The contract
------------
*Records.* What goes in and comes out are frozen records of plain values. Nothing of the database leaves the
store, so everything may be kept, compared and sent to other processes.

*Transactions.* A method is one transaction: when it returns, what it did is committed; when it raises,
nothing was done. `kill -9` at any moment counts as raising.

*Repeating.* What is there already is left as it is: adding a run, its jobs, prefixes or a resolution again
changes nothing. Resuming a sweep is doing the same again.

*Leases.* A job that was claimed is ours until its lease runs out by the database's clock; `renew` puts that
off. Each claim of a job has a new attempt number. Owner and number together prove that a lease is still ours.
Losing one is normal and no error: whoever claims takes back the leases that have run out, and what we bring
afterwards is dropped (`complete` gives False, `fail` None, `renew` leaves the lease out).

*Results.* The rows of a result and the job's step to `done` are one transaction, so a job is done exactly
when its result is there, whole, once.

*Errors.* A job that failed waits before it is tried again, twice as long each time, until its attempts are
used up; then it is set aside as `failed`, keeps its errors, and the jobs that need it are told as blocked.
`retry_failed` lets them wait again.

Several drivers may work on one store at once, in threads, processes or, with PostgreSQL, on many machines.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import select

from bat.errors import InvalidInputError
from harness.jobs import ROWS_TYPES, Job, JobKind
from harness.jobs.rows import PrefixRows, Rows
from harness.store import drivers, instances, plans, queue, results
from harness.store.addresses import Address, check_file, check_room, parse_address
from harness.store.engine import Database, connect
from harness.store.reader import Reader
from harness.store.records import Instance, JobState, Lease, Resolution, RetryPolicy
from harness.store.statements import in_run
from harness.store.tables import AttemptRow, JobRow
from harness.store.versions import check_version, find_version, upgrade


def open_store(address: Address, create: bool = True, retry: RetryPolicy | None = None) -> Store:
    """Open a database for a sweep, creating file and tables if there are none.

    Whatever would keep a sweep from writing there raises now, before any work: see harness.store.errors.
    """
    database = _connect(address, create=create, read_only=False)
    try:
        # A transaction for writing, so that a database that cannot be written to says so here.
        with database.writing() as connection:
            version = find_version(connection, database)
        if version is None and create:
            _, version = upgrade(database)
        check_version(version, database)
    except BaseException:
        database.close()
        raise
    return Store(database, retry or RetryPolicy())


def open_reader(address: Address) -> Reader:
    """Open a database for questions only; it must exist."""
    database = _connect(address, create=False, read_only=True)
    try:
        with database.reading() as connection:
            check_version(find_version(connection, database), database)
    except BaseException:
        database.close()
        raise
    return Reader(database)


def _connect(address: Address, *, create: bool, read_only: bool) -> Database:
    url = parse_address(address)
    if url.get_backend_name() == "sqlite":
        check_file(url, create=create)
        if not read_only:
            check_room(url)
    return connect(url, read_only=read_only)


class Store(Reader):
    """A store that is written to. What its methods promise stands at the head of this module."""

    def __init__(self, database: Database, retry: RetryPolicy) -> None:
        super().__init__(database)
        self.retry = retry

    # Plans

    def add_run(self, name: str, config: Mapping[str, Any], versions: Mapping[str, Any]) -> int:
        """The id of the run with this name and configuration; `versions` are those of libraries in use."""
        with self._database.writing() as connection:
            return plans.add_run(connection, name, config, versions)

    def add_jobs(self, run_id: int, jobs: Sequence[Job], order: int | Sequence[int] = 0) -> int:
        """Add jobs to a run, and return how many were not in the database before.

        `order` is one number for all or one for each; smaller comes first, then what was added first. Jobs
        that are needed must be there, or be among these.
        """
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            return plans.add_jobs(connection, run_id, jobs, order)

    def add_plan(
        self,
        run_id: int,
        jobs: Sequence[Job],
        stages: Sequence[int],
        plan: Sequence[Instance],
        resolutions: Sequence[Resolution] = (),
    ) -> int:
        """Add a plan in one transaction: jobs with their stages, what they are for, parameters resolved.

        Returns how many jobs were not in the database before. Instances replace those of the same name, so
        that a run always knows what its latest plan knew.
        """
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            count = plans.add_jobs(connection, run_id, jobs, stages)
            instances.replace(connection, run_id, plan)
            for resolution in resolutions:
                plans.add_resolution(connection, run_id, resolution)
            return count

    def replace_instances(self, run_id: int, plan: Sequence[Instance]) -> None:
        """Store what the jobs of a run are for, in the place of instances of the same names."""
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            instances.replace(connection, run_id, plan)

    def add_prefix_set(self, rows: PrefixRows) -> None:
        """Store a set of prefixes, which generate jobs refer to by its id."""
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            plans.add_prefix_set(connection, rows)

    def add_resolution(self, run_id: int, resolution: Resolution) -> None:
        """Store what a parameter was set to; another value for the same one is an error."""
        with self._database.writing() as connection:
            plans.lock_plans(connection)
            plans.add_resolution(connection, run_id, resolution)

    # Drivers

    def beat(self, owner: str, run_id: int, doing: str) -> None:
        """Let it be known that a driver is there, and what it does; leases tell so only while it has some."""
        with self._database.writing() as connection:
            drivers.beat(connection, owner, run_id, doing)

    def leave(self, owner: str) -> None:
        """Let it be known that a driver has ended."""
        with self._database.writing() as connection:
            drivers.leave(connection, owner)

    # The queue

    def claim(
        self,
        owner: str,
        limit: int,
        lease_seconds: float,
        run_id: int | None = None,
        prefer_model: str | None = None,
        workers: Sequence[str] = (),
    ) -> list[Lease]:
        """Lease up to `limit` jobs that are ready, in their order, those with this model first.

        Ready is a job that waits, whose needs are all done and whose wait after an error is over.
        `prefer_model` is the label of a model. `workers` says for each lease, in their order, who is going
        to do the job; it is only recorded.
        """
        _check_seconds(lease_seconds)
        if not owner:
            raise InvalidInputError("an owner must have a name; got an empty one.")
        if workers and len(workers) != limit:
            raise InvalidInputError(
                f"workers must be named for all {limit} leases or none; got {len(workers)}."
            )
        with self._database.writing() as connection:
            return queue.claim(
                connection, self.retry, owner, limit, lease_seconds, run_id, prefer_model, workers
            )

    def renew(self, leases: Sequence[Lease], lease_seconds: float) -> list[Lease]:
        """Put the end of leases off to `lease_seconds` from now; return those that are still ours."""
        _check_seconds(lease_seconds)
        with self._database.writing() as connection:
            return queue.renew(connection, leases, lease_seconds)

    def release(self, leases: Sequence[Lease]) -> int:
        """Give jobs back untried, which counts for nothing; return how many were still ours."""
        with self._database.writing() as connection:
            return queue.release(connection, leases)

    def complete(self, lease: Lease, result: Rows) -> bool:
        """Store a result and mark its job as done; False, and nothing is stored, if it is no longer ours."""
        return self.complete_many([(lease, result)])[0]

    def complete_many(self, completions: Sequence[tuple[Lease, Rows]]) -> list[bool]:
        """Complete several jobs in one transaction; tell of each whether it was still ours."""
        for lease, result in completions:
            expected = ROWS_TYPES[lease.kind]
            if not isinstance(result, expected):
                raise InvalidInputError(
                    f"the result of a {lease.kind} job is {expected.__name__}; got {type(result).__name__}."
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
            queue.finish(connection, stored)
        return kept

    def fail(
        self,
        lease: Lease,
        error: str,
        retry: bool = True,
        adjustment: Mapping[str, Any] | None = None,
    ) -> JobState | None:
        """Record an error; return where the job stands now, None if it was no longer ours.

        Without `retry` the job is set aside at once. `adjustment` is for the next attempt, which finds it in
        its lease; it stays with the job, and so with its result. An error that is answered with one counts
        for nothing: whoever adjusts comes to an end by himself.
        """
        with self._database.writing() as connection:
            return queue.fail(connection, self.retry, lease, error, retry=retry, adjustment=adjustment)

    def take_back(self, owner: str) -> int:
        """Take back all leases of an owner who is known to be dead, as if they had run out."""
        with self._database.writing() as connection:
            return queue.take_back_from(connection, self.retry, owner)

    def retry_failed(
        self,
        run_id: int | None = None,
        kind: JobKind | None = None,
        job_ids: Iterable[str] | None = None,
        error_contains: str | None = None,
    ) -> int:
        """Let jobs that were set aside wait again; those that fit all filters given. Return how many."""
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
