"""The version of a database's tables, and upgrading them to the version of this code.

Versions are four digits, the names of the migrations. Views hold no data: they are created again from
views.py after each migration, so only tables have migrations.
"""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from harness.store import views
from harness.store.addresses import check_file, check_free_space, parse_address, shown
from harness.store.engine import Database, connect
from harness.store.errors import NoStoreError, SchemaVersionError, StoreUnavailableError

# The version that this code expects; a test compares it with the latest migration.
SCHEMA_VERSION = "0011"

_VERSION_TABLE = "alembic_version"

# An arbitrary but fixed number: the lock that PostgreSQL holds while tables are changed.
_LOCK = 0x62617468


def migrate(address: str) -> tuple[str | None, str]:
    """Upgrade a database to this version, creating its tables if it is empty; return the versions before
    and after."""
    url = parse_address(address)
    if url.get_backend_name() == "sqlite":
        check_file(url, create=True)
        check_free_space(url)
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
    # Imported here, because opening a store that is up to date should not wait for Alembic.
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    folder = str(Path(__file__).parent / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))  # as in an ini file
    config.set_main_option("path_separator", "os")
    command.upgrade(config, version)


def find_version(connection: Connection, database: Database) -> str | None:
    """The version of a database's tables; None when it is empty. Raises when it is not ours."""
    tables = inspect(connection).get_table_names()
    if _VERSION_TABLE in tables:
        version = connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()
        if version is not None and not re.fullmatch(r"(?!0000)\d{4}", str(version)):
            raise SchemaVersionError(
                f"the tables of {shown(database.url)} must have a version such as {SCHEMA_VERSION}; they "
                f"have {version!r}, which is not a version of bat-harness. Restore a copy, or choose another "
                "database."
            )
        return None if version is None else str(version)
    if tables:
        raise StoreUnavailableError(
            f"{shown(database.url)} must be empty or hold results of bat-harness; it holds other tables, "
            f"such as {sorted(tables)[0]!r}. Choose another database."
        )
    return None


def check_version(version: str | None, database: Database) -> None:
    """Raise unless the tables have the version of this code."""
    if version is None:
        raise NoStoreError(
            f"the database {shown(database.url)} is empty. Start a sweep with it, or choose another database."
        )
    if version > SCHEMA_VERSION:
        raise _newer(version, database)
    if version < SCHEMA_VERSION:
        raise SchemaVersionError(
            f"the tables of {shown(database.url)} must have version {SCHEMA_VERSION}; they have the older "
            f"{version}. Stop all sweeps that use it, make a copy, and run: "
            f"bat-harness db migrate --db {shown(database.url)}"
        )


def _newer(version: str, database: Database) -> SchemaVersionError:
    ours = importlib.metadata.version("bat-harness")
    return SchemaVersionError(
        f"the tables of {shown(database.url)} must have version {SCHEMA_VERSION}, the version of bat-harness "
        f"{ours}; they have the newer {version}. Install the version of bat-harness that ran "
        f"'bat-harness db migrate --db {shown(database.url)}', or a later one."
    )
