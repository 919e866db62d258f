"""Runs of a database: listed, chosen, their status, their failed jobs retried; reports."""

from __future__ import annotations

from pathlib import Path

import pytest

import harness
from harness.api.runs import choose_run, choose_runs
from harness.store import open_reader, open_store
from tests.harness import stores


@pytest.fixture
def failing(tmp_path: Path) -> str:
    """A run with three failed jobs, two of them measure jobs."""
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.fail(store, run_id, "out of memory: 9 GB", "error: row 7", "error: row 7")
    return address


def test_runs_and_status_as_values(failing: str) -> None:
    [summary] = harness.list_runs(failing)
    assert (summary.run.name, summary.failed, summary.total) == ("big", 3, 15)
    status = harness.get_status(failing, "big")
    assert (status.count("failed"), status.count("total")) == (3, 15)
    assert str(status).startswith("Stopped: 0 of 15 jobs done")
    with open_reader(failing) as reader:  # one that is open stays open
        assert harness.get_status(reader).run == status.run
        assert harness.list_runs(reader) == [summary]
        assert reader.runs()


def test_a_run_by_name_by_number_and_the_latest(tmp_path: Path) -> None:
    file = tmp_path / "r.db"
    with open_store(file) as store:
        with pytest.raises(harness.BatError, match="has no run yet"):
            choose_run(store)
        first, second = (store.add_run(name, {"name": name}, {}) for name in ("first", "2024"))
        assert choose_run(store).name == "2024"
        assert choose_run(store, "first").id == choose_run(store, first).id == choose_run(store, "1").id
        assert choose_run(store, "2024").id == second
        assert [run.id for run in choose_runs(store, ["first", 1, "2024"])] == [first, second]
        assert [run.id for run in choose_runs(store, "first")] == [first]
        with pytest.raises(harness.BatError, match="there is no run 'third'"):
            choose_run(store, "third")


def test_retrying(failing: str) -> None:
    outcome = harness.retry_failed(failing, kind="measure", error="memory", dry_run=True)
    assert (len(outcome.failed), len(outcome.selected), outcome.retried) == (3, 1, 0)
    assert outcome.database == failing
    [memory] = outcome.selected
    assert harness.retry_failed(failing, "big", jobs=[memory.job_id[:10]]).retried == 1
    assert harness.retry_failed(failing).retried == 2
    assert harness.retry_failed(failing).failed == ()
    with pytest.raises(harness.BatError, match=r"the kind of job must be one of .*Did you mean 'measure'\?"):
        harness.retry_failed(failing, kind="mesure")


def test_a_report(finished: str, tmp_path: Path) -> None:
    begun: list[str] = []

    def progress(title: str, total: int) -> object:
        begun.append(title)
        return lambda done: None

    written = harness.write_report(finished, str(tmp_path / "report"), "wider", progress=progress)  # type: ignore[arg-type]
    assert written.page == tmp_path / "report" / "report.html"
    assert written.page in written.files
    assert written.page.exists()
    assert [run.name for run in written.runs] == ["wider"]
    assert begun == ["Tables and figures"]
    with pytest.raises(harness.BatError, match="must be an empty folder"):
        harness.write_report(finished, tmp_path / "report")
