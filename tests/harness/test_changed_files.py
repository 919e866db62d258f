"""Local files that change between two starts of a sweep: noticed, told, and a run of their own."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import harness
from harness import cli
from harness.driver import cluster
from harness.jobs import CorpusIdentity, Job, JobKind, job_id
from harness.planning import materials
from harness.planning.finished import find_start
from harness.planning.materials import Materials
from harness.store import open_reader
from tests.harness.driver.sweeps import WORDS, tiny_sweep
from tests.workers import tiny_models
from workers import local_files


def write_texts(file: Path, seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows = [{"text": " ".join([f"Report {seed}:", *generator.choice(WORDS, 30).tolist()])} for _ in range(40)]
    file.write_text("\n".join(map(json.dumps, rows)))


@pytest.fixture
def sweep(tmp_path: Path, without_ray: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny sweep on a file of the current folder, which it names by a relative path."""
    monkeypatch.chdir(tmp_path)
    write_texts(tmp_path / "texts.jsonl", 1)
    config = tiny_sweep(Path("texts.jsonl")).model_dump(mode="json", exclude_unset=True)
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump(config))
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        cli.main([*arguments, "--db", "r.db"])
    printed = capsys.readouterr()
    assert not left.value.code, printed.err
    return printed.err + printed.out


def ask(sql: str) -> list[Any]:
    with sqlite3.connect("r.db") as connection:
        return connection.execute(sql).fetchall()


