"""Writing plans: jobs, prefixes, resolved parameters.

Everything here can be repeated: rows that exist already stay as they are.
"""

from __future__ import annotations

import dataclasses
import graphlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select, text, update

from bat.errors import InvalidInputError
from harness.jobs import Job, canonical_json
from harness.jobs.rows import PrefixRows
from harness.store.records import JobState, Resolution
from harness.store.statements import add_rows, batches, find_keys
from harness.store.tables import (
    JobNeedRow,
    JobRow,
    PrefixRow,
    PrefixSetRow,
    ResolutionJobRow,
    ResolutionRow,
    RunJobRow,
    RunRow,
)
from harness.words import counted

# An arbitrary but fixed number: the lock that PostgreSQL holds while a plan is written.
_LOCK = 0x706C616E


def lock_plans(connection: Connection) -> None:
    """Allow one plan to be written at a time: two that share jobs could deadlock."""
    if connection.dialect.name != "sqlite":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))


def add_jobs(connection: Connection, run_id: int, jobs: Sequence[Job], order: int | Sequence[int]) -> int:
    """Add jobs to a run, and to the queue those that no run has yet; return how many are new."""
    if connection.scalar(select(RunRow.id).where(RunRow.id == run_id)) is None:
        raise InvalidInputError(f"jobs can only be added to a run that exists; there is no run {run_id}.")
    priorities = [order] * len(jobs) if isinstance(order, int) else list(order)
    if len(priorities) != len(jobs):
        raise InvalidInputError(
            f"order must have a number for each job; got {len(priorities)} for {counted(len(jobs), 'job')}."
        )
    planned = {job.id: (job, priority) for job, priority in zip(jobs, priorities, strict=True)}
    stored = find_keys(connection, planned)
    new = {job_id: job for job_id, (job, _) in planned.items() if job_id not in stored}
    needed = find_keys(connection, (need for job in new.values() for need in job.needs if need not in new))
    _check_needs(new, needed)
    rows = [_row(job, planned[job_id][1]) for job_id, job in new.items()]
    add_rows(connection, JobRow, rows)
    keys = stored | needed | find_keys(connection, new)
    run_jobs = [
        {"run_id": run_id, "job_key": keys[job_id], "stage": priority}
        for job_id, (_, priority) in planned.items()
    ]
    add_rows(connection, RunJobRow, run_jobs)
    needs = [
        {"job_key": keys[job_id], "needed_key": keys[need]}
        for job_id, job in new.items()
        for need in dict.fromkeys(job.needs)
    ]
    add_rows(connection, JobNeedRow, needs)
    _raise_priorities(connection, {key: planned[job_id][1] for job_id, key in stored.items()})
    return len(new)


def _row(job: Job, priority: int) -> dict[str, Any]:
    labels = dataclasses.asdict(job.labels)
    return {"id": job.id, "kind": job.kind.value, "spec": job.spec, "priority": priority, **labels}


def _check_needs(new: Mapping[str, Job], needed: Mapping[str, int]) -> None:
    for job_id, job in new.items():
        for need in job.needs:
            if need not in new and need not in needed:
                raise InvalidInputError(
                    f"the jobs that a job needs must be planned too; {job.kind} job {job_id} needs {need}, "
                    "which is not. Add it before this job, or with it."
                )
    try:
        graphlib.TopologicalSorter({job_id: job.needs for job_id, job in new.items()}).prepare()
    except graphlib.CycleError as error:
        raise InvalidInputError(f"jobs must not need each other; got a cycle: {error.args[1]}.") from None


def _raise_priorities(connection: Connection, priorities: Mapping[int, int]) -> None:
    """Run a job that two runs share as early as the earlier of the two needs it."""
    by_priority: dict[int, list[int]] = {}
    for key in sorted(priorities):
        by_priority.setdefault(priorities[key], []).append(key)
    for priority, keys in by_priority.items():
        for batch in batches(keys):
            later = (
                select(JobRow.key)
                .where(JobRow.key.in_(batch), JobRow.state == JobState.WAITING, JobRow.priority > priority)
                .order_by(JobRow.key)
                .with_for_update(key_share=True)
            )
            later_keys = list(connection.scalars(later))
            connection.execute(update(JobRow).where(JobRow.key.in_(later_keys)).values(priority=priority))


def add_prefix_set(connection: Connection, rows: PrefixRows) -> None:
    """Store a set of prefixes."""
    row = {
        name: getattr(rows, name) for name in ("id", "fingerprint", "corpus", "revision", "split", "counts")
    }
    add_rows(connection, PrefixSetRow, [row])
    key = connection.scalar(select(PrefixSetRow.key).where(PrefixSetRow.id == rows.id))
    entries = [
        {
            "prefix_set_key": key,
            "id": entry.id,
            "item": item,
            "text": entry.text,
            "token_ids": entry.token_ids,
            "continuation": entry.continuation,
            "continuation_ids": entry.continuation_ids,
        }
        for item, entry in enumerate(rows.entries)
    ]
    add_rows(connection, PrefixRow, entries)


def add_resolution(connection: Connection, run_id: int, resolution: Resolution) -> None:
    """Store the value of a resolved parameter, unless it is stored already."""
    row = {
        "run_id": run_id,
        "parameter": resolution.parameter,
        "asked": resolution.asked,
        "how": resolution.how,
        "value": resolution.value,
        "detail": resolution.detail,
    }
    add_rows(connection, ResolutionRow, [row])
    stored = connection.execute(
        select(ResolutionRow.id, ResolutionRow.value).where(
            ResolutionRow.run_id == run_id, ResolutionRow.parameter == resolution.parameter
        )
    ).one()
    if canonical_json(stored.value) != canonical_json(resolution.value):
        raise InvalidInputError(
            f"a parameter of a run must be resolved only once; {resolution.parameter!r} is already "
            f"{stored.value}, got {resolution.value}. Give the new sweep another name."
        )
    keys = _get_keys(connection, resolution.job_ids)
    add_rows(connection, ResolutionJobRow, [{"resolution_id": stored.id, "job_key": key} for key in keys])


def _get_keys(connection: Connection, job_ids: Iterable[str]) -> list[int]:
    unique_ids = list(dict.fromkeys(job_ids))
    keys = find_keys(connection, unique_ids)
    missing = [job_id for job_id in unique_ids if job_id not in keys]
    if missing:
        raise InvalidInputError(f"the jobs of a resolution must be planned; job {missing[0]} is not.")
    return [keys[job_id] for job_id in unique_ids]
