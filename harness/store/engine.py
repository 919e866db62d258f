"""Opening a database: the settings of each backend, and the only code that commits and rolls back.

SQLite keeps a write-ahead log, so readers see the last commit and never wait for the writer. A writer takes
the lock, and waits for it if needed, when its transaction begins: a transaction that begins by reading can
fail when it starts to write.
"""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from harness.jobs import canonical_json
from harness.store.addresses import file_of
from harness.store.error_messages import explained
from harness.store.errors import StoreUnavailableError

# How long a writer waits for another one. A bulk insert holds the lock for seconds at most.
_BUSY_SECONDS = 60.0
_CONNECT_SECONDS = 10

# Steps of SQLite's virtual machine: some milliseconds.
_STEPS_BETWEEN_SIGNALS = 100_000

# Views use ->> on JSON, which came with 3.38 (2022).
_LEAST_SQLITE = (3, 38, 0)


@dataclass(frozen=True, slots=True)
class Database:
    """An engine and its address. All work happens inside `reading` or `writing`."""

    url: URL
    engine: Engine

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: committed at the end, rolled back by any exception."""
        with explained(self.url), self.engine.connect() as connection:
            if self.is_sqlite:
                connection.execution_options(bat_begin="BEGIN IMMEDIATE")
            with connection.begin():
                yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One snapshot of the database. Any change to it is rolled back at the end."""
        with explained(self.url), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with connection.begin() as transaction:
                yield connection
                transaction.rollback()

    def close(self) -> None:
        self.engine.dispose()


def connect(url: URL, *, read_only: bool = False, durable: bool = False) -> Database:
    """Create an engine; nothing is opened before the first transaction.

    What a durable engine has committed survives a crash of the machine, too, at the price of a slower commit.
    """
    if url.get_backend_name() == "sqlite":
        return Database(url, _sqlite_engine(url, read_only, durable))
    return Database(url, _postgresql_engine(url, read_only))


def _sqlite_engine(url: URL, read_only: bool, durable: bool) -> Engine:
    if sqlite3.sqlite_version_info < _LEAST_SQLITE:
        least = ".".join(map(str, _LEAST_SQLITE))
        raise StoreUnavailableError(
            f"SQLite must be version {least} or later; this Python has {sqlite3.sqlite_version}. "
            "Use a newer Python, or PostgreSQL."
        )

    path = file_of(url)

    def open_file() -> sqlite3.Connection:
        if not read_only:
            return _open(path, "mode=rwc", partial(_set_up_writer, durable=durable))
        try:
            return _open(path, "mode=ro", _set_up_reader)
        except sqlite3.OperationalError:
            # A reader shares memory with the writer through a file beside the database. If it may not
            # create that file and there is no log, nobody is writing, and the database can be read as it is.
            if _is_writable(path.parent) or path.with_name(f"{path.name}-wal").exists():
                raise
            return _open(path, "mode=ro&immutable=1", _set_up_reader)

    engine = create_engine(url, creator=open_file, json_serializer=canonical_json)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql(connection.get_execution_options().get("bat_begin", "BEGIN"))

    return engine


def _open(path: Path, parameters: str, set_up: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?{parameters}",
        uri=True,
        timeout=_BUSY_SECONDS,
        # Python's own transactions are off: the engine's "begin" event starts them.
        isolation_level=None,
        # SQLAlchemy's pool hands a connection to one thread at a time.
        check_same_thread=False,
    )
    try:
        # The view of rejection rates needs exp, which SQLite has only when it was built with it.
        connection.create_function("exp", 1, math.exp, deterministic=True)
        connection.execute("PRAGMA foreign_keys = ON")
        set_up(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _set_up_reader(connection: sqlite3.Connection) -> None:
    # A query runs outside of Python, which cannot react to Ctrl-C meanwhile; here it can, now and then.
    connection.set_progress_handler(lambda: 0, _STEPS_BETWEEN_SIGNALS)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("SELECT count(*) FROM sqlite_master")  # opens the file
    connection.set_authorizer(_without_other_files)


def _without_other_files(action: int, *_: str | None) -> int:
    """Forbid ATTACH and VACUUM INTO, which would open or create other files."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


def _set_up_writer(connection: sqlite3.Connection, durable: bool) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise StoreUnavailableError(
            f"SQLite must be able to keep a write-ahead log beside the database; here its mode is {mode!r}. "
            "Put the database on a local disk."
        )
    # With NORMAL, a crash of the machine may lose the last commits, never part of one; a crash of a process
    # loses none.
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")


def _postgresql_engine(url: URL, read_only: bool) -> Engine:
    settings = "-c TimeZone=UTC" + (" -c default_transaction_read_only=on" if read_only else "")
    arguments: dict[str, Any] = {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "bat-harness",
        "options": settings,
    }
    # Settings in the address itself take precedence.
    arguments = {name: value for name, value in arguments.items() if name not in url.query}
    try:
        # A connection is tested before it is used, so that a restart of the server goes unnoticed.
        return create_engine(url, connect_args=arguments, json_serializer=canonical_json, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise StoreUnavailableError(
            "PostgreSQL needs the package psycopg, which is not installed. Run: pip install "
            "'bat-harness[postgres]'"
        ) from None
