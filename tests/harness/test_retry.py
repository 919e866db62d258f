"""bat-harness retry: which jobs wait again, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.status.failures import find_failed
from tests.harness import stores
from tests.harness.stores import run_command


@pytest.fixture
def address(tmp_path: Path) -> str:
    """A run with two measure jobs and three generate jobs that failed."""
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        errors = [
            "out of memory: 9 GB",
            "refused: no",
            *["error: row 100% of_it"] * 2,
            "error: row 100x ofAit",
        ]
        stores.fail(store, run_id, *errors)
    return address


def retry(capsys: pytest.CaptureFixture[str], address: str, *arguments: str, code: int = 0) -> str:
    return run_command(capsys, "retry", "--db", address, *arguments, code=code)


def failed_ids(address: str) -> list[str]:
    with stores.open_again(address) as store:
        return [job.job_id for job in find_failed(store, 1)]


def test_all_that_failed_wait_again_with_all_their_attempts(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = retry(capsys, address, "big")
    assert "5 jobs of run 'big' will be retried (generate 3, measure 2)." in printed
    assert f"bat-harness run SWEEP --db {address}" in printed
    with stores.open_again(address) as store:
        assert all(lease.failures == 0 for lease in store.claim("driver", 20, 600.0, 1))
    assert retry(capsys, address) == "Nothing to retry: no job of run 'big' failed.\n"


def test_filters_must_all_fit(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "1 job of run 'big' will" in retry(capsys, address, "--kind", "measure", "--error", "memory")
    assert len(failed_ids(address)) == 4
    none = retry(capsys, address, "--kind", "measure", "--error", "row")
    assert none == "Nothing to retry: none of the 4 failed jobs of run 'big' matches.\n"
    # Text, not a pattern of SQL.
    assert "Other failed jobs: 2." in retry(capsys, address, "--error", "100% of_it")
    assert len(failed_ids(address)) == 2


def test_jobs_by_the_beginning_of_their_id(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    ids = failed_ids(address)
    told = json.loads(
        retry(capsys, address, "--job", ids[0][:12], "--job", ids[3], "--job", ids[3][:8], "--json")
    )
    assert told == {"run": 1, "name": "big", "retried": 2, "failed": 5, "jobs": [ids[0], ids[3]]}
    assert failed_ids(address) == [ids[1], ids[2], ids[4]]


def test_a_dry_run_changes_nothing(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = retry(capsys, address, "--kind", "generate", "--dry-run")
    assert printed.splitlines() == [
        "3 failed jobs of run 'big' would be retried (generate 3):",
        "  2 x error: row 100% of_it",
        "  1 x error: row 100x ofAit",
    ]
    assert json.loads(retry(capsys, address, "--dry-run", "--json"))["retried"] == 0
    assert len(failed_ids(address)) == 5


def test_mistakes_are_one_sentence(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--kind", "generat"], "Did you mean 'generate'?"),
        (["--job", "abc"], "at least 6 digits"),
        (["--job", "0" * 12], "no failed job of run 'big' has an id that begins with '000000000000'"),
        (["small"], "no run 'small'"),
    ):
        assert message in retry(capsys, address, *arguments, code=1)
    assert len(failed_ids(address)) == 5


def test_an_id_that_fits_two_jobs_is_invalid(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness.api import runs

    monkeypatch.setattr(runs, "_SHORTEST_ID", 0)
    assert "5 failed jobs of run 'big' have ids that begin with ''" in retry(
        capsys, address, "--job", "", code=1
    )
