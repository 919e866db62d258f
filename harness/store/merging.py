"""Bringing the results of one database into another, on either backend.

The source is read from one snapshot, a few jobs at a time. Each step is a transaction of the target: a set of
prefixes, a few jobs with their results, a run with all that belongs to it. Everything is found again by what
identifies it (a job by its id, a run by its identity), so after a kill the same call completes the merge, and
one more changes nothing. Runs come last and whole: a run that is there is there with all its jobs.

A result of the target is never changed. Where both have a result for a job and they differ, the target's
stays, and the job is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, func, select, update
from sqlalchemy.orm import aliased

from harness.jobs import JobKind
from harness.store import merging_runs, merging_studies
from harness.store.engine import Database
from harness.store.hashing import result_hash
from harness.store.plans import lock_plans
from harness.store.reader import Reader
from harness.store.records import AttemptOutcome, JobState
from harness.store.results import RESULT_TABLES
from harness.store.statements import add_rows, find_keys
from harness.store.store import Store
from harness.store.tables import AttemptRow, JobNeedRow, JobRow, PrefixRow, PrefixSetRow, RunRow, StudyRow

# Called with the title and the size of each step; returns a function to call with the amount done.
StepProgress = Callable[[str, int], Callable[[int], None]]

_JOBS = 16  # in a transaction: the texts of one have some megabytes of traces
_PREFIXES = 500  # in a statement


@dataclass
class MergeCounts:
    """What a merge brought into the target, and what it left."""

    runs: int = 0  # new in the target
    joined: int = 0  # that were there, and got what they lacked
    jobs: int = 0  # new in the target
    results: int = 0  # of jobs that were not done in the target
    present: int = 0  # jobs that were done in both, with equal results
    leased: int = 0  # jobs that a driver of the target is working on, left to it
    studies: int = 0  # of human evaluation, new in the target
    answers: int = 0  # of judges, new in the target
    differing: list[str] = field(default_factory=list)  # ids of jobs whose results differ
    unequal_parameters: list[str] = field(default_factory=list)  # that were resolved to other values


def merge(source: Reader, target: Store, progress: StepProgress) -> MergeCounts:
    """Bring everything of the source into the target."""
    with source._database.reading() as snapshot:
        return _Merge(snapshot, target._database).run(progress)


class _Merge:
    def __init__(self, source: Connection, target: Database) -> None:
        self.source, self.target = source, target
        self.counts = MergeCounts()
        self.prefix_set_keys: dict[int, int] = {}  # of the source -> of the target
        self.later_needs: list[tuple[str, str]] = []  # of jobs that were stored before what they need

    def run(self, progress: StepProgress) -> MergeCounts:
        sets = self.source.execute(select(PrefixSetRow.__table__).order_by(PrefixSetRow.key)).all()
        step = progress("Prefixes", len(sets))
        for number, row in enumerate(sets, start=1):
            self._add_prefix_set(row)
            step(number)
        step = progress("Jobs", self.source.scalar(select(func.count()).select_from(JobRow)) or 0)
        done = 0
        for page in self._pages():
            with self.target.writing() as connection:
                lock_plans(connection)
                self._add_jobs(connection, page)
            done += len(page)
            step(done)
        with self.target.writing() as connection:
            self._add_needs(connection, self.later_needs)
        runs = self.source.execute(select(RunRow.__table__).order_by(RunRow.id)).all()
        step = progress("Runs", len(runs))
        for number, row in enumerate(runs, start=1):
            with self.target.writing() as connection:
                lock_plans(connection)
                merging_runs.add_run(self.source, connection, row, self.counts)
            step(number)
        self._add_studies(progress)
        return self.counts

    def _add_studies(self, progress: StepProgress) -> None:
        studies = self.source.execute(select(StudyRow.__table__).order_by(StudyRow.created_at)).all()
        step = progress("Studies", len(studies))
        for number, row in enumerate(studies, start=1):
            with self.target.writing() as connection:
                merging_studies.add_study(self.source, connection, row, self.counts)
            step(number)

    def _add_prefix_set(self, row: Row[Any]) -> None:
        find = select(PrefixSetRow.key).where(PrefixSetRow.id == row.id)
        with self.target.writing() as connection:
            lock_plans(connection)
            key = connection.scalar(find)
            if key is None:
                add_rows(connection, PrefixSetRow, [_values(row, without=("key",))])
                key = connection.scalar(find)
                prefixes = select(PrefixRow.__table__).where(PrefixRow.prefix_set_key == row.key)
                streamed = prefixes.execution_options(yield_per=_PREFIXES)
                for part in self.source.execute(streamed).partitions():
                    add_rows(connection, PrefixRow, [_values(entry, prefix_set_key=key) for entry in part])
        assert key is not None
        self.prefix_set_keys[row.key] = key

    def _pages(self) -> Iterator[Sequence[Row[Any]]]:
        last = 0
        while page := self.source.execute(
            select(JobRow.__table__).where(JobRow.key > last).order_by(JobRow.key).limit(_JOBS)
        ).all():
            yield page
            last = page[-1].key

    def _add_jobs(self, connection: Connection, page: Sequence[Row[Any]]) -> None:
        ids = [row.id for row in page]
        locked = select(JobRow.id, JobRow.key, JobRow.state, JobRow.attempt).where(JobRow.id.in_(ids))
        present = {
            row.id: row
            for row in connection.execute(locked.order_by(JobRow.key).with_for_update(key_share=True))
        }
        new = [row for row in page if row.id not in present]
        add_rows(connection, JobRow, [_unleased(row) for row in new])
        self.later_needs += self._add_needs(connection, self._needs_of(new))
        self.counts.jobs += len(new)
        keys = find_keys(connection, ids)
        copied = {row.key: keys[row.id] for row in new if row.state == JobState.DONE}
        self._add_attempts(connection, {row.key: (keys[row.id], 0) for row in new})
        for row in page:
            there = present.get(row.id)
            if there is None or row.state != JobState.DONE:
                continue
            if there.state == JobState.DONE:
                self._compare(connection, row, there.key)
            elif there.state == JobState.LEASED:
                self.counts.leased += 1
            else:
                self._finish(connection, row, there)
                copied[row.key] = there.key
        self._add_results(connection, copied)
        self.counts.results += len(copied)

    def _finish(self, connection: Connection, row: Row[Any], there: Any) -> None:
        """Mark a job of the target as done, with the attempts of the source after its own."""
        self._add_attempts(connection, {row.key: (there.key, there.attempt)})
        values = {"state": row.state, "adjustment": row.adjustment, "finished_at": row.finished_at}
        attempt = there.attempt + row.attempt
        job = update(JobRow).where(JobRow.key == there.key)
        connection.execute(job.values(**values, attempt=attempt, not_before=None))

    def _compare(self, connection: Connection, row: Row[Any], key: int) -> None:
        kind = JobKind(row.kind)
        if result_hash(self.source, row.key, kind) == result_hash(connection, key, kind):
            self.counts.present += 1
        else:
            self.counts.differing.append(row.id)

    def _add_results(self, connection: Connection, keys: dict[int, int]) -> None:
        for table in RESULT_TABLES if keys else ():
            columns = table.__table__.columns
            rows = select(*columns).where(columns["job_key"].in_(keys))
            streamed = rows.execution_options(yield_per=_PREFIXES)
            for part in self.source.execute(streamed).partitions():
                add_rows(connection, table, [self._moved(row, keys) for row in part])

    def _moved(self, row: Row[Any], keys: dict[int, int]) -> dict[str, Any]:
        values = _values(row, job_key=keys[row.job_key])
        if "prefix_set_key" in values:
            values["prefix_set_key"] = self.prefix_set_keys[values["prefix_set_key"]]
        return values

    def _add_attempts(self, connection: Connection, keys: dict[int, tuple[int, int]]) -> None:
        """Add the attempts at jobs of the source; `keys` has the job of the target and its latest number."""
        if not keys:
            return
        rows = self.source.execute(select(AttemptRow.__table__).where(AttemptRow.job_key.in_(keys)))
        attempts = []
        for row in rows:
            key, latest = keys[row.job_key]
            values = _values(row, job_key=key, number=row.number + latest)
            if row.outcome == AttemptOutcome.RUNNING:  # its driver works on the source, not here
                values |= {"outcome": AttemptOutcome.RELEASED.value, "ended_at": row.started_at}
            attempts.append(values)
        add_rows(connection, AttemptRow, attempts)

    def _needs_of(self, rows: Sequence[Row[Any]]) -> list[tuple[str, str]]:
        needing, needed = aliased(JobRow), aliased(JobRow)
        pairs = self.source.execute(
            select(needing.id, needed.id)
            .select_from(JobNeedRow)
            .join(needing, needing.key == JobNeedRow.job_key)
            .join(needed, needed.key == JobNeedRow.needed_key)
            .where(JobNeedRow.job_key.in_([row.key for row in rows]))
        )
        return [(first, second) for first, second in pairs]

    def _add_needs(self, connection: Connection, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Add what jobs need, and return the pairs whose second job is not stored yet."""
        keys = find_keys(connection, (job_id for pair in pairs for job_id in pair))
        stored = [(keys[first], keys[second]) for first, second in pairs if second in keys]
        add_rows(connection, JobNeedRow, [{"job_key": key, "needed_key": need} for key, need in stored])
        return [pair for pair in pairs if pair[1] not in keys]


def _unleased(row: Row[Any]) -> dict[str, Any]:
    """A job as the target gets it: a lease is of the source's driver."""
    values = _values(row, without=("key",))
    if row.state == JobState.LEASED:
        values |= {"state": JobState.WAITING.value, "owner": None, "lease_expires_at": None}
    return values


def _values(row: Row[Any], without: Sequence[str] = (), **changes: Any) -> dict[str, Any]:
    return {name: value for name, value in row._mapping.items() if name not in without} | changes
