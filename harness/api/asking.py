"""Any SQL about a database, with limits that suit a page, and the tables it can be about."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import islice
from typing import Any

from harness.api.queries import about_runs, check_read_only
from harness.api.runs import Database, RunName, reading
from harness.store.reference import DescribedTable, described_tables

__all__ = ["MOST_ROWS", "SECONDS", "Answer", "DescribedTable", "ask", "described_tables"]

SECONDS = 10.0
MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Answer:
    """The first rows of the answer to a query."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    has_more: bool
    seconds: float


def ask(
    db: Database, sql: str, run: RunName = None, *, limit: int = MOST_ROWS, seconds: float = SECONDS
) -> Answer:
    """The answer to a SELECT statement, up to so many rows; an error if it takes longer than so many seconds.

    `:runs` in it stands for the number of the run; default: the latest run.
    """
    check_read_only(sql)
    began = time.monotonic()
    with reading(db) as reader:
        statement = about_runs(reader, sql, run if ":runs" in sql else None)
        with reader.query(statement, seconds=seconds) as answer:
            rows = list(islice(answer.rows, limit + 1))
            columns = answer.columns
    return Answer(columns, rows[:limit], len(rows) > limit, time.monotonic() - began)
