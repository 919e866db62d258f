"""Queries that must end: a limit on the time of one statement, and on the size of one value."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from bat.errors import InvalidInputError
from harness.store.error_messages import was_interrupted

# Steps of SQLite's virtual machine between two looks at the clock: a millisecond or so.
_STEPS = 10_000
# A function of SQL can make a value of a gigabyte from a few letters.
_LARGEST_VALUE = 64 * 2**20
_POSTGRESQL_CANCELLED = "57014"


@contextmanager
def limited(connection: Connection, seconds: float) -> Iterator[None]:
    """Stop what runs inside after so many seconds, with an error that says so."""
    deadline = time.monotonic() + seconds
    raw: Any = connection.connection.dbapi_connection
    if isinstance(raw, sqlite3.Connection):
        raw.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        before = raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
    else:
        connection.execute(text(f"SET LOCAL statement_timeout = {max(1, round(1000 * seconds))}"))
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        if not was_stopped(error):
            raise
        raise InvalidInputError(
            f"a query must end within {seconds:g} s; this one did not. Select less, such as one run with "
            "WHERE run_id = 1, or use bat-harness query, which has no limit."
        ) from error
    finally:
        if isinstance(raw, sqlite3.Connection):
            raw.set_progress_handler(lambda: 0, 10 * _STEPS)
            raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def was_stopped(error: DBAPIError | sqlite3.Error) -> bool:
    """Whether a limit, or Ctrl-C, ended a query."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return was_interrupted(error) or getattr(cause, "sqlstate", None) == _POSTGRESQL_CANCELLED
