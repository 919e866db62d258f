"""Which version a database's tables have, and bringing them to the one this code knows.

Versions are four digits, the names of the migrations. Views hold no data: they are made anew from views.py
after each migration, so only tables have a history.
"""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from harness.store import views
from harness.store.addresses import check_file, check_room, parse_address, shown
from harness.store.engine import Database, connect
from harness.store.errors import NoStoreError, SchemaVersionError, StoreUnavailableError

# What the code of this package expects; a test holds it to the newest migration.
SCHEMA_VERSION = "0004"

_VERSION_TABLE = "alembic_version"

# Any number, but always this one: whoever changes tables on PostgreSQL holds this lock.
_LOCK = 0x62617468


def migrate(address: str) -> tuple[str | None, str]:
    """Bring a database to this version, creating it if it is empty; return its version before and after."""
    url = parse_address(address)
    if url.get_backend_name() == "sqlite":
        check_file(url, create=True)
        check_room(url)
    database = connect(url)
    try:
        return upgrade(database)
    finally:
        database.close()


def upgrade(database: Database) -> tuple[str | None, str]:
    """Run the migrations that a database lacks, in one transaction."""
    with database.writing() as connection:
        if not database.is_sqlite:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        before = find_version(connection, database)
        if before is not None and before > SCHEMA_VERSION:
            raise _newer(before, database)
        if before != SCHEMA_VERSION:
            views.drop_all(connection)
            run_migrations(connection, SCHEMA_VERSION)
            views.create_all(connection)
        return before, SCHEMA_VERSION


def run_migrations(connection: Connection, version: str) -> None:
    """Run the migrations up to a version on an open transaction."""
    # Alembic is only needed here; opening a store that is up to date should not wait for it.
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))  # as in an ini file
    config.set_main_option("path_separator", "os")
    command.upgrade(config, version)


def find_version(connection: Connection, database: Database) -> str | None:
    """The version of a database's tables; None when it is empty, an error when it is not ours."""
    tables = inspect(connection).get_table_names()
    if _VERSION_TABLE in tables:
        found = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()
        if found is not None and not re.fullmatch(r"(?!0000)\d{4}", str(found)):
            raise SchemaVersionError(
                f"the tables of {shown(database.url)} must have a version such as {SCHEMA_VERSION}; they "
                f"have {found!r}, which bat-harness has never had. Restore a copy, or name another database."
            )
        return None if found is None else str(found)
    if tables:
        raise StoreUnavailableError(
            f"{shown(database.url)} must be empty or hold results of bat-harness; it holds other tables, "
            f"such as {sorted(tables)[0]!r}. Name another database."
        )
    return None


def check_version(version: str | None, database: Database) -> None:
    """Raise unless the tables are those this code knows."""
    if version is None:
        raise NoStoreError(
            f"the database {shown(database.url)} is empty. Start a sweep with it, or name another one."
        )
    if version > SCHEMA_VERSION:
        raise _newer(version, database)
    if version < SCHEMA_VERSION:
        raise SchemaVersionError(
            f"the tables of {shown(database.url)} must have version {SCHEMA_VERSION}; they have the older "
            f"{version}. Stop all sweeps on it, keep a copy, and run: "
            f"bat-harness db migrate --db {shown(database.url)}"
        )


def _newer(version: str, database: Database) -> SchemaVersionError:
    ours = importlib.metadata.version("bat-harness")
    return SchemaVersionError(
        f"the tables of {shown(database.url)} must have version {SCHEMA_VERSION}, which bat-harness {ours} "
        f"knows; they have the newer {version}. Install the version of bat-harness that ran "
        f"'bat-harness db migrate --db {shown(database.url)}', or a later one."
    )
