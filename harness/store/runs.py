"""Rows of runs: what identifies a run, its local files, its name and tags."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from bat.errors import InvalidInputError
from harness.jobs import sha256_of
from harness.store.records import LocalInput, Run
from harness.store.statements import add_rows
from harness.store.tables import (
    DriverRow,
    InstanceRow,
    ResolutionRow,
    RunInputRow,
    RunJobRow,
    RunRow,
    RunTagRow,
    utc_now,
)

_INPUTS = (RunInputRow.key, RunInputRow.path, RunInputRow.revision, RunInputRow.signature)


def identity_of(name: str, config: Mapping[str, Any], inputs: Iterable[LocalInput] = ()) -> str:
    """What tells runs apart: equal for a sweep that is started again.

    Local files count by their content, not by their path. So a sweep whose files have changed is another run,
    and one that names the same files differently is not.
    """
    return sha256_of([name, with_values(config, {entry.key: entry.revision for entry in inputs})])


def with_values(config: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with other values at some keys, such as models.0.name."""
    changed = copy.deepcopy(dict(config))
    for key, value in values.items():
        *parents, last = (int(part) if part.isdecimal() else part for part in key.split("."))
        section: Any = changed
        for part in parents:
            section = section[part]
        section[last] = value
    return changed


def add(
    connection: Connection,
    name: str,
    config: Mapping[str, Any],
    versions: Mapping[str, Any],
    inputs: Sequence[LocalInput] = (),
) -> int:
    """Add a run unless it exists, update its versions, files and start, and return its id."""
    identity = identity_of(name, config, inputs)
    row = {"identity": identity, "name": name, "config": dict(config), "versions": dict(versions)}
    add_rows(connection, RunRow, [row])
    values: dict[str, Any] = {"versions": dict(versions), "started_at": utc_now()}
    if inputs:
        values["config"] = dict(config)  # with the paths of this start
    statement = update(RunRow).where(RunRow.identity == identity).values(**values).returning(RunRow.id)
    run_id = int(connection.execute(statement).scalar_one())
    record_inputs(connection, run_id, inputs)
    return run_id


def record_inputs(connection: Connection, run_id: int, inputs: Iterable[LocalInput]) -> None:
    """Store the local files of a run, as they were seen last."""
    connection.execute(delete(RunInputRow).where(RunInputRow.run_id == run_id))
    add_rows(
        connection,
        RunInputRow,
        [
            {
                "run_id": run_id,
                "key": entry.key,
                "path": entry.path,
                "revision": entry.revision,
                "signature": entry.signature,
            }
            for entry in inputs
        ],
    )


def touch(connection: Connection, run_id: int) -> None:
    """Make a run the latest one."""
    connection.execute(update(RunRow).where(RunRow.id == run_id).values(started_at=utc_now()))


def forget_empty(connection: Connection, run_id: int) -> None:
    """Remove a run for which nothing was planned, as if it had never been started."""
    planned = sum(
        connection.scalar(select(func.count()).where(column == run_id)) or 0
        for column in (RunJobRow.run_id, InstanceRow.run_id, ResolutionRow.run_id)
    )
    if not planned:
        remove(connection, run_id)


def remove(connection: Connection, run_id: int) -> None:
    """Remove the rows of a run that has no jobs, instances and resolutions any more."""
    for table in (DriverRow, RunInputRow, RunTagRow):
        connection.execute(delete(table).where(table.run_id == run_id))
    connection.execute(delete(RunRow).where(RunRow.id == run_id))


def rename(connection: Connection, run: Run, name: str) -> None:
    """Give a run another name, as if its sweep had been started under it."""
    config = {**run.config, "name": name} if "name" in run.config else dict(run.config)
    identity = identity_of(name, config, run.inputs)
    other = connection.scalar(select(RunRow.id).where(RunRow.identity == identity, RunRow.id != run.id))
    if other is not None:
        raise InvalidInputError(
            f"runs of the same sweep must differ in their names; run {other} is {name!r} already, with the "
            f"configuration of run {run.id}. Choose another name."
        )
    values = {"name": name, "config": config, "identity": identity}
    connection.execute(update(RunRow).where(RunRow.id == run.id).values(**values))


def add_tags(connection: Connection, run_id: int, tags: Iterable[str]) -> None:
    """Add tags to a run; those it has stay."""
    add_rows(connection, RunTagRow, [{"run_id": run_id, "tag": tag} for tag in dict.fromkeys(tags)])


def remove_tags(connection: Connection, run_id: int, tags: Iterable[str]) -> None:
    """Remove tags from a run."""
    connection.execute(delete(RunTagRow).where(RunTagRow.run_id == run_id, RunTagRow.tag.in_(list(tags))))


def read(connection: Connection, *conditions: Any) -> list[Run]:
    """Runs, the latest started first."""
    rows = connection.execute(
        select(RunRow.id, RunRow.name, RunRow.config, RunRow.versions, RunRow.created_at, RunRow.started_at)
        .where(*conditions)
        .order_by(RunRow.started_at.desc(), RunRow.id.desc())
    ).all()
    tags: dict[int, list[str]] = {}
    for run_id, tag in connection.execute(select(RunTagRow.run_id, RunTagRow.tag)):
        tags.setdefault(run_id, []).append(tag)
    inputs: dict[int, list[LocalInput]] = {}
    for run_id, *values in connection.execute(select(RunInputRow.run_id, *_INPUTS)):
        inputs.setdefault(run_id, []).append(LocalInput(*values))
    return [
        Run(
            *row,
            tags=tuple(sorted(tags.get(row.id, ()))),
            inputs=tuple(sorted(inputs.get(row.id, ()), key=lambda entry: entry.key)),
        )
        for row in rows
    ]
