"""bat-harness runs: listed, renamed, tagged, deleted, compared; and how commands choose a run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import harness
from harness import cli
from harness.api.runs import choose_run, choose_runs
from harness.planning.finished import stored_identity
from harness.store import LocalInput, open_reader, open_store
from tests.harness import stores
from tests.harness.driver.sweeps import tiny_sweep
from tests.harness.store import examples
from tests.harness.stores import run_command

FILES = [LocalInput("corpus.name", "/texts.jsonl", f"sha256:{digit * 16}", None) for digit in "12"]


@pytest.fixture
def db(tmp_path: Path) -> str:
    """Two runs of one sweep on two versions of its text, the second tagged."""
    address = f"sqlite:///{tmp_path / 'r.db'}"
    config = stored_identity(tiny_sweep(Path("/texts.jsonl")))
    with open_store(address) as store:
        for file in FILES:
            run_id = store.add_run("tiny", config, {"torch": f"2.{file.revision[-1]}"}, [file])
            store.add_jobs(run_id, [examples.score_job(run_id)])
        store.add_tags(run_id, ["paper", "final"])
    return address


def test_runs_of_one_name_are_told_apart(
    db: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # a narrow terminal would wrap the table
    printed = run_command(capsys, "runs", "list", "--db", db)
    assert run_command(capsys, "status", "--runs", "--db", db) == printed
    digest = harness.list_runs(db)[0].run.configuration_hash[:8]
    lines = [line.split() for line in printed.splitlines()[2:]]
    assert [(line[0], line[1], line[2], *line[-4:]) for line in lines] == [
        ("2", "tiny", "stopped", digest, "22222222", "final,", "paper"),
        ("1", "tiny", "stopped", "1", "-", digest, "11111111"),
    ]
    [second, first] = json.loads(run_command(capsys, "runs", "list", "--db", db, "--json"))
    assert (second["label"], second["tags"], second["state"]) == ("tiny#2", ["final", "paper"], "stopped")
    assert [entry["revision"] for entry in first["files"]] == ["sha256:" + "1" * 16]


def test_a_run_is_chosen_by_name_number_or_both(db: str) -> None:
    with open_reader(db) as reader:
        assert [choose_run(reader, name).id for name in ("tiny", "tiny#1", "#1", "1", 1, None)] == [
            *(2, 1, 1, 1, 1, 2)
        ]
        assert [run.id for run in choose_runs(reader, "all")] == [2, 1]
        for wrong in ("other#1", "tiny#3", "tiny#x", "#"):
            with pytest.raises(harness.BatError, match=r"there is no run .* Its runs: tiny#2, tiny#1\."):
                choose_run(reader, wrong)


def test_renaming(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(capsys, "runs", "rename", "tiny#1", "older", "--db", db) == "tiny#1 is now older#1.\n"
    config = stored_identity(tiny_sweep(Path("elsewhere.jsonl"), name="older"))
    with open_reader(db) as reader:
        assert reader.get_run(1).config["name"] == "older"
        assert reader.find_run_id("older", config, FILES[:1]) == 1  # its sweep resumes it under that name
    with open_store(db) as store:
        store.add_run("older", config, {}, FILES[1:])
        store.beat("here:1:aa", 2, "working")
    said = run_command(capsys, "runs", "rename", "tiny#2", "newer", "--db", db, code=1)
    assert "only while no driver works on it; here:1:aa works on tiny#2." in said
    with open_store(db) as store:
        store.leave("here:1:aa")
    said = run_command(capsys, "runs", "rename", "tiny", "older", "--db", db, code=1)
    assert "run 3 is 'older' already, with the configuration of run 2. Choose another name." in said
    said = run_command(capsys, "runs", "rename", "tiny", "my run", "--db", db, code=1)
    assert "a run's name must have letters, digits" in said
    assert "got 'my run'" in said


def test_tags(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(capsys, "runs", "tag", "tiny#1", "b", "a", "b", "--db", db) == "tiny#1: a, b\n"
    assert run_command(capsys, "runs", "untag", "tiny#1", "a", "b", "--db", db) == "tiny#1: no tags\n"
    said = run_command(capsys, "runs", "untag", "tiny", "draft", "--db", db, code=1)
    assert "run tiny#2 has no tag 'draft'; it has the tags final, paper." in said
    assert "a tag must have letters" in run_command(capsys, "runs", "tag", "tiny", "a,b", "--db", db, code=1)
    with open_reader(db) as reader, reader.query("SELECT tags FROM runs_view ORDER BY run_id") as found:
        assert [None if tags is None else set(tags.split(",")) for (tags,) in found.rows] == [
            *(None, {"paper", "final"})
        ]


def test_deleting_asks_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    db = stores.filled(tmp_path)
    with pytest.raises(SystemExit) as left:  # tests have no terminal
        cli.main(["runs", "delete", "demo", "--db", db])
    assert left.value.code == 1
    assert (
        "there is no terminal to ask. Add --yes, or --dry-run to change nothing." in capsys.readouterr().err
    )
    told = f"Run demo#1 in {db}: 5 jobs, 5 of them done, with 8 texts.\n"
    assert run_command(capsys, "runs", "delete", "demo", "--db", db, "--dry-run") == told
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    assert run_command(capsys, "runs", "delete", "demo", "--db", db) == f"{told}Nothing was deleted.\n"
    with open_store(db) as store:
        other = store.add_run("other", {}, {})
        store.add_jobs(other, examples.sample_jobs()[:1])
        store.beat("here:1:aa", 1, "working")
    said = run_command(capsys, "runs", "delete", "demo", "--db", db, "--yes", code=1)
    assert "can be deleted only while no driver works on it; here:1:aa works on demo#1." in said
    with open_store(db) as store:
        store.leave("here:1:aa")
        store.beat("here:2:bb", other, "working")  # the driver of another run is no obstacle
    said = run_command(capsys, "runs", "delete", "demo", "--db", db, "--yes")
    assert (
        "4 jobs, 4 of them done, with 8 texts. Other runs use 1 job of it, which stays.\nDeleted.\n" in said
    )
    assert [summary.run.name for summary in harness.list_runs(db)] == ["other"]


def test_differences_are_readable(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed = run_command(capsys, "runs", "diff", "tiny#1", "tiny#2", "--db", db)
    lines = [re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()]
    assert lines[0] == ["tiny#1", "tiny#2"]
    assert lines[2:] == [
        ["content of corpus.name", FILES[0].revision, FILES[1].revision],
        ["version of torch", "2.1", "2.2"],
    ]
    methods = [{"name": "tight", "rule": "eta", "parameter": 0.02}, {"rule": "nucleus", "parameter": 0.9}]
    changed = tiny_sweep(Path("/texts.jsonl"), methods=methods)
    before = tiny_sweep(Path("/texts.jsonl"), methods=[{**methods[0], "parameter": [0.01, 0.02]}])
    with open_store(db) as store:
        for config in (before, changed):
            store.add_run("more", stored_identity(config), {}, FILES[:1])
    found = json.loads(run_command(capsys, "runs", "diff", "3", "4", "--db", db, "--json"))
    by_key = {entry["key"]: (entry["first"], entry["second"]) for entry in found}
    assert by_key["methods.tight.parameter"] == ([0.01, 0.02], [0.02])
    assert by_key["methods.nucleus"][0] is None
    assert by_key["methods.nucleus"][1]["rule"] == "nucleus"
    assert all(key.startswith(("methods.", "stages.")) for key in by_key)
    said = run_command(capsys, "runs", "diff", "3", "more#3", "--db", db)
    assert said == "more#3 and more#3 do not differ.\n"


def test_the_hash_of_a_run_is_that_of_its_results(
    tmp_path: Path, db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled = stores.filled(tmp_path)
    hashed = harness.hash_run(filled)
    digest = hashed.sha256
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert run_command(capsys, "runs", "hash", "--db", filled) == f"{digest}  demo#1, 5 of 5 jobs done\n"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    again = stores.filled(elsewhere)
    record = json.loads(run_command(capsys, "runs", "hash", "demo", "--db", again, "--json"))
    assert record == {"run": 1, "name": "demo", "done": 5, "jobs": 5, "sha256": digest}
    unfinished = harness.hash_run(db, "tiny#1")
    assert (dict(unfinished.by_job), unfinished.sha256 == digest) == ({}, False)
    lines = run_command(capsys, "runs", "hash", "--db", again, "--jobs").splitlines()
    assert [tuple(reversed(line.split())) for line in lines] == list(hashed.by_job.items())
    assert len(set(hashed.by_job.values())) == 5
    assert "there is no run" in run_command(capsys, "runs", "hash", "tiny#9", "--db", db, code=1)


def test_a_rerun_is_checked_against_hashes_in_a_file(
    tmp_path: Path, db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    filled, file = stores.filled(tmp_path), tmp_path / "hashes.txt"
    lines = run_command(capsys, "runs", "hash", "--db", filled, "--jobs").splitlines(keepends=True)
    command, listed = ("runs", "hash", "--check", str(file), "--db"), f"{file}, which lists"
    file.write_text("".join(lines), encoding="utf-8")
    assert run_command(capsys, *command, filled) == f"demo#1: 5 of 5 jobs agree with {listed} 5 jobs.\n"
    nothing = run_command(capsys, *command, db, code=1)
    assert nothing == f"tiny#2: nothing to compare; of 0 finished jobs, none is in {listed} 5 jobs.\n"

    changed = "0" * 64
    job = lines[0].split()[1]
    file.write_text("".join([f"{changed}  {job}\n", *lines[2:]]), encoding="utf-8")
    said = run_command(capsys, *command, filled, code=1)
    agree = f"demo#1: 3 of 4 jobs agree with {listed} 4 jobs. 1 finished job of this run not listed.\n"
    assert said == f"{agree}differs: {job}\n"
    record = json.loads(run_command(capsys, *command, filled, "--json", code=1))
    assert record == {"run": 1, "name": "demo", "listed": 4, "shared": 4, "different": [job], "others": 1}

    assert run_command(capsys, *command, filled, "--jobs", code=2) == ""
    file.write_text(f"{lines[0]}{job}\n", encoding="utf-8")
    assert f"got '{job}' in {file}, line 2. `bat-harness" in run_command(capsys, *command, filled, code=1)
    file.unlink()
    assert f"{file} cannot be read" in run_command(capsys, *command, filled, code=1)
