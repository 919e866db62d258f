"""Deleting a run: its rows, and the results of jobs that no other run uses.

Jobs are deleted a few at a time, each batch in a transaction of its own, so that drivers of other runs do not
wait long. A batch asks again which jobs no other run uses. Jobs that need others go before those, and the run
itself goes last: after a kill, what is left is sound, and the same command deletes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, delete, exists, func, or_, select
from sqlalchemy.orm import aliased

from harness.store import runs
from harness.store.records import Deletion, JobState
from harness.store.results import RESULT_TABLES
from harness.store.tables import (
    AttemptRow,
    GenerationRow,
    InstanceJobRow,
    InstanceRow,
    JobNeedRow,
    JobRow,
    PrefixRow,
    PrefixSetRow,
    ResolutionJobRow,
    ResolutionRow,
    RunJobRow,
    RunRow,
)

_BATCH = 50  # jobs; the texts of one have some megabytes of traces

# All rows that refer to jobs, those that refer to others of them first.
_OF_JOBS: tuple[Any, ...] = (
    *reversed(RESULT_TABLES),
    *(AttemptRow, InstanceJobRow, ResolutionJobRow, RunJobRow),
)


def count(connection: Connection, run_id: int) -> Deletion:
    """What deleting a run would delete."""
    own = _own_jobs(run_id).subquery()
    done = select(func.count()).select_from(own).join(JobRow, JobRow.key == own.c.job_key)
    texts = select(func.count()).select_from(own).join(GenerationRow, GenerationRow.job_key == own.c.job_key)
    total = connection.scalar(select(func.count()).where(RunJobRow.run_id == run_id)) or 0
    jobs = connection.scalar(select(func.count()).select_from(own)) or 0
    return Deletion(
        jobs=jobs,
        done=connection.scalar(done.where(JobRow.state == JobState.DONE)) or 0,
        texts=connection.scalar(texts) or 0,
        shared=total - jobs,
    )


def delete_some_jobs(connection: Connection, run_id: int) -> int:
    """Delete some jobs that only this run uses, with their results, and return how many."""
    # A job is stored after those it needs, so the latest go first.
    latest = _own_jobs(run_id).order_by(RunJobRow.job_key.desc()).limit(_BATCH)
    keys = list(connection.scalars(latest))
    if keys:
        for table in _OF_JOBS:
            connection.execute(delete(table).where(table.job_key.in_(keys)))
        needs = or_(JobNeedRow.job_key.in_(keys), JobNeedRow.needed_key.in_(keys))
        connection.execute(delete(JobNeedRow).where(needs))
        connection.execute(delete(JobRow).where(JobRow.key.in_(keys)))
    return len(keys)


def delete_run(connection: Connection, run_id: int) -> None:
    """Delete a run whose own jobs are deleted; those that it shares stay with the other runs."""
    instances = select(InstanceRow.id).where(InstanceRow.run_id == run_id)
    resolutions = select(ResolutionRow.id).where(ResolutionRow.run_id == run_id)
    used = select(InstanceRow.prefix_set).where(
        InstanceRow.run_id == run_id, InstanceRow.prefix_set.is_not(None)
    )
    prefix_sets = list(connection.scalars(used.distinct()))
    connection.execute(delete(InstanceJobRow).where(InstanceJobRow.instance_id.in_(instances)))
    connection.execute(delete(InstanceRow).where(InstanceRow.run_id == run_id))
    connection.execute(delete(ResolutionJobRow).where(ResolutionJobRow.resolution_id.in_(resolutions)))
    connection.execute(delete(ResolutionRow).where(ResolutionRow.run_id == run_id))
    connection.execute(delete(RunJobRow).where(RunJobRow.run_id == run_id))
    runs.remove(connection, run_id)
    _delete_prefix_sets(connection, prefix_sets)


def _own_jobs(run_id: int) -> Select[int]:
    """Keys of the jobs that no other run uses, needs, or has resolved a parameter with."""
    other, needing = aliased(RunJobRow), aliased(RunJobRow)
    used = exists().where(other.job_key == RunJobRow.job_key, other.run_id != run_id)
    needed = exists().where(
        JobNeedRow.needed_key == RunJobRow.job_key,
        needing.job_key == JobNeedRow.job_key,
        needing.run_id != run_id,
    )
    decided = exists().where(
        ResolutionJobRow.job_key == RunJobRow.job_key,
        ResolutionRow.id == ResolutionJobRow.resolution_id,
        ResolutionRow.run_id != run_id,
    )
    return select(RunJobRow.job_key).where(RunJobRow.run_id == run_id, ~used, ~needed, ~decided)


def _delete_prefix_sets(connection: Connection, ids: Sequence[str | None]) -> None:
    """Delete sets of prefixes that no run uses any more."""
    # Runs of older databases may not have said which sets they use.
    planned = exists().where(InstanceRow.run_id == RunRow.id)
    if connection.scalar(select(func.count()).select_from(RunRow).where(~planned)):
        return
    unused = select(PrefixSetRow.key).where(
        PrefixSetRow.id.in_(ids),
        ~exists().where(InstanceRow.prefix_set == PrefixSetRow.id),
        ~exists().where(GenerationRow.prefix_set_key == PrefixSetRow.key),
    )
    keys = list(connection.scalars(unused))
    connection.execute(delete(PrefixRow).where(PrefixRow.prefix_set_key.in_(keys)))
    connection.execute(delete(PrefixSetRow).where(PrefixSetRow.key.in_(keys)))