def test_a_changed_corpus_is_another_run(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "17 jobs done." in run(capsys, "run", "tiny.yaml")
    first = harness.list_runs("r.db")[0].run
    write_texts(Path("texts.jsonl"), 2)

    planned = run(capsys, "plan", "tiny.yaml")
    file = Path("texts.jsonl").absolute()
    told = f"The corpus {file} has changed since run tiny#1: its revision was {first.revision}, and is now "
    assert told in planned
    assert "`run` will start a new run; tiny#1 keeps its results." in planned
    assert "17 jobs, 0 of them done." in planned

    said = run(capsys, "run", "tiny.yaml", "--replan")
    assert told in said
    assert "Starting a new run, tiny#2" in said
    assert "17 jobs done." in said
    # Each run has its own texts, its own parameter matched on them, and nothing of the other.
    [(jobs, runs)] = ask("SELECT count(*), count(DISTINCT run_id) FROM run_jobs")
    assert (jobs, runs) == (34, 2)
    assert ask("SELECT job_key FROM run_jobs GROUP BY 1 HAVING count(*) > 1") == []
    values = [value for (value,) in ask("SELECT value FROM resolutions ORDER BY run_id")]
    assert len(set(values)) == 2

    # What was there before is there again: its run is found, and is the latest now.
    write_texts(Path("texts.jsonl"), 1)
    monkeypatch.setattr(cluster, "connected", None)
    said = run(capsys, "run", "tiny.yaml")
    assert "those of tiny#1, which is now the latest run." in said
    assert "Nothing to do" in said
    assert harness.list_runs("r.db")[0].run.id == 1


def test_another_path_to_the_same_content_is_the_same_corpus(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "17 jobs done." in run(capsys, "run", "tiny.yaml")
    monkeypatch.setattr(cluster, "connected", None)
    shutil.copy("texts.jsonl", "copy.jsonl")
    for path in (Path("texts.jsonl").absolute(), "./texts.jsonl", "copy.jsonl"):
        assert "Nothing to do" in run(capsys, "run", "tiny.yaml", "--set", f"corpus.name={path}")
        assert "17 jobs, 17 of them done." in run(
            capsys, "plan", "tiny.yaml", "--set", f"corpus.name={path}", "--set", "name=other"
        )
    assert len(harness.list_runs("r.db")) == 1


def test_a_file_is_not_read_again_while_nobody_touches_it(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_files, "_SECONDS_TO_SETTLE", -1.0)
    run(capsys, "run", "tiny.yaml")
    local_files._known_digest.cache_clear()
    monkeypatch.setattr(local_files, "_read_digest", None)
    assert "Nothing to do" in run(capsys, "run", "tiny.yaml")
    # Touched but equal: read once more, and what was seen is recorded.
    monkeypatch.undo()
    monkeypatch.chdir(sweep.parent)
    monkeypatch.setattr(local_files, "_SECONDS_TO_SETTLE", -1.0)
    Path("texts.jsonl").touch()
    before = ask("SELECT revision, signature FROM run_inputs")
    assert "Nothing to do" in run(capsys, "run", "tiny.yaml")
    after = ask("SELECT revision, signature FROM run_inputs")
    assert before[0][0] == after[0][0]
    assert before[0][1] != after[0][1]


def test_a_finished_sweep_does_not_need_its_file(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "run", "tiny.yaml")
    Path("texts.jsonl").unlink()
    said = run(capsys, "run", "tiny.yaml")
    assert "texts.jsonl is gone; its revision at the latest start was sha256:" in said
    assert "Nothing to do" in said
    with pytest.raises(SystemExit) as left:
        cli.main(["run", "tiny.yaml", "--db", "r.db", "--replan"])
    assert left.value.code == 1
    assert "texts.jsonl must exist, but there is no such file" in capsys.readouterr().err
    assert len(harness.list_runs("r.db")) == 1


def test_a_run_of_an_older_version_did_not_record_its_files(
    sweep: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "run", "tiny.yaml")
    with sqlite3.connect("r.db") as connection:
        connection.execute("DELETE FROM run_inputs")
        connection.execute("UPDATE runs SET identity = 'that of an older version'")
    said = run(capsys, "run", "tiny.yaml")
    assert "run tiny#1, of an older version, did not record which one it read." in said
    assert "Starting a new run, tiny#2" in said
    assert "Nothing to do" in said  # all its jobs are there


def test_a_model_folder_is_identified_by_its_content(tmp_path: Path, text_corpus: Path) -> None:
    folder, copy = tmp_path / "model", tmp_path / "copy"
    tiny_models.gpt2().save_pretrained(folder)
    tiny_models.tokenizer().save_pretrained(folder)
    shutil.copytree(folder, copy)
    cards = []
    for path in (folder, copy):
        config = tiny_sweep(text_corpus, model=str(path))
        cards.append(Materials(config).card(config.models[0]))
    first, second = (card.identity for card in cards)
    assert first == second
    assert (first.name, first.label, second.label) == ("local", str(folder), str(copy))

    def start(path: Path) -> str:
        with harness.store.open_store(tmp_path / "r.db") as store:
            found = find_start(store, tiny_sweep(text_corpus, model=str(path)))
            run_id = store.add_run("tiny", found.identity, {}, found.inputs)
            return f"{run_id} {' '.join(found.changes)}"

    assert start(folder) == start(copy) == "1 "
    generation = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps({**generation, "eos_token_id": 7}))
    changed = start(folder)
    assert changed.startswith(
        f"2 The model {copy}, now {folder}, has changed since run tiny#1: its revision "
    )


def test_paths_are_not_part_of_ids() -> None:
    corpora = [CorpusIdentity("local", "sha256:1", "test", title=title) for title in (None, "a", "b")]
    assert corpora[0] == corpora[1] == corpora[2]
    ids = {
        job_id("score", {"corpus": {"name": "local", "revision": "sha256:1", "title": title}})
        for title in ("a", "b")
    }
    assert len(ids) == 1
    assert Job(JobKind.SCORE, {"title": "a"}).id != Job(JobKind.SCORE, {"title": "b"}).id


def test_a_run_has_one_version_of_what_its_sweep_does_not_state(
    sweep: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a branch of the hub moves on between two starts."""
    run(capsys, "run", "tiny.yaml")
    load_card = materials.load_card

    def newer(name: str, *arguments: Any) -> Any:
        return load_card(f"{name},seed=3", *arguments)

    monkeypatch.setattr(materials, "load_card", newer)
    with pytest.raises(SystemExit) as left:
        cli.main(["run", "tiny.yaml", "--db", "r.db", "--replan"])
    assert left.value.code == 1
    said = capsys.readouterr().err
    assert "error: a run must have one version of its models, text, plug-ins and of bat-harness" in said
    with open_reader("r.db") as reader:
        assert sum(kind.total for kind in reader.progress(1)) == 17
