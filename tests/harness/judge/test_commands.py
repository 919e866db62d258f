"""bat-harness judge make, report, list, export and import: what they print, write and refuse."""

from __future__ import annotations

import csv
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import harness.judge.sides
from harness.api.judging import judged_parts, report_study
from harness.judge.assigning import Assigner
from harness.judge.design import StudyDesign
from harness.judge.results import StudyResults
from harness.report.parts import Missing, Table
from harness.report.sections import Parts
from harness.store import open_reader
from harness.store.checks import check_database
from harness.store.judging import open_studies
from harness.store.study_records import Answer, ItemKind
from tests.harness.judge.runs import PREFIXES, SAME, judged_run, words_of
from tests.harness.stores import run_command


@pytest.fixture
def db(tmp_path: Path) -> str:
    return judged_run(tmp_path)


def make(
    capsys: pytest.CaptureFixture[str], db: str, *options: str, name: str = "first", code: int = 0
) -> str:
    return run_command(capsys, "judge", "make", "demo", "--name", name, "--db", db, *options, code=code)


def judge_all(db: str, study: str = "first", judges: int = 3) -> None:
    """Everyone prefers the text with more letters, and sees through attention checks."""
    with open_studies(db) as store:
        chosen = store.get_study(study)
        items = store.items(chosen.id)
        design = StudyDesign.from_record(chosen.design)
        for judge in store.ensure_judges(chosen.id, judges):
            store.consent(judge.id)
            while (given := store.next_assignment(judge, 600.0, Assigner(design))) is not None:
                item = items[given.item]
                best = item.kind is ItemKind.CHECK or len(item.first) > len(item.second)
                answer = Answer.FIRST if best else Answer.SECOND
                shown = answer.other_way_round if given.swapped else answer
                assert store.answer(judge, given.position, given.attempt, shown, 20.0, "so, “quoted”\nline")


def same_statistics(first: StudyResults, second: StudyResults) -> bool:
    shares = [[result for _, result in results.with_all.pairs] for results in (first, second)]
    alphas = [results.with_all.agreement.alpha for results in (first, second)]
    agreements = [replace(results.with_all.agreement, alpha=None) for results in (first, second)]
    return shares[0] == shares[1] and agreements[0] == agreements[1] and alphas[0] == pytest.approx(alphas[1])


