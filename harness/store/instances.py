"""The instances of a run as of its latest plan, and the jobs that work for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, select, tuple_, update

from bat.errors import InvalidInputError
from harness.store.records import Instance, InstanceKind, InstanceState
from harness.store.statements import add_rows, batches, find_keys
from harness.store.tables import InstanceJobRow, InstanceRow, JobRow, RunJobRow

_FIELDS = tuple(field.name for field in dataclasses.fields(Instance) if field.name != "jobs")
_COLUMNS = [getattr(InstanceRow, name) for name in _FIELDS]


def replace(connection: Connection, run_id: int, instances: Sequence[Instance]) -> None:
    """Store instances, replacing those with the same names; the run's other instances stay."""
    stored = {instance.name: instance for instance in read(connection, run_id)}
    changed = [instance for instance in instances if stored.get(instance.name) != instance]
    if not changed:
        return
    add_rows(connection, InstanceRow, [{"run_id": run_id, **_values(instance)} for instance in changed])
    for instance in changed:
        if instance.name in stored:
            same = (InstanceRow.run_id == run_id, InstanceRow.name == instance.name)
            connection.execute(update(InstanceRow).where(*same).values(**_values(instance)))
    _replace_jobs(connection, run_id, changed)
    _fill_in_stages(connection, run_id)


def _values(instance: Instance) -> dict[str, object]:
    return {name: getattr(instance, name) for name in _FIELDS}


def _replace_jobs(connection: Connection, run_id: int, instances: Sequence[Instance]) -> None:
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


def read(connection: Connection, run_id: int, *, with_jobs: bool = True) -> list[Instance]:
    """The instances of a run in the order of its sweep, each with its jobs in planning order."""
    jobs = _read_jobs(connection, run_id) if with_jobs else {}
    rows = connection.execute(
        select(InstanceRow.id, *_COLUMNS)
        .where(InstanceRow.run_id == run_id)
        .order_by(InstanceRow.position, InstanceRow.id)
    )
    return [_instance(dict(zip(_FIELDS, values, strict=True)), jobs.get(key, [])) for key, *values in rows]


def _read_jobs(connection: Connection, run_id: int) -> dict[int, list[tuple[str, str]]]:
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
