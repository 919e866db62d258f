"""The commands on PostgreSQL, which gives numbers, times and JSON back as other types than SQLite."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.store import RetryPolicy, open_store
from harness.store.queries import NAMED_QUERIES
from tests.harness import stores
from tests.harness.store import examples
from tests.harness.store.conftest import postgresql_address, postgresql_server  # noqa: F401
from tests.harness.stores import run_command

pytestmark = pytest.mark.xdist_group("postgresql")


def test_every_command(
    postgresql_address: str,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BAT_HARNESS_DB", postgresql_address)
    with open_store(postgresql_address, retry=RetryPolicy(max_failures=1)) as store:
        run_id = examples.fill(store)
        jobs = [examples.score_job(number) for number in range(3)]
        jobs.append(examples.score_job(3, (jobs[0].id,)))
        store.add_jobs(run_id, jobs, 1)
        stores.fail(store, run_id, "error: no")
        store.claim("one:1:aa", 1, 600.0, run_id)

    status = json.loads(run_command(capsys, "status", "--json", "--check", code=3))
    assert status["jobs"] == {"done": 5, "leased": 1, "waiting": 1, "blocked": 1, "failed": 1, "total": 9}
    assert status["state"] == "running"
    assert status["seconds_left"] is not None
    assert "1 job failed, 1 job blocked by it." in " ".join(run_command(capsys, "status").split())
    assert json.loads(run_command(capsys, "status", "--runs", "--json"))[0]["total"] == 9

    for name in NAMED_QUERIES:
        json.loads(run_command(capsys, "query", "--name", name, "--json"))
        run_command(capsys, "query", "--name", name, "--format", "table")
        run_command(capsys, "query", "--name", name, "-o", str(tmp_path / f"{name}.parquet"))
    for sql in (
        "DELETE FROM jobs RETURNING id",
        "WITH gone AS (DELETE FROM scores RETURNING 1) SELECT * FROM gone",
    ):
        assert run_command(capsys, "query", sql, code=1).startswith("error: ")
    assert json.loads(run_command(capsys, "query", "SELECT count(*) AS n FROM scores", "--json")) == [
        {"n": 1}
    ]

    run_command(capsys, "export", "-o", str(tmp_path / "postgresql"))
    stores.filled(tmp_path)
    run_command(capsys, "export", "-o", str(tmp_path / "sqlite"), "--db", str(tmp_path / "results.db"))
    for table in ("generations", "tokens", "measurements", "measurement_thresholds", "features", "prefixes"):
        left, right = (
            pq.read_table(tmp_path / name / f"{table}.parquet") for name in ("postgresql", "sqlite")
        )
        assert left.equals(right)

    assert "1 job of run 'demo' will be retried" in run_command(capsys, "retry", "--error", "no")
    assert all(one["broken"] == 0 for one in json.loads(run_command(capsys, "db", "check", "--json")))
    assert "version" in run_command(capsys, "db", "version")
    assert "Nothing to do" in run_command(capsys, "db", "migrate")
