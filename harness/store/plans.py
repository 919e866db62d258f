"""Plans as rows: jobs, the instances they work for, prefixes, resolved parameters.

Everything here can be repeated: rows that exist already stay as they are, and instances, which a later plan
knows better, are replaced.
"""

from __future__ import annotations

import dataclasses
import graphlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, select, text, tuple_, update

from bat.errors import InvalidInputError
from harness.jobs import Job, JobKind, PrefixRows, canonical_json
from harness.store.records import Instance, InstanceKind, InstanceState, JobState, Resolution
from harness.store.statements import add_rows, batches, by_key_only, find_keys
from harness.store.tables import (
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
from harness.words import counted

# An arbitrary but fixed number: the lock that PostgreSQL holds while a plan is written.
_LOCK = 0x706C616E

_INSTANCE_FIELDS = tuple(field.name for field in dataclasses.fields(Instance) if field.name != "jobs")
_INSTANCE_COLUMNS = [getattr(InstanceRow, name) for name in _INSTANCE_FIELDS]


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


def replace_instances(connection: Connection, run_id: int, instances: Sequence[Instance]) -> None:
    """Store instances, replacing those with the same names; the run's other instances stay."""
    stored = {instance.name: instance for instance in read_instances(connection, run_id)}
    changed = [instance for instance in instances if stored.get(instance.name) != instance]
    if not changed:
        return
    add_rows(connection, InstanceRow, [{"run_id": run_id, **_values(instance)} for instance in changed])
    for instance in changed:
        if instance.name in stored:
            same = (InstanceRow.run_id == run_id, InstanceRow.name == instance.name)
            connection.execute(update(InstanceRow).where(*same).values(**_values(instance)))
    _replace_links(connection, run_id, changed)
    _fill_in_stages(connection, run_id)


def _values(instance: Instance) -> dict[str, object]:
    return {name: getattr(instance, name) for name in _INSTANCE_FIELDS}


def _replace_links(connection: Connection, run_id: int, instances: Sequence[Instance]) -> None:
    rows = connection.execute(
        select(InstanceRow.name, InstanceRow.id).where(InstanceRow.run_id == run_id)
    ).all()
    id_of = {row.name: row.id for row in rows}
    keys = find_keys(connection, (job_id for instance in instances for _, job_id in instance.jobs))
    missing = [job_id for instance in instances for _, job_id in instance.jobs if job_id not in keys]
    if missing:
        raise InvalidInputError(f"the jobs of an instance must be planned; job {missing[0]} is not.")
    links = {
        (id_of[instance.name], keys[job_id]): role for instance in instances for role, job_id in instance.jobs
    }
    stale: list[tuple[int, int]] = []
    for batch in batches(id_of[instance.name] for instance in instances):
        own = InstanceJobRow.instance_id.in_(batch)
        before = connection.execute(select(InstanceJobRow.instance_id, InstanceJobRow.job_key).where(own))
        stale += [link for link in map(tuple, before) if link not in links]  # type: ignore[misc]
    for batch in batches(stale, 400):  # two values each
        pair = tuple_(InstanceJobRow.instance_id, InstanceJobRow.job_key)
        connection.execute(delete(InstanceJobRow).where(pair.in_(batch)))
    add_rows(
        connection,
        InstanceJobRow,
        ({"instance_id": of, "job_key": key, "role": role} for (of, key), role in links.items()),
    )


def _fill_in_stages(connection: Connection, run_id: int) -> None:
    """Set the stage of jobs that have none (from older databases) to the first stage that uses them."""
    first = (
        select(func.min(InstanceRow.stage_position))
        .join(InstanceJobRow, InstanceJobRow.instance_id == InstanceRow.id)
        .where(InstanceRow.run_id == run_id, InstanceJobRow.job_key == RunJobRow.job_key)
    )
    without = (RunJobRow.run_id == run_id, RunJobRow.stage.is_(None))
    connection.execute(update(RunJobRow).where(*without).values(stage=first.scalar_subquery()))


def read_instances(connection: Connection, run_id: int, *, with_jobs: bool = True) -> list[Instance]:
    """The instances of a run in the order of its sweep, each with its jobs in planning order."""
    jobs = _read_links(connection, run_id) if with_jobs else {}
    rows = connection.execute(
        select(InstanceRow.id, *_INSTANCE_COLUMNS)
        .where(InstanceRow.run_id == run_id)
        .order_by(InstanceRow.position, InstanceRow.id)
    )
    return [
        _instance(dict(zip(_INSTANCE_FIELDS, values, strict=True)), jobs.get(key, []))
        for key, *values in rows
    ]


def _read_links(connection: Connection, run_id: int) -> dict[int, list[tuple[str, str]]]:
    linked = connection.execute(
        select(InstanceJobRow.instance_id, InstanceJobRow.role, JobRow.id)
        .join(InstanceRow, InstanceRow.id == InstanceJobRow.instance_id)
        .join(JobRow, JobRow.key == InstanceJobRow.job_key)
        .where(InstanceRow.run_id == run_id)
        .order_by(InstanceJobRow.job_key)
    )
    jobs: dict[int, list[tuple[str, str]]] = {}
    for instance_id, role, job_id in linked:
        jobs.setdefault(instance_id, []).append((role, job_id))
    return jobs


def _instance(values: dict[str, object], jobs: list[tuple[str, str]]) -> Instance:
    kind, state = InstanceKind(str(values["kind"])), InstanceState(str(values["state"]))
    return Instance(**{**values, "kind": kind, "state": state, "jobs": tuple(jobs)})  # type: ignore[arg-type]


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
