"""The part of a merge about runs: their rows, tags, files, instances and resolved parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, delete, select, update

from harness.jobs import canonical_json
from harness.store.records import InstanceState
from harness.store.statements import add_rows, find_keys
from harness.store.tables import (
    InstanceJobRow,
    InstanceRow,
    JobRow,
    ResolutionJobRow,
    ResolutionRow,
    RunInputRow,
    RunJobRow,
    RunRow,
    RunTagRow,
)

if TYPE_CHECKING:
    from harness.store.merging import MergeCounts

_ROWS = 1000  # in a statement


def add_run(source: Connection, target: Connection, row: Row[Any], counts: MergeCounts) -> None:
    """Bring a run into the target, whose jobs are there already; what it has there stays."""
    find = select(RunRow.id).where(RunRow.identity == row.identity)
    run_id = target.scalar(find)
    if run_id is None:
        counts.runs += 1
        add_rows(target, RunRow, [_values(row, "id")])
        run_id = target.scalar(find)
        assert run_id is not None
        files = source.execute(select(RunInputRow.__table__).where(RunInputRow.run_id == row.id))
        add_rows(target, RunInputRow, [_values(entry) | {"run_id": run_id} for entry in files])
    else:
        counts.joined += 1
    tags = source.scalars(select(RunTagRow.tag).where(RunTagRow.run_id == row.id))
    add_rows(target, RunTagRow, [{"run_id": run_id, "tag": tag} for tag in tags])
    jobs = select(JobRow.id, RunJobRow.stage).join(RunJobRow, RunJobRow.job_key == JobRow.key)
    of_run = jobs.where(RunJobRow.run_id == row.id).execution_options(yield_per=_ROWS)
    for part in source.execute(of_run).partitions():
        keys = find_keys(target, (job.id for job in part))
        links = [{"run_id": run_id, "job_key": keys[job.id], "stage": job.stage} for job in part]
        add_rows(target, RunJobRow, links)
    _add_instances(source, target, row.id, run_id)
    _add_resolutions(source, target, row.id, run_id, counts)


def _add_instances(source: Connection, target: Connection, source_run: int, run_id: int) -> None:
    there = {
        row.name: row
        for row in target.execute(
            select(InstanceRow.id, InstanceRow.name, InstanceRow.state).where(InstanceRow.run_id == run_id)
        )
    }
    instances = select(InstanceRow.__table__).where(InstanceRow.run_id == source_run)
    for row in source.execute(instances.order_by(InstanceRow.position)).all():
        present = there.get(row.name)
        values = _values(row, "id") | {"run_id": run_id}
        if present is None:
            add_rows(target, InstanceRow, [values])
        elif present.state != InstanceState.KNOWN and row.state == InstanceState.KNOWN:
            # The source has resolved its parameter, and planned its jobs.
            target.execute(update(InstanceRow).where(InstanceRow.id == present.id).values(**values))
            target.execute(delete(InstanceJobRow).where(InstanceJobRow.instance_id == present.id))
        else:
            continue
        find = select(InstanceRow.id).where(InstanceRow.run_id == run_id, InstanceRow.name == row.name)
        _add_links(source, target, row.id, target.scalar(find))


def _add_links(source: Connection, target: Connection, source_instance: int, instance_id: int | None) -> None:
    links = select(JobRow.id, InstanceJobRow.role).join(InstanceJobRow, InstanceJobRow.job_key == JobRow.key)
    of_instance = links.where(InstanceJobRow.instance_id == source_instance)
    for part in source.execute(of_instance.execution_options(yield_per=_ROWS)).partitions():
        keys = find_keys(target, (job.id for job in part))
        rows = [{"instance_id": instance_id, "job_key": keys[job.id], "role": job.role} for job in part]
        add_rows(target, InstanceJobRow, rows)


def _add_resolutions(
    source: Connection, target: Connection, source_run: int, run_id: int, counts: MergeCounts
) -> None:
    resolutions = select(ResolutionRow.__table__).where(ResolutionRow.run_id == source_run)
    for row in source.execute(resolutions.order_by(ResolutionRow.id)).all():
        find = select(ResolutionRow.id, ResolutionRow.value).where(
            ResolutionRow.run_id == run_id, ResolutionRow.parameter == row.parameter
        )
        present = target.execute(find).one_or_none()
        if present is not None:
            if canonical_json(present.value) != canonical_json(row.value):
                counts.unequal_parameters.append(row.parameter)
            continue
        add_rows(target, ResolutionRow, [_values(row, "id") | {"run_id": run_id}])
        resolution_id = target.execute(find).one().id
        ids: Sequence[str] = source.scalars(
            select(JobRow.id)
            .join(ResolutionJobRow, ResolutionJobRow.job_key == JobRow.key)
            .where(ResolutionJobRow.resolution_id == row.id)
        ).all()
        keys = find_keys(target, ids)
        rows = [{"resolution_id": resolution_id, "job_key": keys[job_id]} for job_id in ids]
        add_rows(target, ResolutionJobRow, rows)


def _values(row: Row[Any], *without: str) -> dict[str, Any]:
    return {name: value for name, value in row._mapping.items() if name not in without}
