"""bat-harness run: once, again, interrupted, failing; in its own process where signals and Ray matter."""

from __future__ import annotations

import errno
import io
import json
import logging
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from bat.errors import InvalidInputError
from harness import cli
from harness.commands.console import ExitCode
from harness.driver import cluster
from harness.driver.log import LOGGER, log_to_file
from harness.store import open_reader
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep, write_corpus
from workers.requests import Worker

FAKE = "fake:v=300,d=8"
SLOW = f"{FAKE},slow=0.15"
SECONDS = 120.0


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny sweep as a file."""
    folder = tmp_path_factory.mktemp("sweep")
    config = tiny_sweep(write_corpus(folder / "corpus"))
    file = folder / "tiny.yaml"
    file.write_text(yaml.safe_dump(config.model_dump(mode="json", exclude_unset=True)))
    return file


@pytest.fixture(scope="module")
def expected(sweep: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the results of an undisturbed run."""
    with open_quick_store(tmp_path_factory.mktemp("expected") / "r.db") as store:
        driver = make_driver(store, tiny_sweep(sweep.parent / "corpus"), LocalPool)
        assert driver.run().complete
        return store.results_hash(driver.run_id)


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'r.db'}"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main(["run", *map(str, arguments)])
    return int(left.value.code or 0)


def hash_of(db: str, name: str = "tiny") -> str:
    with open_reader(db) as reader:
        return reader.results_hash(reader.get_run(name).id)


