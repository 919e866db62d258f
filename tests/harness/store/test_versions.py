"""Versions of the tables: migrations lead to what the code expects, and other versions are told."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

import harness.store
from bat.errors import BatError
from harness.store import SCHEMA_VERSION, SchemaVersionError, migrate, open_reader, open_store
from harness.store.addresses import parse_address
from harness.store.engine import Database, connect
from harness.store.tables import Base
from harness.store.versions import run_migrations
from harness.store.views import ALL
from tests.harness.store import examples

FIRST = "0001"


def scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(Path(harness.store.__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql"))])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without any tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    import psycopg

    server: str = request.getfixturevalue("postgresql_server")
    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS empty")
        connection.execute("CREATE DATABASE empty")
    return server.format("empty")


def schema(connection: Connection) -> dict[str, Any]:
    """Everything about tables that matters and that the comparison of Alembic leaves out."""
    inspector = inspect(connection)
    found: dict[str, Any] = {}
    for table in sorted(set(inspector.get_table_names()) - {"alembic_version"}):
        found[table] = {
            "columns": [
                (column["name"], str(column["type"]), column["nullable"])
                for column in inspector.get_columns(table)
            ],
            "key": inspector.get_pk_constraint(table),
            "checks": sorted(check["sqltext"] for check in inspector.get_check_constraints(table)),
            "unique": sorted(str(entry) for entry in inspector.get_unique_constraints(table)),
            "foreign": sorted(str(entry) for entry in inspector.get_foreign_keys(table)),
            "indexes": sorted(str(entry) for entry in inspector.get_indexes(table)),
        }
    return found


def test_the_newest_migration_is_what_the_code_expects() -> None:
    assert scripts().get_current_head() == SCHEMA_VERSION
    versions = [script.revision for script in scripts().walk_revisions()]
    assert versions[-1] == FIRST
    # Versions are compared as text, so they must have one length.
    assert versions == sorted(versions, reverse=True)
    assert {len(version) for version in versions} == {4}


def test_migrating_from_nothing_and_from_the_first_version_gives_the_tables_of_the_code(empty: str) -> None:
    database = connect(parse_address(empty))
    with database.writing() as connection:
        run_migrations(connection, FIRST)
    assert migrate(empty) == (FIRST, SCHEMA_VERSION)
    with database.writing() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
        migrated = schema(connection)
        # The same tables, made from the code at once.
        for view in ALL:
            connection.execute(text(f"DROP VIEW IF EXISTS {view.name}"))
        Base.metadata.drop_all(connection)
        Base.metadata.create_all(connection)
        assert schema(connection) == migrated
    database.close()


OLD_ROWS = (
    "INSERT INTO runs (id, identity, name, config, versions, created_at, started_at) "
    "VALUES (1, 'x', 'old', '{}', '{}', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)",
    "INSERT INTO jobs (key, id, kind, spec, state, priority, attempt, failures, losses, created_at) VALUES "
    "(1, 'one', 'score', '{}', 'done', 0, 1, 0, 0, CURRENT_TIMESTAMP), "
    "(2, 'two', 'score', '{}', 'waiting', 0, 0, 0, 0, CURRENT_TIMESTAMP)",
    "INSERT INTO run_jobs (run_id, job_key) VALUES (1, 1), (1, 2)",
    "INSERT INTO attempts (job_key, number, owner, outcome, started_at, ended_at) "
    "VALUES (1, 1, 'driver', 'done', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)",
    "INSERT INTO scores (job_key, name, value) VALUES (1, 'mauve', 0.9), (1, 'refusals', 0.2)",
    "INSERT INTO resolutions (id, run_id, parameter, asked, how, value, created_at) "
    "VALUES (1, 1, 'p', '{}', 'so', '0.5', CURRENT_TIMESTAMP)",
)


def test_what_an_old_database_holds_is_kept_and_goes_on(empty: str) -> None:
    database = connect(parse_address(empty))
    with database.writing() as connection:
        run_migrations(connection, FIRST)
        for statement in OLD_ROWS:
            connection.execute(text(statement.replace(":", r"\:")))
    database.close()
    with pytest.raises(SchemaVersionError, match="older 0001"):
        open_store(empty)
    assert migrate(empty) == (FIRST, SCHEMA_VERSION)
    with open_store(empty) as store:
        scores = {score.name: score.value for score in store.scores(["one"])}
        assert scores == {"mauve": 0.9, "rejections": 0.2}  # the second had another name
        [resolution] = store.resolutions(1)
        assert (resolution.value, resolution.detail) == (0.5, None)
        assert store.workers(1) == []  # nobody noted who they were
        (lease,) = store.claim("driver", 1, 600.0, 1, workers=["node:1"])
        assert lease.job_id == "two"
        assert [worker.worker for worker in store.workers(1)] == ["node:1"]
        store.beat("driver", 1, "working")
        assert [driver.doing for driver in store.drivers(1)] == ["working"]


def test_a_new_database_is_migrated_as_it_is_opened(empty: str) -> None:
    assert migrate(empty) == (None, SCHEMA_VERSION)
    assert migrate(empty) == (SCHEMA_VERSION, SCHEMA_VERSION)
    with open_store(empty) as store, open_reader(empty) as reader:
        examples.fill(store)
        for view in ALL:
            with reader.query(f"SELECT * FROM {view.name}") as answer:
                assert len(list(answer.rows)) > 0


def test_several_drivers_may_create_it_at_once(empty: str) -> None:
    def create(number: int) -> int:
        with open_store(empty) as store:
            return store.add_run(f"run {number}", {}, {})

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(create, range(4)))) == 4


def set_version(address: str, version: str) -> None:
    database: Database = connect(parse_address(address))
    with database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    database.close()


@pytest.mark.parametrize("opening", [open_store, open_reader])
def test_another_version_is_told_with_what_to_do(address: str, opening: Any) -> None:
    try:
        for version, words in (("0001", "older 0001"), ("9999", "newer 9999")):
            set_version(address, version)
            with pytest.raises(SchemaVersionError) as caught:
                opening(address)
            sentence = str(caught.value)
            assert f"must have version {SCHEMA_VERSION}" in sentence
            assert words in sentence
            assert "bat-harness db migrate --db " in sentence
        with pytest.raises(BatError, match="newer 9999"):
            migrate(address)
        for version in ("0000", "zzz"):
            set_version(address, version)
            for use in (opening, migrate):
                with pytest.raises(SchemaVersionError, match=f"they have '{version}', which"):
                    use(address)
    finally:
        set_version(address, SCHEMA_VERSION)


def test_a_migration_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.db"

    def fail(connection: Connection) -> None:
        raise RuntimeError("in the middle")

    monkeypatch.setattr("harness.store.views.create_all", fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        migrate(f"sqlite:///{path}")
    engine = create_engine(f"sqlite:///{path}")
    assert inspect(engine).get_table_names() == []
    engine.dispose()
