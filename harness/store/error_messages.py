"""Errors of a database, turned into one sentence that says what to do next."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from harness.store.addresses import file_of, shown
from harness.store.errors import StoreError, StoreLostError, StoreUnavailableError

_RESUME = "Then run the same command again to resume; committed results are kept."

# Beginnings of SQLite's error names, https://www.sqlite.org/rescode.html.
_SQLITE_SENTENCES = {
    "SQLITE_NOTADB": "the file {path} must be an SQLite database; it is something else. Name another file.",
    "SQLITE_CORRUPT": "the database {path} is damaged ({detail}). Restore a copy, or start another one.",
    "SQLITE_READONLY": "the database {path} must be writable; it is not. Check who owns it and its folder.",
    "SQLITE_CANTOPEN": "the database {path} cannot be opened or created. Check who owns it and its folder.",
    "SQLITE_FULL": "the disk of the database {path} is full. Free some space. " + _RESUME,
    "SQLITE_IOERR": "the disk of the database {path} cannot be read or written ({detail}). " + _RESUME,
    "SQLITE_BUSY": "another process is writing the database {path} and does not finish. "
    "Find it, for example with: fuser {path}",
}

# Codes of PostgreSQL, https://www.postgresql.org/docs/current/errcodes-appendix.html.
_POSTGRESQL_SENTENCES = {
    "53100": "the disk of the database {url} is full. Free some space. " + _RESUME,
    "25006": "the database {url} is read-only here.",
    "42501": "the user of {url} must be allowed to create and write tables ({detail}).",
}

# Broken connections, a server that shuts down or starts up, and one that has no connection left.
_LOST_CONNECTIONS = ("08", "57P", "53300")
_REFUSED_CONNECTIONS = ("28", "3D")  # a wrong password, or no such database


@contextmanager
def explained(url: URL) -> Iterator[None]:
    """Turn a database exception raised inside into a StoreError."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        if was_interrupted(error):
            raise KeyboardInterrupt from None
        raise explain(error, url) from error


def was_interrupted(error: DBAPIError | sqlite3.Error) -> bool:
    """Whether the user stopped an SQLite query: Ctrl-C in a callback of SQLite ends as an error of SQLite."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return getattr(cause, "sqlite_errorname", "") == "SQLITE_INTERRUPT"


def detail_of(error: DBAPIError | sqlite3.Error) -> str:
    """The first line of the database's own message."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if getattr(cause, "sqlite_errorname", "") == "SQLITE_AUTH":
        return "it would open or create another file"  # the only thing that harness.store.engine forbids
    return next(iter(str(cause).strip().splitlines()), type(cause).__name__).rstrip(".")


def explain(error: DBAPIError | sqlite3.Error, url: URL) -> StoreError:
    """Say what happened, to which database, and what to do."""
    cause, detail = error.orig if isinstance(error, DBAPIError) else error, detail_of(error)
    if url.get_backend_name() == "sqlite":
        name = getattr(cause, "sqlite_errorname", "")
        for beginning, sentence in _SQLITE_SENTENCES.items():
            if name.startswith(beginning):
                return StoreUnavailableError(sentence.format(path=file_of(url), detail=detail))
        return StoreError(f"the database {file_of(url)} reported an error: {detail}.")
    code = getattr(cause, "sqlstate", None)
    if code in _POSTGRESQL_SENTENCES:
        return StoreUnavailableError(_POSTGRESQL_SENTENCES[code].format(url=shown(url), detail=detail))
    sentence = (
        f"PostgreSQL must be reachable at {shown(url)}; {detail}. Check that the server is running, and "
        "check the address, user and database."
    )
    # Psycopg has no code for a server that it never reached, or that vanished.
    lost = type(cause).__name__ in ("OperationalError", "InterfaceError") and code is None
    if lost or (code or "").startswith(_LOST_CONNECTIONS):
        return StoreLostError(sentence, detail)
    if (code or "").startswith(_REFUSED_CONNECTIONS):
        return StoreUnavailableError(sentence)
    return StoreError(f"the database {shown(url)} reported an error: {detail}.")