def test_a_second_run_has_nothing_to_do_and_starts_no_ray(
    sweep: Path,
    db: str,
    expected: str,
    without_ray: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(sweep, "--db", db) == 0
    first = capsys.readouterr()
    assert first.out == ""
    assert "17 jobs done." in first.err
    told, _, next_command = first.err.splitlines()[-1].partition(" See the results with: ")
    assert told == "The sweep is complete."
    assert hash_of(db) == expected
    monkeypatch.chdir(sweep.parent)
    with pytest.raises(SystemExit, match=r"^0$"):
        cli.main(shlex.split(next_command)[1:])
    assert Path("report/report.html").exists()
    capsys.readouterr()

    monkeypatch.setattr(cluster, "connected", None)
    for again in ([], ["--replan"]):
        assert run(sweep, "--db", db, *again) == 0
        assert capsys.readouterr().err.splitlines()[-2].startswith("Nothing to do")


def test_other_values_make_another_run(
    sweep: Path, db: str, without_ray: None, capsys: pytest.CaptureFixture[str]
) -> None:
    less = ["--set", "stages=[{name: measure, kind: measure}]", "--set", "name=less"]
    assert run(sweep, "--db", db, *less, "--json") == 0
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    assert (record["done"], record["complete"], record["unresolved"]) == (2, True, [])
    assert "jobs done" not in printed.err
    with open_reader(db) as reader:
        assert [found.name for found in reader.runs()] == ["less"]
    assert run(sweep, "--db", db, *less, "--json") == 0
    assert json.loads(capsys.readouterr().out)["done"] == 0


def test_a_failing_model_leaves_advice_and_a_code(
    sweep: Path, db: str, expected: str, without_ray: None, capsys: pytest.CaptureFixture[str]
) -> None:
    # The first pass over text fails, in one measure job; with one attempt it fails for good.
    failing = ["--set", f"models.0.name={FAKE},fail_at=1", "--set", "resources.max_attempts=1"]
    assert run(sweep, "--db", db, *failing) == ExitCode.UNFINISHED
    told = " ".join(capsys.readouterr().err.split())
    assert "1 job failed after the last attempt: error: RuntimeError:" in told
    assert f"bat-harness retry --db {db}" in told
    assert "1 setting unresolved, such as compare: ba-eta on fake" in told
    with pytest.raises(SystemExit) as left:
        cli.main(["retry", "--db", db])
    assert not left.value.code
    # The worker has the model still at hand, and its first pass is over.
    assert run(sweep, "--db", db, "--set", f"models.0.name={FAKE}") == 0
    assert hash_of(db) == expected


def test_what_the_sweep_itself_is_to_blame_for_is_not_to_be_retried(
    sweep: Path,
    db: str,
    without_ray: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(self: Worker, request: object) -> None:
        raise InvalidInputError("there is no such thing")

    monkeypatch.setattr(Worker, "answer", fail)
    assert run(sweep, "--db", db) == ExitCode.UNFINISHED
    told = capsys.readouterr().err
    assert "Their input is invalid, so retrying will not help. Change the sweep." in told
    assert "bat-harness retry" not in told


def test_a_log_that_cannot_be_written_is_one_sentence(
    sweep: Path, db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").write_text("a file where the folder should be")
    assert run(sweep, "--db", db) == ExitCode.MISTAKE
    assert f"the log folder {tmp_path / 'logs'} must be writable" in capsys.readouterr().err


class FullDisk(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_log_whose_disk_fills_up_ends_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log_to_file(f"sqlite:///{tmp_path / 'r.db'}", "full")
    [handler] = LOGGER.handlers
    assert isinstance(handler, logging.FileHandler)
    handler.stream.close()
    handler.stream = FullDisk()
    LOGGER.info("one")
    LOGGER.info("two")
    told = capsys.readouterr().err
    assert told.count("cannot be written any more; the run continues without it.") == 1
    assert "Traceback" not in told
    assert LOGGER.handlers == []


@pytest.mark.parametrize(
    ("address", "advice"),
    [
        ("127.0.0.1:9", "Start one with `ray start --head`, or use --address local."),
        ("ray://127.0.0.1:9", "Start one with `ray start --head`, or use --address local."),
        ("nowhere", "An address is local, auto, HOST:6379 or ray://HOST:10001."),
    ],
)
def test_a_cluster_that_is_not_there_is_one_sentence(
    address: str, advice: str, sweep: Path, db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(sweep, "--db", db, "--address", address) == ExitCode.MISTAKE
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"error: Ray cannot be reached at '{address}': ")
    assert last.endswith(advice)
    with open_reader(db) as reader:
        assert reader.owners() == []  # nothing is left leased


class Command:
    """`bat-harness run` in a process and a process group of its own, as a terminal would start it."""

    def __init__(self, sweep: Path, db: str, *options: str) -> None:
        arguments = ["run", str(sweep), "--db", db, "--workers", "1", *options]
        self.options = options
        self._logs = Path(db.removeprefix("sqlite:///")).parent / "logs"
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from harness.cli import main; main()", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_until(self, logged: str) -> None:
        """Until the log of this process has a line with these words."""
        deadline = time.monotonic() + SECONDS
        while not any(logged in file.read_text() for file in self._logs.glob(f"*-{self.process.pid}.log")):
            assert time.monotonic() < deadline, "the command hangs"
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.05)

    def end(self) -> tuple[int, str, str]:
        """Exit code, output and errors."""
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err


@contextmanager
def started(*arguments: Any) -> Iterator[Command]:
    command = Command(*arguments)
    try:
        yield command
    finally:
        if command.process.poll() is None:
            os.killpg(command.process.pid, signal.SIGKILL)
            command.process.wait()


@pytest.mark.xdist_group("ray")
@pytest.mark.filterwarnings("ignore")  # Ray's own, which differ from release to release
def test_interrupted_once_and_twice_killed_and_then_left_alone(sweep: Path, db: str, expected: str) -> None:
    slow = ["--set", f"models.0.name={SLOW}"]

    # Ctrl-C, which a terminal sends to the whole group: what runs is finished, Ray's own processes live on.
    with started(sweep, db, *slow) as command:
        command.wait_until("attempt 1 to worker-0")
        os.killpg(command.process.pid, signal.SIGINT)
        code, out, err = command.end()
    assert (code, out) == (ExitCode.INTERRUPTED, "")
    assert "Stopping after the running jobs." in err
    assert "2 jobs done." in err
    assert f"Resume with: bat-harness run {sweep} --db {db} --set models.0.name={SLOW} --workers 1\n" in err
    with open_reader(db) as reader:
        assert reader.owners() == []

    # As a cluster ends a program, and at once again: nothing is finished, nothing stays leased.
    with started(sweep, db, *slow, "--json") as command:
        command.wait_until("generate")
        command.process.send_signal(signal.SIGTERM)
        command.process.send_signal(signal.SIGINT)  # two of one kind could arrive as one
        code, out, err = command.end()
    assert (code, out) == (ExitCode.INTERRUPTED, "")
    assert "Stopped at once. Resume with: bat-harness run " in err
    assert "Traceback" not in err
    with open_reader(db) as reader:
        assert reader.owners() == []
        done = sum(progress.done for progress in reader.progress(1))
        assert 2 <= done < 17  # what ended between the two signals was written

    # kill -9: the leases stay with the dead, and are taken back by whoever comes next.
    with started(sweep, db, *slow) as command:
        command.wait_until("generate")
        command.process.kill()
        command.end()
    with open_reader(db) as reader:
        assert len(reader.owners()) == 1
        done = sum(progress.done for progress in reader.progress(1))
        assert 2 <= done < 17

    # Undisturbed, but for somebody who looks on all the time; no question waits, fails or sees half a result.
    looks = 0
    with started(sweep, db, *slow, "--json") as command:
        command.wait_until("worker-0 started")
        while command.process.poll() is None:
            time.sleep(0.02)
            with open_reader(db) as reader:
                looks += sum(progress.total for progress in reader.progress(1)) > 0
                with reader.query("SELECT job, count(*) FROM generations_view GROUP BY job") as found:
                    assert {texts for _, texts in found.rows} <= {3}
        code, out, err = command.end()
    assert code == 0, err
    assert looks > 10
    assert json.loads(out) == {
        "run": 1,
        "done": 17 - done,
        "late": 0,
        "failed_attempts": 0,
        "stopped": False,
        "failed": 0,
        "blocked": 0,
        "unresolved": [],
        "unresolvable": [],
        "complete": True,
    }
    assert hash_of(db) == expected
