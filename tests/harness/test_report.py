"""bat-harness report and trace: from the rows of a sweep to a page, and back."""

from __future__ import annotations

import csv
import json
import shlex
from pathlib import Path

import pytest

from harness.report.building import build_tables
from harness.report.loading import comparable_runs
from harness.report.parts import Table
from harness.store import open_reader
from tests.harness.driver.sweeps import make_driver, open_quick_store, tiny_sweep
from tests.harness.report.finished import run_in_this_process
from tests.harness.stores import run_command


def test_writes_a_page_and_files_for_everything_there_is_data_for(
    finished: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "report"
    printed = run_command(capsys, "report", "wider", "--db", finished, "-o", str(output))
    assert "Methods by MAUVE" in printed
    assert f"Report: {output / 'report.html'}" in printed
    assert f"Database: {finished}" in printed
    assert printed.count("  bat-harness ") == 3
    tables = {path.stem for path in (output / "tables").glob("*.csv")}
    assert tables == {
        *("comparison", "differences", "statistics", "sampling", "lower-entropy", "matching", "selection"),
        *("eta-sweep-fake", "eta-sweep-fake-2", "constraints-fake", "constraints-fake-2"),
        *("rejection", "rates", "all-scores", "leaderboard", "distances", "tuning"),
    }
    assert {path.suffix for path in (output / "tables").iterdir()} == {".csv", ".md", ".tex"}
    figures = {path.stem for path in (output / "figures").glob("*.svg")}
    assert figures >= {"mauve-by-method", "rejection-curves", "toy-model", "figure-eta-sweep-fake"}
    page = (output / "report.html").read_text()
    for figure in figures:
        assert f'id="figure-{figure}"' in page
    assert "Rank of the outputs (Figure 10 of the paper)" in page  # missing, with its command
    assert f"bat-harness report wider --with-model -o DIR --db {finished}" in page


def test_the_numbers_are_those_of_the_database(
    finished: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "report"
    run_command(capsys, "report", "--db", finished, "-o", str(output))
    with open(output / "tables" / "comparison.csv", newline="") as file:
        cells = {(row["row"], row["column"]): row for row in csv.DictReader(file)}
    with open_reader(finished) as reader:
        sql = (
            "SELECT avg(value) FROM scores_view WHERE name = 'mauve' AND method = 'eta' AND parameter = 0.01"
        )
        with reader.query(sql) as found:
            [[mauve]] = found.rows
    shown = cells["eta=0.01", "MAUVE"]
    assert float(shown["value"]) == pytest.approx(100 * mauve)
    assert float(shown["low"]) <= float(shown["value"]) <= float(shown["high"]) <= 100


def test_a_folder_with_files_is_left_alone_unless_forced(
    finished: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    told = run_command(capsys, "report", "--db", finished, "-o", str(tmp_path), code=1)
    assert "must be an empty folder, or a new one; it contains files." in told
    found = json.loads(
        run_command(capsys, "report", "--db", finished, "-o", str(tmp_path), "--force", "--json")
    )
    assert found["page"] == str(tmp_path / "report.html")
    assert all(Path(file).exists() for file in found["files"])
    assert (tmp_path / "precious.txt").read_text() == "mine"


def test_with_the_model_next_tokens_and_ranks_are_there_too(
    finished: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--db", finished, "-o", str(tmp_path / "r"), "--with-model", "--device", "cpu", "--json")
    found = json.loads(run_command(capsys, "report", *arguments))
    made = {Path(file).stem for file in found["files"]}
    assert {f"next-tokens-{place}" for place in range(1, 8)} <= made
    assert "rank" in made or any("Rank" in what for what in found["missing"])


def test_without_scores_or_a_run_of_that_name_nothing_is_written(
    text_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_quick_store(tmp_path / "new.db") as store:
        driver = make_driver(store, tiny_sweep(text_corpus), lambda: pytest.fail("no workers are needed"))
        driver._enqueue()
        address = store.address
    output = tmp_path / "report"
    told = run_command(capsys, "report", "tiny", "--db", address, "-o", str(output), code=1)
    assert "a report needs scores or measured human text; 'tiny' in" in told
    assert "jobs not done" in told
    told = run_command(capsys, "report", "tyni", "--db", address, "-o", str(output), code=1)
    assert "there is no run 'tyni'" in told
    assert "Its runs: 'tiny'." in told
    assert not list(output.iterdir())


def test_a_number_is_followed_to_the_jobs_it_came_from(
    finished: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("trace", "comparison", "ba-eta", "MAUVE", "--db", finished)
    told = run_command(capsys, *arguments, code=1)
    assert "'ba-eta' is the beginning of several: 'ba-eta=" in told
    sql = "SELECT DISTINCT job FROM scores_view WHERE method = 'ba-eta'"
    with open_reader(finished) as reader, reader.query(sql) as rows:
        scores = {row[0] for row in rows.rows}
    told = run_command(capsys, "trace", "differences", "nothing", "MAUVE", "--db", finished, code=1)
    assert "'nothing' is none of: 'ba-eta=" in told
    assert "(row of differences)" in told
    told = run_command(capsys, "trace", "comparisn", "eta=0.01", "MAUVE", "--db", finished, code=1)
    assert "Did you mean 'comparison'?" in told
    found = json.loads(
        run_command(capsys, "trace", "comparison", "eta=0.01", "MAUVE", "--db", finished, "--json")
    )
    kinds = [step["kind"] for step in found["steps"]]
    assert kinds == [*["score"] * 2, *["featurize"] * 6, *["generate"] * 4]
    assert not scores & {step["job"] for step in found["steps"]}
    words = next(step["words"] for step in found["steps"] if step["kind"] == "generate")
    assert "continued prefixes 0 to 2 of set" in words
    assert "eta=0.01, seed 0" in words
    printed = run_command(capsys, "trace", "matching", "ba-eta=", "parameter", "--db", finished, code=1)
    assert "is the beginning of several" in printed


def test_a_table_that_is_not_there_is_told_with_what_would_make_it(
    text_corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = run_in_this_process(tmp_path / "r.db", tiny_sweep(text_corpus))
    told = run_command(capsys, "trace", "selection", "eta", "fake", "--db", address, code=1)
    assert "there is no table selection here: no candidates for a parameter have been scored" in told
    assert "Compute it with: bat-harness run configs/paper/selection.yaml" in told


def test_the_commands_to_try_next_work(
    finished: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = run_command(capsys, "report", "--db", finished, "-o", str(tmp_path / "r"))
    trace, query, _ = [line for line in printed.splitlines() if line.startswith("  bat-harness ")]
    assert "mauve times 100 of eta=0.001" in run_command(capsys, *shlex.split(trace)[1:])
    assert "prefix_text" in run_command(capsys, *shlex.split(query)[1:])


def test_a_matched_parameter_is_followed_to_the_measurement(
    finished: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_reader(finished) as reader:
        _, parts = build_tables(reader, [reader.get_run("wider")])
    matching = next(part for part in parts if isinstance(part, Table) and part.name == "matching")
    row = matching.rows[0].label
    printed = run_command(capsys, "trace", "matching", row, "parameter", "--db", finished)
    assert "measure" in printed
    assert "measured human text" in printed


def test_all_runs_are_ranked_together_and_those_that_cannot_be_are_named(
    finished: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = run_command(capsys, "report", "wider", "--all", "--db", finished, "-o", str(tmp_path), code=1)
    assert "--all takes every run; got wider as well." in told
    printed = run_command(capsys, "report", "--all", "--db", finished, "-o", str(tmp_path / "r"))
    assert "Leaderboard, fake" in printed
    with open_reader(finished) as reader:
        runs = reader.runs()
        chosen, left_out = comparable_runs(reader, runs)
    assert len(chosen) + len(left_out) == len(runs)
    assert all(sentence in printed for sentence in left_out)
