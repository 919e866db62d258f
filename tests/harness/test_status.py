"""bat-harness status: what it counts, what it concludes, and that it never stands in the way."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from sqlalchemy import update

from harness.commands import status as command
from harness.status.failures import FailedJobError, group_errors, summarize_error
from harness.store import InstanceState, Resolution, open_store
from harness.store.tables import DriverRow, utc_now
from harness.words import counted, duration
from tests.harness import stores
from tests.harness.store import examples
from tests.harness.stores import run_command
from workers.time_use import TimeUse

# Of a process on this machine that cannot be there: numbers of processes are smaller.
DEAD = f"{socket.gethostname()}:{2**30}:aa"


def look(capsys: pytest.CaptureFixture[str], address: str, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run_command(capsys, "status", "--db", address, "--json", *arguments))
    return found


def resolve(address: str, run_id: int) -> None:
    with stores.open_again(address) as store:
        how = "rejects 12.5% of human text"
        resolution = Resolution(stores.OPEN_PARAMETER, {"match": {}}, how, 0.024, ())
        known = replace(stores.OPEN, state=InstanceState.KNOWN, parameter=0.024)
        store.add_plan(run_id, [], [], [known], [resolution])


def test_a_run_that_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = stores.filled(tmp_path)
    found = look(capsys, address)
    assert (found["name"], found["run"], found["state"], found["verdict"]) == (
        "demo",
        1,
        "done",
        "Done: all 5 jobs.",
    )
    assert {one["kind"]: one["done"] for one in found["stages"]} == {
        "measure": 1,
        "generate": 2,
        "featurize": 1,
        "score": 1,
    }
    assert found["jobs"] == {"done": 5, "leased": 0, "waiting": 0, "blocked": 0, "failed": 0, "total": 5}
    assert found["resolutions"][0]["value"] == 0.024
    printed = run_command(capsys, "status", "--db", address)
    assert "Done: all 5 jobs." in printed
    assert re.search(r"generate.* 2 of 2 +- +- +- +-", printed)
    assert "equal rejection of human text" in printed


def test_stages_and_blocked_jobs_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.work(store, run_id, 4)
        stores.fail(store, run_id, "error: no", "error: no")
        store.claim("one:1:aa", 1, 600.0, run_id)
    found = look(capsys, address)
    counts = ("done", "leased", "waiting", "blocked", "failed", "total")
    assert [(one["stage"], one["kind"], *(one[name] for name in counts)) for one in found["stages"]] == [
        ("measure", "measure", 2, 0, 0, 0, 0, 2),
        ("compare", "generate", 2, 1, 1, 0, 2, 6),
        ("compare", "featurize", 0, 0, 4, 2, 0, 6),
        ("compare", "score", 0, 0, 0, 1, 0, 1),
    ]
    assert found["jobs"]["total"] == 15
    assert [(owner["owner"], owner["leases"], owner["expired"]) for owner in found["owners"]] == [
        ("one:1:aa", 1, False)
    ]
    assert found["errors"][0]["count"] == 2
    assert "2 jobs failed, 3 jobs blocked by them." in found["verdict"]


def test_the_time_left_is_work_by_pace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.work(store, run_id, 2)
        store.claim("one:1:aa", 2, 600.0, run_id)
        stores.move_back(store, started=1000, attempts_took=100)
    found = look(capsys, address)
    # No kind of what is left has ever been done.
    assert found["state"] == "running"
    assert (found["seconds_left"], found["seconds_left_is_least"]) == (0.0, True)
    with stores.open_again(address) as store:
        store.take_back("one:1:aa")
        stores.work(store, run_id, 2)
        store.claim("one:1:aa", 2, 600.0, run_id)
        stores.move_back(store, started=1000, attempts_took=100)
    found = look(capsys, address)
    # 4 generate jobs of 100 s are left, of which 2 are leased; a tenth allows for a machine that is busy.
    assert found["seconds_left"] == pytest.approx(200, rel=0.1)
    assert "at least 3 min" in found["verdict"]
    assert {rate["kind"]: rate["done"] for rate in found["rates"]} == {"measure": 2, "generate": 2}


def test_every_state_has_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        empty = store.add_run("empty", {}, {})
        assert look(capsys, address, "empty")["verdict"] == "Nothing is planned yet."
        assert look(capsys, address, str(empty))["name"] == "empty"
        found = look(capsys, address, "big")
        assert (found["state"], found["open_parameters"]) == ("stopped", [stores.OPEN_PARAMETER])
        assert found["verdict"].startswith("Stopped: 0 of 15 jobs done (0%). Run the same command")
        leases = store.claim("one:1:aa", 1, 600.0, run_id)
        examples.let_expire(store, *leases)
        assert look(capsys, address, "big")["state"] == "silent"
        store.take_back("one:1:aa")
        while leases := store.claim("one:1:aa", 10, 600.0, run_id):
            assert all(store.complete_many([(lease, examples.result_of(lease)) for lease in leases]))
        found = look(capsys, address, "big")
        assert found["state"] == "unresolved"
        assert f"1 parameter unresolved, such as that of {stores.OPEN_PARAMETER}." in (found["verdict"])
        resolve(address, run_id)
        assert look(capsys, address, "big")["state"] == "done"


def test_a_run_that_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.fail(store, run_id, "worker lost: The actor died.", *["x"] * 7)
        errors = ["out of memory: 3 GB\nand more"] * 2 + [stores.RAY_ERROR.format(pid=n) for n in range(6)]
    assert look(capsys, address)["state"] == "failed"
    with stores.open_again(address) as store:
        store.retry_failed(run_id)
        stores.fail(store, run_id, *errors)
    found = look(capsys, address)
    assert [(group["count"], group["error"]) for group in found["errors"]] == [
        (6, "error: ValueError: the batch has NaN in row 7"),
        (2, "out of memory: 3 GB"),
    ]
    assert found["errors"][1]["kinds"] == ["measure"]
    assert "bat-harness retry" in found["verdict"]
    printed = run_command(capsys, "status", "--db", address, "--check", code=3)
    assert "6  generate  error: ValueError: the batch has NaN in row 7" in printed


def test_check_is_content_with_a_run_that_only_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address, _ = stores.planned(tmp_path)
    run_command(capsys, "status", "--db", address, "--check")


def test_many_errors_and_parameters_are_cut_with_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.fail(store, run_id, *[f"error: number {number}" for number in range(8)])
        for number in range(7):
            store.add_resolution(run_id, Resolution(f"parameter {number}", {}, "so", number / 10, ()))
    printed = run_command(capsys, "status", "--db", address)
    assert "and 3 other errors: bat-harness query --name failures" in printed
    assert "and 2 earlier: bat-harness query --name resolutions" in printed
    assert "parameter 6" in printed
    assert "parameter 1\n" not in printed


def test_every_worker_has_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        for lease in store.claim("one:1:aa", 3, 600.0, run_id, workers=["node:7", "node:8", "node:8"]):
            store.complete(lease, examples.result_of(lease))
        store.claim("one:1:aa", 3, 600.0, run_id, workers=["node:7", "node:9", "node:7"])
        stores.move_back(store, started=60, attempts_took=10)
    found = look(capsys, address)
    assert [(one["worker"], one["kind"], one["behind"], one["done"]) for one in found["workers"]] == [
        ("node:7", "generate", 1, 1),
        ("node:8", None, 0, 2),
        ("node:9", "generate", 0, 0),
    ]
    assert found["rates_over_seconds"] == pytest.approx(60, rel=0.1)
    lines = run_command(capsys, "status", "--db", address).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("worker "))
    words = [line.split() for line in lines[start + 2 : start + 5]]
    assert [(*row[:2], *row[-4:]) for row in words] == [
        ("node:7", "generate", "1", "1", "1.0", "-"),
        ("node:9", "generate", "-", "-", "0.0", "-"),
        ("node:8", "-", "-", "2", "2.0", "-"),
    ]


def test_whether_the_model_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, run_id = stores.planned(tmp_path)
    use = TimeUse(forward=60.0, propose=10.0, settle=50.0, waiting=30.0, batches_in_flight=2)
    with stores.open_again(address) as store:
        leases = store.claim("one:1:aa", 4, 600.0, run_id)
        completions = [(lease, examples.result_of(lease)) for lease in leases]
        store.complete_many(completions, {leases[0].job_key: use.to_json(), leases[1].job_key: use.to_json()})
    assert look(capsys, address)["time_use"] == [
        {"kind": "measure", **TimeUse(120.0, 20.0, 100.0, 60.0, 2).to_json()}
    ]
    lines = run_command(capsys, "status", "--db", address).splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("time of workers"))
    assert lines[start].split("  ")[0] == "time of workers"
    assert lines[start + 2].split() == ["measure", "60%", "10%", "30%", "1", "min", "40", "s", "2"]


def test_a_driver_without_leases_is_there_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        store.beat("one:1:aa", run_id, "planning")
        found = look(capsys, address)
        assert (found["state"], found["drivers"][0]["owner"]) == ("waiting", "one:1:aa")
        assert found["verdict"].startswith("Waiting: 0 of 15 jobs done (0%), none running. A driver is pla")
        store.beat("one:1:aa", run_id, "starting workers")
        assert "A driver is starting workers" in look(capsys, address)["verdict"]
        with store._database.writing() as connection:  # not heard of for long
            connection.execute(update(DriverRow).values(seen_at=utc_now(-3600)))
        assert look(capsys, address)["state"] == "stopped"
        store.beat("one:1:aa", run_id, "working")
        store.leave("one:1:aa")
        assert look(capsys, address)["state"] == "stopped"
        store.beat(DEAD, run_id, "working")
        assert look(capsys, address)["state"] == "stopped"  # it can be seen to be gone
        store.claim(DEAD, 1, 600.0, run_id)
        assert look(capsys, address)["state"] == "silent"


def test_of_many_workers_some_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"sqlite:///{tmp_path / 'results.db'}"
    with open_store(address) as store:
        run_id = examples.add(store, *map(examples.score_job, range(20)))
        store.claim("one:1:aa", 20, 600.0, run_id, workers=[f"node:{number}" for number in range(20)])
    printed = run_command(capsys, "status", "--db", address)
    assert printed.count("node:") == 16
    assert "\nand 4 more: bat-harness query --name workers" in printed
    answer = run_command(capsys, "query", "--db", address, "--name", "workers", "--format", "csv")
    assert len(answer.splitlines()) == 21


@pytest.mark.parametrize("columns", [80, 100])
def test_the_picture_fits(
    columns: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.work(store, run_id, 3)
        stores.fail(store, run_id, "error: " + "very long " * 30)
        node = "a-node-with-a-name.of-some-cluster.example:123456"
        store.claim(f"{node}:0123abcd", 2, 600.0, run_id, workers=[node, node])
    resolve(address, run_id)
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run_command(capsys, "status", "--db", address).splitlines()
    assert max(map(len, lines)) <= columns
    assert any(line.startswith("compare  generate") for line in lines)
    assert any("blocked  failed" in line for line in lines)


def test_runs_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        stores.work(store, run_id, 3)
        store.add_run("later", {}, {})
    found = json.loads(run_command(capsys, "status", "--db", address, "--runs", "--json"))
    assert [(one["name"], one["done"], one["waiting"], one["total"]) for one in found] == [
        ("later", 0, 0, 0),
        ("big", 3, 12, 15),
    ]
    printed = run_command(capsys, "status", "--db", address, "--runs")
    assert re.search(r"1  big +stopped +\S+ \S+ +3 of 15 +- +[0-9a-f]{8} +- *$", printed, re.MULTILINE)
    assert re.search(r"2  later +empty ", printed)


def test_mistakes_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = f"sqlite:///{tmp_path / 'results.db'}"
    assert "there is no database at" in run_command(capsys, "status", "--db", address, code=1)
    open_store(address).close()
    said = run_command(capsys, "status", "--db", address, code=1)
    assert "has no run yet. Start one with: bat-harness run" in said
    assert run_command(capsys, "status", "--db", address, "--runs").endswith("has no run yet.\n")
    address = stores.filled(tmp_path)
    said = run_command(capsys, "status", "dmeo", "--db", address, code=1)
    assert "no run 'dmeo'" in said
    assert "'demo'" in said
    assert "no run '7'" in run_command(capsys, "status", "7", "--db", address, code=1)


def test_a_database_may_be_named_by_its_file_or_by_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stores.filled(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert look(capsys, "results.db")["state"] == "done"
    monkeypatch.setenv("BAT_HARNESS_DB", str(tmp_path / "results.db"))
    monkeypatch.chdir("/")
    assert "Done" in run_command(capsys, "status")


def test_looking_does_not_wait_for_a_writer_nor_the_writer_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address, _ = stores.planned(tmp_path)
    writer = sqlite3.connect(tmp_path / "results.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE jobs SET priority = 9")
    assert look(capsys, address)["jobs"]["waiting"] == 15  # an error after a minute, if it had to wait
    writer.execute("COMMIT")
    writer.close()


class Clock:
    """Stands for time: each time somebody sleeps, something happens; at the end Ctrl-C."""

    def __init__(self, *events: Any) -> None:
        self.events = list(events)
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if not self.events:
            raise KeyboardInterrupt
        self.events.pop(0)()

    strftime = staticmethod(time.strftime)


def test_watching_a_file_or_pipe_writes_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store:
        clock = Clock(lambda: stores.work(store, run_id, 3), lambda: stores.fail(store, run_id, "error: no"))
        monkeypatch.setattr(command, "time", clock)
        lines = run_command(capsys, "status", "--db", address, "--watch", "--interval", "7").splitlines()
        assert [re.sub(r"^\d\d:\d\d:\d\d ", "", line)[:23] for line in lines] == [
            "Stopped: 0 of 15 jobs d",
            "Stopped: 3 of 15 jobs d",
            "Stopped: 3 of 15 jobs d",
        ]
        assert "1 job failed" in lines[2]
        assert clock.slept == [7.0, 7.0, 7.0]
        monkeypatch.setattr(command, "time", Clock(lambda: stores.work(store, run_id, 1)))
        watched = run_command(capsys, "status", "--db", address, "--watch", "--json", "--check", code=3)
        assert [json.loads(line)["jobs"]["done"] for line in watched.splitlines()] == [3, 4]


def test_watching_in_a_terminal_draws_over_the_last_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, run_id = stores.planned(tmp_path)
    monkeypatch.setattr(command, "Console", lambda: Console(force_terminal=True, width=90, height=30))
    with stores.open_again(address) as store:
        monkeypatch.setattr(command, "time", Clock(lambda: stores.work(store, run_id, 2)))
        printed = run_command(capsys, "status", "--db", address, "--watch")
    assert printed.index("0 of 2") < printed.index("2 of 2")
    assert "\x1b[1A" in printed  # up a line, to draw again
    assert printed.rstrip().endswith("\x1b[?25h")  # the cursor is back


def test_errors_in_one_line() -> None:
    assert summarize_error(stores.RAY_ERROR.format(pid=3)) == "error: ValueError: the batch has NaN in row 7"
    assert summarize_error("") == "no error was recorded"
    assert summarize_error("refused: a\nb") == "refused: a"
    assert summarize_error("Traceback (most recent call last):\n  x\ntorch.OutOfMemoryError: no\n") == (
        "torch.OutOfMemoryError: no"
    )
    assert (
        summarize_error("error: Traceback (most recent call last):\n  x\nodd ending") == "error: odd ending"
    )
    assert group_errors([]) == []
    jobs = [FailedJobError(str(number), examples.JobKind.SCORE, f"e{number % 2}") for number in range(5)]
    assert [(group.error, group.count) for group in group_errors(jobs)] == [("e0", 3), ("e1", 2)]


def test_durations_and_counts_in_words() -> None:
    said = {0.2: "0 s", 45: "45 s", 90: "1 min 30 s", 900: "15 min", 5400: "1 h 30 min", 36_500: "10 h"}
    assert {seconds: duration(seconds) for seconds in said} == said
    assert duration(2.5 * 86_400) == "2 d 12 h"
    assert duration(-3) == "0 s"
    assert (counted(1, "job"), counted(1200, "job"), counted(0, "job")) == ("1 job", "1,200 jobs", "0 jobs")
