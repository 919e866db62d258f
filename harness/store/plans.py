"""Writing plans: jobs, prefixes, resolved parameters.

Everything here can be repeated: rows that exist already stay as they are.
"""

from __future__ import annotations

import dataclasses
import graphlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select, text, update

from bat.errors import InvalidInputError
from harness.jobs import Job, JobKind, PrefixRows, canonical_json
from harness.store.records import JobState, Resolution
from harness.store.statements import add_rows, batches, by_key_only, find_keys
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


def add_jobs(connection: Connection, run_id: int, jobs: Iterable[Job], order: int | Sequence[int]) -> int:
    """Add jobs to a run, and to the queue those that no run has yet; return how many are new.

    Jobs are taken a batch at a time, so that a large plan is never in memory as rows.
    """
    if connection.scalar(select(RunRow.id).where(RunRow.id == run_id)) is None:
        raise InvalidInputError(f"jobs can only be added to a run that exists; there is no run {run_id}.")
    keys: dict[str, int] = {}
    needs: list[_Needs] = []  # of jobs that are new
    priorities: dict[int, int] = {}  # of jobs that are not
    count = 0
    for batch in batches(_with_priorities(jobs, order)):
        planned = {job.id: (job, priority) for job, priority in batch}
        stored = find_keys(connection, planned)
        new = [job for job_id, (job, _) in planned.items() if job_id not in stored]
        add_rows(connection, JobRow, [_row(job, planned[job.id][1]) for job in new])
        found = stored | find_keys(connection, [job.id for job in new])
        run_jobs = [
            {"run_id": run_id, "job_key": found[job_id], "stage": priority}
            for job_id, (_, priority) in planned.items()
        ]
        add_rows(connection, RunJobRow, run_jobs)
        needs += [_Needs(job.id, job.kind, job.needs) for job in new if job.needs]
        priorities |= {key: planned[job_id][1] for job_id, key in stored.items()}
        keys |= found
        count += len(new)
    _add_needs(connection, needs, keys)
    _raise_priorities(connection, priorities)
    return count


def _with_priorities(jobs: Iterable[Job], order: int | Sequence[int]) -> Iterator[tuple[Job, int]]:
    count = 0
    for job in jobs:
        if isinstance(order, int):
            yield job, order
        elif count < len(order):
            yield job, order[count]
        count += 1
    if not isinstance(order, int) and count != len(order):
        raise InvalidInputError(
            f"order must have a number for each job; got {len(order)} for {counted(count, 'job')}."
        )


def _row(job: Job, priority: int) -> dict[str, Any]:
    labels = dataclasses.asdict(job.labels)
    return {"id": job.id, "kind": job.kind.value, "spec": job.spec, "priority": priority, **labels}


class _Needs(NamedTuple):
    job_id: str
    kind: JobKind
    needed: tuple[str, ...]


def _add_needs(connection: Connection, needs: Sequence[_Needs], keys: Mapping[str, int]) -> None:
    """Store what new jobs need; `keys` has those of all jobs of the plan."""
    others = (need for job in needs for need in job.needed if need not in keys)
    known = {**keys, **find_keys(connection, others)}
    is_in_order = True
    for job in needs:
        for need in job.needed:
            if need not in known:
                raise InvalidInputError(
                    f"the jobs that a job needs must be planned too; {job.kind} job {job.job_id} needs "
                    f"{need}, which is not. Add it before this job, or with it."
                )
            is_in_order &= known[need] < known[job.job_id]
    if not is_in_order:  # jobs that only need earlier ones cannot need each other
        _check_for_cycles(needs)
    rows = (
        {"job_key": known[job.job_id], "needed_key": known[need]}
        for job in needs
        for need in dict.fromkeys(job.needed)
    )
    add_rows(connection, JobNeedRow, rows)


def _check_for_cycles(needs: Iterable[_Needs]) -> None:
    try:
        graphlib.TopologicalSorter({job.job_id: job.needed for job in needs}).prepare()
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
                .where(JobRow.key.in_(batch), by_key_only(JobRow.state) == JobState.WAITING)
                .where(by_key_only(JobRow.priority) > priority)
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
