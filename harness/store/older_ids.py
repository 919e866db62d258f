"""Jobs of older databases whose ids contain the paths of local files, given the ids that they have now.

Results depend on the content of a corpus or model, which such jobs have recorded, and not on its path. With
the new ids, sweeps find their results again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from harness.jobs import LOCAL, job_id

_JOBS = sa.table("jobs", sa.column("key"), sa.column("id"), sa.column("kind"), sa.column("spec", sa.JSON()))
_PAGE = 500

_CORPUS = {"name", "revision", "split"}
_MODEL = {"name", "revision", "dtype", "weights", "tokenizer"}


def rename_local_jobs(connection: Connection) -> int:
    """Give jobs on local files their new ids, and return how many. A job whose id is taken keeps its own."""
    renamed: dict[str, str] = {}
    for row in _pages(connection):
        # A job is stored after those it needs, whose ids its specification may contain.
        spec = _localized(_replaced(row.spec, renamed))
        new_id = job_id(row.kind, spec)
        if new_id == row.id or job_id(row.kind, row.spec) != row.id:
            continue  # nothing local, or a job whose results are of another version
        if connection.scalar(sa.select(_JOBS.c.key).where(_JOBS.c.id == new_id)) is None:
            connection.execute(sa.update(_JOBS).where(_JOBS.c.key == row.key).values(id=new_id, spec=spec))
            renamed[row.id] = new_id
    return len(renamed)


def _pages(connection: Connection) -> Iterator[Any]:
    last: int = 0
    while page := connection.execute(
        sa.select(_JOBS).where(_JOBS.c.key > last).order_by(_JOBS.c.key).limit(_PAGE)
    ).all():
        yield from page
        last = page[-1].key


def _replaced(value: Any, ids: Mapping[str, str]) -> Any:
    match value:
        case str():
            return ids.get(value, value)
        case Mapping():
            return {key: _replaced(entry, ids) for key, entry in value.items()}
        case Sequence():
            return [_replaced(entry, ids) for entry in value]
    return value


def _localized(value: Any) -> Any:
    match value:
        case Mapping() if value.keys() == _CORPUS and str(value["revision"]).startswith("sha256:"):
            return {**value, "name": LOCAL, "title": value["name"]}
        case Mapping() if value.keys() == _MODEL and _is_local_model(value):
            return {**value, "name": LOCAL, "revision": None, "title": value["name"]}
        case Mapping():
            return {key: _localized(entry) for key, entry in value.items()}
    return value


def _is_local_model(model: Mapping[str, Any]) -> bool:
    """Models of the hub have a commit, embedded ones the name of their conversion."""
    name = str(model["name"])
    return name.lower().endswith(".gguf") or (model["revision"] is None and not name.startswith("fake:"))
