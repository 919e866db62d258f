"""docs/database.md, written from the tables, views and queries themselves.

python -m harness.store.document docs/database.md
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlalchemy import Column, Dialect, Table, UniqueConstraint, create_engine
from sqlalchemy import inspect as inspect_database
from sqlalchemy.dialects import postgresql

from harness.store import views
from harness.store.queries import QUERIES
from harness.store.tables import Base, numbers, queue, texts
from harness.store.versions import SCHEMA_VERSION

_DIALECT: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]

_INTRODUCTION = f"""\
# The database

<!-- Written by `python -m harness.store.document docs/database.md`; change the code, not this file. -->

A sweep keeps everything it knows in one database: an SQLite file (`sqlite:///results.db`) or a PostgreSQL
server (`postgresql://user@host/database`). The tables below are the same on both; their version is
{SCHEMA_VERSION}. [design/queue.md](design/queue.md) tells how the queue works.

Ask while a sweep runs: readers never wait for the writer, nor the writer for them. Any tool that speaks SQL
will do, or Python:

```python
from harness.store import open_reader

with open_reader("sqlite:///results.db") as reader, reader.query("SELECT * FROM progress_view") as answer:
    for row in answer.rows:
        print(dict(zip(answer.columns, row)))
```

* A job has an `id`, the SHA-256 of everything its result depends on, which is the same in every database,
  and a `key`, a small number that other tables of this database refer to. Views show the id, as `job`.
* Results are rows of (job, item): `item` counts from 0 in the order of the worker's answer.
* Times are in UTC, by the database's own clock.
* Results of a job appear all at once, in the transaction that makes it `done`, and never change afterwards.
"""


def render() -> str:
    """The whole page."""
    parts = [_INTRODUCTION, "## Overview\n", _diagram(), "## Tables\n"]
    parts += [_table(table, inspect.getdoc(rows) or "") for table, rows in _classes().items()]
    parts += ["## Views\n", *_views(), "## Ten questions\n", *_queries()]
    return "\n".join(parts).rstrip() + "\n"


def _classes() -> dict[Table, type]:
    """Tables and their classes: the queue, then texts, then numbers, each in the order of its module."""
    classes = {mapper.local_table: mapper.class_ for mapper in Base.registry.mappers}
    modules = [module.__name__ for module in (queue, texts, numbers)]
    in_order = sorted(
        Base.metadata.tables.values(), key=lambda table: modules.index(classes[table].__module__)
    )
    return {table: classes[table] for table in in_order}


def _diagram() -> str:
    lines = ["```mermaid", "erDiagram"]
    for table in _classes():
        for constraint in sorted(table.foreign_key_constraints, key=lambda entry: list(entry.column_keys)):
            columns = ", ".join(constraint.column_keys)
            lines.append(f'    {constraint.referred_table.name} ||--o{{ {table.name} : "{columns}"')
    return "\n".join([*lines, "```", ""])


def _table(table: Table, meaning: str) -> str:
    rows = [(f"`{column.name}`", _type(column), _role(column), column.doc or "") for column in table.columns]
    unique = [
        f"unique: {', '.join(column.name for column in constraint.columns)}"
        for constraint in table.constraints
        if isinstance(constraint, UniqueConstraint) and len(constraint.columns) > 1
    ]
    indexed = [f"index: {', '.join(column.name for column in index.columns)}" for index in table.indexes]
    notes = "; ".join([*sorted(unique), *sorted(indexed)])
    grid = _grid(("column", "type", "role", "meaning"), rows)
    return "\n".join([f"### {table.name}\n", f"{meaning}\n", grid, *([f"{notes}.\n"] if notes else [])])


def _type(column: Column[object]) -> str:
    return column.type.compile(dialect=_DIALECT).lower()


def _role(column: Column[object]) -> str:
    roles = ["key"] if column.primary_key else []
    roles += ["unique"] if column.unique else []
    roles += [f"→ {key.column.table.name}" for key in column.foreign_keys]
    roles += ["may be null"] if column.nullable else []
    return ", ".join(roles)


def _views() -> Iterator[str]:
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        Base.metadata.create_all(connection)
        views.create_all(connection)
        inspector = inspect_database(connection)
        for view in views.ALL:
            columns = ", ".join(f"`{column['name']}`" for column in inspector.get_columns(view.name))
            wrapped = "\n\n".join(textwrap.fill(part, 120) for part in (view.meaning, columns))
            yield f"### {view.name}\n\n{wrapped}\n"
    engine.dispose()


def _queries() -> Iterator[str]:
    for query in QUERIES:
        yield f"### {query.question}\n\n`{query.name}`\n\n```sql\n{query.sql.strip()}\n```\n"


def _grid(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(render(), encoding="utf-8")
