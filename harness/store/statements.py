"""Statements that several parts of the store use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, func, select, true
from sqlalchemy.orm import InstrumentedAttribute

from bat.errors import InvalidInputError
from harness.store.records import JobState
from harness.store.tables import Base, JobRow, RunJobRow

T = TypeVar("T")

# Values in one IN (...): far below what either database takes.
_BATCH = 1000


# Rows in one INSERT: enough to make its overhead small, few enough that a large plan needs little memory.
_ROWS = 5000


def batches(values: Iterable[T], size: int = _BATCH) -> Iterator[list[T]]:
    """The values in lists that fit one statement, each made when it is asked for."""
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch


def add_rows(connection: Connection, table: type[Base], rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows; rows whose key exists are skipped."""
    for batch in batches(rows, _ROWS):
        # Only the dialect in use is imported: PostgreSQL's takes a tenth of a second.
        insert = import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert
        connection.execute(insert(table).on_conflict_do_nothing(), batch)


def by_key_only(column: InstrumentedAttribute[T]) -> ColumnElement[T]:
    """A column that no index is used for, beside a list of keys.

    SQLite has no statistics. It takes the index on the state for a better way to a thousand jobs than their
    keys, and reads every job in that state.
    """
    return func.coalesce(column, column)


def in_run(run_id: int | None) -> ColumnElement[bool]:
    """Whether a job belongs to a run; None means any run."""
    if run_id is None:
        return true()
    return select(1).where(RunJobRow.run_id == run_id, RunJobRow.job_key == JobRow.key).exists()


def find_keys(connection: Connection, job_ids: Iterable[str]) -> dict[str, int]:
    """The keys of the jobs with these ids that exist, by id."""
    keys: dict[str, int] = {}
    for batch in batches(dict.fromkeys(job_ids)):
        rows = connection.execute(select(JobRow.id, JobRow.key).where(JobRow.id.in_(batch)))
        keys.update((row.id, row.key) for row in rows)
    return keys


def get_done_keys(connection: Connection, job_ids: Sequence[str]) -> dict[str, int]:
    """The keys of jobs by id, in the order given; raise unless all of them are done."""
    keys: dict[str, int] = {}
    for batch in batches(dict.fromkeys(job_ids)):
        rows = connection.execute(select(JobRow.id, JobRow.key, JobRow.state).where(JobRow.id.in_(batch)))
        states = {row.id: (row.key, row.state) for row in rows}
        for job_id in batch:
            key, state = states.get(job_id, (None, "not in this database"))
            if key is None or state != JobState.DONE:
                raise InvalidInputError(
                    f"only jobs that are done have results; job {job_id} is {state}. Run the sweep first."
                )
            keys[job_id] = key
    return keys