def test_a_study_is_made_judged_and_reported(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = make(capsys, db, "--pair", "ba-eta:eta", "--pair", "human:eta", "--dry-run")
    assert f"{SAME} of {PREFIXES} prefixes have the same text on both sides" in said
    assert "Detects a preference of" in said
    assert "no study yet" in run_command(capsys, "judge", "list", "--db", db)
    made = make(capsys, db, "--pair", "ba-eta:eta", "--pair", "human:eta")
    assert "Stored: first" in made
    assert "stored already" in make(capsys, db, "--pair", "ba-eta:eta", "--pair", "human:eta")
    said = run_command(capsys, "judge", "report", "first", "--db", db, code=1)
    assert "study 'first' has none yet" in said
    judge_all(db)
    listed = run_command(capsys, "judge", "list", "--db", db)
    votes = 3 * (PREFIXES - SAME + PREFIXES)
    assert f"{votes} of {votes}" in listed
    said = run_command(capsys, "judge", "report", "first", "--db", db)
    assert "ba-eta=0.05 (c=20) : eta=0.01" in said
    assert "paper: ba-eta matched to 0.002 : eta=0.002" in said
    assert "no preference shown" in said
    assert "self-agreement" in said
    assert "All settings together" in said  # three settings
    tables = json.loads(run_command(capsys, "judge", "report", "first", "--db", db, "--json"))
    assert tables[0]["rows"][0]["cells"][0]["jobs"]
    assert "nobody is left" not in said
    strict = run_command(capsys, "judge", "report", "first", "--db", db, "--max-speed", "1")
    assert "so nobody is left: the other tables count everyone" in " ".join(strict.split())
    with open_reader(db) as reader:
        assert all(finding.violations == 0 for finding in check_database(reader))


def test_the_commands_of_the_guide_work(
    db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = Path(__file__).parents[3] / "docs" / "human-evaluation.md"
    [block] = re.findall(r"```sh\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.setenv("BAT_HARNESS_DB", db)
    monkeypatch.chdir(tmp_path)
    for line in block.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "bat-harness"
        if "serve" in arguments:
            judge_all(db, judges=5)  # instead of people
        else:
            run_command(capsys, *arguments)
    assert (tmp_path / "answers.csv").exists()


def test_the_tables_are_part_of_the_run_s_report(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_reader(db) as reader:
        [missing] = judged_parts(reader, reader.runs())
        assert isinstance(missing, Missing)
        assert missing.command.startswith("bat-harness judge make demo")
    make(capsys, db, "--pair", "ba-eta:eta")
    judge_all(db)
    with open_reader(db) as reader:
        tables = judged_parts(reader, reader.runs())
        assert [table.name for table in tables if isinstance(table, Table)] == [
            "human-evaluation",
            "human-evaluation-judges",
        ]
    [section] = Parts(tables).sections()
    assert section.title == "What people prefer"
    traced = run_command(
        capsys, "trace", "human-evaluation", "ba-eta=0.05", "first wins", "--run", "demo", "--db", db
    )
    assert "share of votes for first" in traced
    assert "generate" in traced


def test_only_the_last_tokens_are_shown(
    db: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts(model: str, before: list[int], tokens: list[int]) -> list[str]:
        assert model == "fake:v=300,d=8"
        return [f"<{token}>" for token in tokens]

    monkeypatch.setattr(harness.judge.sides, "token_texts", texts)
    make(capsys, db, "--pair", "human:eta", "--last-tokens", "3", "--items", "4", "--checks", "0")
    with open_studies(db) as store:
        items = store.items(store.get_study("first").id)
    assert len(items) == 4
    assert {item.first for item in items} == {"<27><28><29>"}
    assert all(item.second.count("<") == 3 for item in items)


def test_bad_input_is_one_sentence(db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = make(capsys, db, "--pair", "ba-eta:nucleus", code=1)
    assert "ba-eta (stage compare) and nucleus (stage select) of run demo#1 share none" in said
    said = make(capsys, db, "--pair", "ba-etta:eta", code=1)
    assert "got 'ba-etta'. Settings: eta=0.01, ba-eta=0.05 (c=20), nucleus=0.9, human." in said
    assert "Did you mean 'ba-eta'?" in said
    assert "a pair must be two settings with a colon" in make(capsys, db, "--pair", "eta", code=1)
    for pair in ("eta:eta", "human:human"):
        assert f"{pair} has the same on both sides" in make(capsys, db, "--pair", pair, code=1)
    assert "lie in [0, 0.5]; got 0.9" in make(capsys, db, "--pair", "ba-eta:eta", "--checks", "0.9", code=1)
    missing = str(tmp_path / "none.txt")
    assert "No such file" in make(capsys, db, "--pair", "ba-eta:eta", "--instructions", missing, code=1)
    assert "given twice" in make(capsys, db, "--pair", "ba-eta:eta", "--pair", "eta:ba-eta", code=1)
    assert "the name of a study" in make(capsys, db, "--pair", "ba-eta:eta", name="a/b", code=1)
    assert "There is no study" in run_command(capsys, "judge", "list", "--db", db)  # nothing was stored


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_an_export_has_all_that_the_statistics_need(
    ending: str, db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(capsys, db, "--pair", "ba-eta:eta", "--repeats", "0.2")
    with open_studies(db) as store:
        person = store.enter(store.get_study("first").id, "PID-secret", {})
        assert person.platform_id == "PID-secret"
    judge_all(db)
    file = tmp_path / f"answers.{ending}"
    run_command(capsys, "judge", "export", "first", "-o", str(file), "--db", db)
    assert "PID-secret" not in file.read_text()
    other = f"sqlite:///{tmp_path / 'other.db'}"
    said = run_command(capsys, "judge", "import", str(file), "--name", "theirs", "--db", other)
    assert "New study theirs: " in said
    assert same_statistics(report_study(db, "first"), report_study(other, "theirs"))
    for address in (db, other):  # again, and where the answers came from: nothing changes
        again = run_command(capsys, "judge", "import", str(file), "--name", "theirs", "--db", address)
        assert "0 new answers" in again
    assert "already exists" in run_command(
        capsys, "judge", "export", "first", "-o", str(file), "--db", db, code=1
    )


def test_tasks_for_another_platform_come_back_as_answers(
    db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(capsys, db, "--pair", "ba-eta:eta", "--votes", "2", "--checks", "0")
    tasks, results = tmp_path / "tasks.csv", tmp_path / "results.csv"
    run_command(capsys, "judge", "export", "first", "--tasks", "-o", str(tasks), "--db", db)
    assert "ba-eta" not in tasks.read_text()
    with tasks.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * (PREFIXES - SAME)
    assert {row["swapped"] for row in rows} == {"0", "1"}
    columns = ["WorkerId", "WorkTimeInSeconds", *(f"Input.{name}" for name in rows[0]), "Answer.choice"]
    with results.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        for number, row in enumerate(rows):
            # Everyone prefers the first setting, wherever it stands.
            writer.writerow([f"W{number % 2}", "31", *row.values(), "2" if row["swapped"] == "1" else "1"])
    said = run_command(capsys, "judge", "import", str(results), "--db", db)
    assert f"Study first: {len(rows)} new answers." in said
    [(_, result)] = report_study(db, "first").with_all.pairs
    assert result is not None
    assert (result.first.value, result.judges) == (1.0, 2)
    exported = tmp_path / "named.csv"
    run_command(capsys, "judge", "export", "first", "-o", str(exported), "--platform-ids", "--db", db)
    assert "W1" in exported.read_text()


def test_a_csv_that_cannot_be_read_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = "WorkerId,Input.prefix,Input.text_1,Input.text_2,Input.setting_1,Input.setting_2,Answer.choice\n"
    db = f"sqlite:///{tmp_path / 'new.db'}"

    def refused(text: str, *options: str) -> str:
        file = tmp_path / "batch.csv"
        file.write_text(text)
        return run_command(capsys, "judge", "import", str(file), "--name", "x", "--db", db, *options, code=1)

    assert "must have a column 'Answer.choice' (1, 2 or 0)" in refused(header.replace("choice", "pick"))
    assert "got '7' in line 2 of" in refused(f"{header}w,p,t,u,a,b,7\n")
    assert "it is empty in line 2" in refused(f"{header},p,t,u,a,b,1\n")
    assert "different settings with names" in refused(f"{header}w,p,t,u,a,a,1\n")
    row = "w,p,t,u,a,b,1\n"
    assert "line 4" in refused(header + row * 3)
    assert "has none" in refused(header)
    assert "a column must hold one of" in refused(header, "--column", "what=x")
    renamed = header.replace("Answer.choice", "Answer.pick") + row
    (tmp_path / "ok.csv").write_text(renamed)
    said = run_command(
        capsys,
        "judge",
        "import",
        str(tmp_path / "ok.csv"),
        "--name",
        "x",
        "--db",
        db,
        "--column",
        "choice=Answer.pick",
    )
    assert "New study x: 1 new answer." in said


def test_a_file_of_texts_in_hewitt_s_layout_is_a_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, db = tmp_path / "pairs.jsonl", f"sqlite:///{tmp_path / 'new.db'}"
    rows = [
        {
            "prefix": f"Report {n}",
            "eta": f"Report {n} {words_of(n, 1)}",
            "topp": f"Report {n} {words_of(n, 2)}",
            "human": f"Report {n} {words_of(n, 3)}",
            "eta_suffix": words_of(n, 1, count=5),
            "topp_suffix": words_of(n, 2, count=5),
        }
        for n in range(20)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = ["judge", "make", "--file", str(file), "--db", db]
    said = run_command(
        capsys,
        *command,
        "--name",
        "whole",
        "--pair",
        "eta:topp",
        "--pair",
        "human:eta",
        "--human-column",
        "human",
    )
    assert "3 votes on each of 20 items" in said
    with open_studies(db) as store:
        items = store.items(store.get_study("whole").id)
    assert not any(item.first.startswith("Report") for item in items)
    assert sum(item.kind is ItemKind.CHECK for item in items) == 20
    for check in items:
        if check.kind is ItemKind.CHECK:
            assert check.second != check.first.strip()
            assert sorted(check.second.split()) == sorted(check.first.split())
    suffixes = ["--method", "eta=eta_suffix", "--method", "nucleus=topp_suffix"]
    run_command(capsys, *command, "--name", "ends", "--pair", "eta:nucleus", *suffixes)
    assert "no column 'tops'" in run_command(capsys, *command, "--name", "x", "--pair", "eta:tops", code=1)
    assert "name a column" in run_command(
        capsys, *command, "--name", "x", "--pair", "eta:topp", "--last-tokens", "9", code=1
    )


def test_a_merge_brings_studies_and_answers(
    db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(capsys, db, "--pair", "ba-eta:eta")
    judge_all(db, judges=1)
    target = f"sqlite:///{tmp_path / 'target.db'}"
    merged = run_command(capsys, "db", "merge", db, "--db", target)
    count = PREFIXES - SAME
    assert "Human evaluation: 1 new study, " in merged
    judge_all(db, judges=2)  # one more here
    run_command(capsys, "db", "merge", db, "--db", target)
    assert same_statistics(report_study(db, "first"), report_study(target, "first"))
    assert "Human evaluation" not in run_command(capsys, "db", "merge", db, "--db", target)
    [(_, result)] = report_study(target, "first").with_all.pairs
    assert result is not None
    assert result.votes == 2 * count
    run_command(capsys, "runs", "delete", "demo", "--yes", "--db", target)
    assert same_statistics(report_study(db, "first"), report_study(target, "first"))  # answers stay
    run_command(capsys, "db", "check", "--db", target)
