"""bat-harness db: versions, migration, and what a broken database looks like."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from harness.store import SCHEMA_VERSION
from tests.harness import stores
from tests.harness.stores import run_command


def change(tmp_path: Path, *statements: str) -> None:
    """Change a database behind the harness's back."""
    with sqlite3.connect(tmp_path / "results.db") as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_migrate_creates_and_then_has_nothing_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "new.db")
    assert "Created the tables" in run_command(capsys, "db", "migrate", "--db", path)
    assert "Nothing to do" in run_command(capsys, "db", "migrate", "--db", path)
    told = json.loads(run_command(capsys, "db", "migrate", "--db", path, "--json"))
    assert told == {"before": SCHEMA_VERSION, "after": SCHEMA_VERSION}


def test_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = stores.filled(tmp_path)
    printed = run_command(capsys, "db", "version", "--db", address)
    assert printed.splitlines() == [
        f"{address}: version {SCHEMA_VERSION}",
        f"This bat-harness: version {SCHEMA_VERSION}",
    ]
    change(tmp_path, "UPDATE alembic_version SET version_num = '9999'")
    assert "Install a newer bat-harness." in run_command(capsys, "db", "version", "--db", address, code=1)
    assert "the newer 9999" in run_command(capsys, "db", "migrate", "--db", address, code=1)
    assert "the newer 9999" in run_command(capsys, "status", "--db", address, code=1)
    change(tmp_path, "UPDATE alembic_version SET version_num = '0001'")
    printed = run_command(capsys, "db", "version", "--db", address, code=1)
    assert f"Run: bat-harness db migrate --db {address}" in printed
    found = json.loads(run_command(capsys, "db", "version", "--db", address, "--json", code=1))
    assert found == {"database": address, "version": "0001", "known": SCHEMA_VERSION}
    nowhere = str(tmp_path / "none.db")
    assert "there is no database" in run_command(capsys, "db", "version", "--db", nowhere, code=1)
    (tmp_path / "none.db").write_bytes(b"")
    assert "empty" in run_command(capsys, "db", "version", "--db", nowhere, code=1)


def test_a_sound_database_passes_every_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = stores.filled(tmp_path)
    printed = run_command(capsys, "db", "check", "--db", address)
    assert "the file is undamaged" in printed
    assert "failed" not in printed
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.work(store, run_id, 3)
        stores.fail(store, run_id, "error: no")
        store.claim("one:1:aa", 1, 600.0, run_id)
    found = json.loads(run_command(capsys, "db", "check", "--db", address, "--json"))
    assert len(found) > 10
    assert all(one["broken"] == 0 for one in found)


@pytest.mark.parametrize(
    ("statement", "promise", "broken"),
    [
        ("DELETE FROM scores", "every score job that is done has a result", 1),
        ("DELETE FROM token_traces WHERE item = 0", "every text has a trace", 2),
        ("UPDATE jobs SET state = 'waiting' WHERE kind = 'generate'",
         "only jobs that are done have generations", 2),
        ("UPDATE jobs SET state = 'failed' WHERE kind = 'featurize'",
         "every job that is done needs only jobs that are done", 1),
        ("UPDATE jobs SET state = 'leased', owner = 'x', lease_expires_at = '2020' WHERE kind = 'score'",
         "every leased job has a running attempt", 1),
        ("UPDATE attempts SET outcome = 'running' WHERE job_key = 1",
         "every running attempt is the latest of a leased job", 1),
        ("INSERT INTO scores (job_key, name) VALUES (77, 'mauve')",
         "every foreign key refers to an existing row", 1),
    ],
)  # fmt: skip
def test_violations_are_found(
    statement: str, promise: str, broken: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = stores.filled(tmp_path)
    change(tmp_path, statement)
    found = json.loads(run_command(capsys, "db", "check", "--db", address, "--json", code=1))
    assert {one["promise"]: one["broken"] for one in found}[promise] == broken
    printed = run_command(capsys, "db", "check", "--db", address, code=1)
    assert "such as" in printed


def test_a_damaged_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = stores.filled(tmp_path)
    path = tmp_path / "results.db"
    whole = path.read_bytes()
    path.write_bytes(whole[: 8 * 4096] + b"\xff" * (len(whole) - 8 * 4096))
    assert "is damaged" in run_command(capsys, "db", "check", "--db", address, code=1)
