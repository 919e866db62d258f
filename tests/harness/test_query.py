"""bat-harness query: SQL in, tables and files out, and nothing changed."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console

from harness.commands import query as command
from harness.commands.query_view import render_rows
from harness.export import row_files
from harness.store.queries import NAMED_QUERIES
from tests.harness import stores
from tests.harness.stores import run_command

JOBS = "SELECT kind, count(*) AS jobs FROM jobs GROUP BY kind ORDER BY kind"
COUNTED = [("featurize", 1), ("generate", 2), ("measure", 1), ("score", 1)]


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return stores.filled(tmp_path)


def ask(capsys: pytest.CaptureFixture[str], address: str, *arguments: str, code: int = 0) -> str:
    return run_command(capsys, "query", "--db", address, *arguments, code=code)


def test_csv_where_nobody_looks_and_json(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.reader(io.StringIO(ask(capsys, address, JOBS))))
    assert rows == [["kind", "jobs"], *([kind, str(count)] for kind, count in COUNTED)]
    for arguments in (["--json"], ["--format", "json"]):
        found = json.loads(ask(capsys, address, JOBS, *arguments))
        assert found == [{"kind": kind, "jobs": count} for kind, count in COUNTED]
    assert json.loads(ask(capsys, address, "SELECT 1 AS one WHERE 1 = 0", "--json")) == []


def test_a_table_in_a_terminal(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "Console", lambda: Console(force_terminal=True))
    printed = ask(capsys, address, JOBS)
    assert [line.split() for line in printed.splitlines()[2:6]] == [
        [kind, str(count)] for kind, count in COUNTED
    ]
    assert printed.endswith("4 rows\n")
    cut = ask(capsys, address, JOBS, "--format", "table", "--limit", "3")
    assert "first 3 rows; show more with --limit" in cut
    assert "score" not in cut
    assert "4 rows" in ask(capsys, address, JOBS, "--format", "table", "--limit", "4")


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_files_by_the_ending_of_their_name(
    ending: str, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"answer.{ending}"
    assert ask(capsys, address, JOBS, "-o", str(path)) == ""
    match ending:
        case "csv":
            found = [tuple(row) for row in csv.reader(io.StringIO(path.read_text()))][1:]
            assert found == [(kind, str(count)) for kind, count in COUNTED]
        case "json":
            assert [tuple(row.values()) for row in json.loads(path.read_text())] == COUNTED
        case "parquet":
            assert [tuple(row.values()) for row in pq.read_table(path).to_pylist()] == COUNTED
    assert "already exists" in ask(capsys, address, JOBS, "-o", str(path), code=1)
    ask(capsys, address, "SELECT 5 AS five", "-o", str(path), "--force")
    assert [entry.name for entry in tmp_path.iterdir() if "results.db" not in entry.name] == [path.name]


def test_bytes_and_nothing_in_every_format(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sql = "SELECT vector, NULL AS absent FROM features ORDER BY item LIMIT 2"
    ask(capsys, address, sql, "-o", "answer.parquet")
    vectors = pq.read_table(tmp_path / "answer.parquet").column("vector").to_pylist()
    assert len(vectors[0]) == 12
    assert ask(capsys, address, sql).splitlines()[1] == f"{vectors[0].hex()},"
    assert json.loads(ask(capsys, address, sql, "--json"))[0]["absent"] is None
    assert "12 bytes" in ask(capsys, address, sql, "--format", "table")


@pytest.mark.parametrize("name", sorted(NAMED_QUERIES))
def test_every_named_query_runs(name: str, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(ask(capsys, address, "--name", name, "--json"))
    assert found or name in ("failures", "adjusted")


def test_named_queries_are_listed_with_their_sql(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    listed = json.loads(run_command(capsys, "query", "--list", "--json"))
    assert [one["name"] for one in listed] == list(NAMED_QUERIES)
    assert len(listed) >= 10
    printed = run_command(capsys, "query", "--list")
    for one in listed:
        assert f"{one['name']}  {one['question']}" in printed
        assert one["sql"].splitlines()[0] in printed


def test_scores_are_told_with_what_was_scored(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    [score] = json.loads(ask(capsys, address, "--name", "scores", "--json"))
    assert (score["method"], score["rule"], score["parameter"], score["name"]) == (
        "tight",
        "ba-eta",
        0.024,
        "mauve",
    )


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM jobs",
        "UPDATE jobs SET state = 'done'",
        "INSERT INTO runs (name) VALUES ('x')",
        "DROP TABLE jobs",
        "DELETE FROM jobs RETURNING id",
        "WITH all_of AS (SELECT 1) DELETE FROM jobs",
        "PRAGMA user_version = 7",
        "SELECT 1; DROP TABLE jobs",
    ],
)
def test_nothing_can_be_changed(
    sql: str, address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (tmp_path / "results.db").read_bytes()
    said = ask(capsys, address, sql, code=1)
    assert said.startswith("error: ")
    assert len(said.splitlines()) == 1
    assert (tmp_path / "results.db").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["SELECT * FROM job"], "no such table: job"),
        (["SELEC 1"], "syntax error"),
        (["  delete from jobs"], "queries are read-only; got DELETE"),
        (["ATTACH 'other.db' AS other"], "it would open or create another file"),
        (["VACUUM INTO 'other.db'"], "cannot answer this query"),
        ([" "], "a query must return rows"),
        ([], "a query is required"),
        (["SELECT 1", "--name", "progress"], "got both"),
        (["--name", "progres"], "Did you mean 'progress'?"),
        (["SELECT 1", "--format", "xml"], "--format must be table, csv, json or parquet; got 'xml'"),
        (["SELECT 1", "--format", "parquet"], "Parquet needs a file"),
        (["SELECT 1", "-o", "x.txt"], "must end with .csv, .json or .parquet"),
        (["SELECT 1", "-o", "x.csv", "--format", "table"], "a table can only be printed"),
        (["SELECT 1", "-o", "no/such/x.csv"], "the folder of no/such/x.csv must exist"),
        (["SELECT 1", "-o", ".", "--format", "csv"], "must be a file; it is a folder"),
        (["SELECT 1 AS a, 2 AS a", "--json"], "2 are called 'a'"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: list[str], message: str, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ask(capsys, address, *arguments, code=1)
    assert message in said
    assert not Path("other.db").exists()
    assert len(said.splitlines()) == 1


def test_a_file_that_cannot_be_written_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    def rows() -> Iterator[tuple[int]]:
        yield (1,)
        raise OSError(28, "No space left on device")

    for ending in row_files.FORMATS:
        with pytest.raises(row_files.OutputError, match="No space left on device"):
            row_files.write_rows(ending, ["one"], rows(), tmp_path / "answer")
    assert list(tmp_path.iterdir()) == []


def parquet(tmp_path: Path, columns: list[str], rows: list[tuple[Any, ...]]) -> pq.Table:
    path = tmp_path / "answer.parquet"
    assert row_files.write_rows("parquet", columns, rows, path) == len(rows)
    return pq.read_table(path)


def test_parquet_learns_types_as_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "BATCH", 2)
    rows = [
        (1, None, 1, "a", None),
        (2, None, 2, "b", None),
        (3, 7, 2.5, 4, None),
        (4, None, None, b"x", None),
        (5, 8, 3, None, None),
    ]
    table = parquet(tmp_path, ["same", "late", "wider", "mixed", "never"], rows)
    assert [str(field.type) for field in table.schema] == ["int64", "int64", "double", "string", "null"]
    assert table.column("late").to_pylist() == [None, None, 7, None, 8]
    assert table.column("wider").to_pylist() == [1.0, 2.0, 2.5, None, 3.0]
    assert table.column("mixed").to_pylist()[:3] == ["a", "b", "4"]


def test_parquet_of_no_rows_has_its_columns(tmp_path: Path) -> None:
    assert parquet(tmp_path, ["a", "b"], []).column_names == ["a", "b"]


def test_values_of_other_databases(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    rows = [(Decimal("0.5"), moment, {"a": [1]}, memoryview(b"ab"), float("nan"), True)]
    columns = ["decimal", "moment", "json", "bytes", "nan", "flag"]
    path = tmp_path / "answer.json"
    row_files.write_rows("json", columns, rows, path)
    assert json.loads(path.read_text()) == [
        {
            "decimal": 0.5,
            "moment": "2026-01-02 03:04:05+00:00",
            "json": {"a": [1]},
            "bytes": "YWI=",
            "nan": None,
            "flag": True,
        }
    ]
    assert parquet(tmp_path, columns[:4], [rows[0][:4]]).to_pylist()[0]["json"] == '{"a": [1]}'
    row_files.write_rows("csv", columns, rows, tmp_path / "answer.csv")
    assert (tmp_path / "answer.csv").read_text().splitlines()[1] == (
        '0.5,2026-01-02 03:04:05+00:00,"{""a"": [1]}",6162,nan,True'
    )


@pytest.mark.parametrize("ending", row_files.FORMATS)
def test_rows_are_written_as_they_come(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "BATCH", 500)
    rows = ((number, f"{number:0200}") for number in range(20_000))  # 4 MB of text
    row_files.write_rows(ending, ["a", "b"], [(0, "")], tmp_path / "first")  # what is only made once
    tracemalloc.start()
    try:
        assert row_files.write_rows(ending, ["number", "text"], rows, tmp_path / "answer") == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.5e6


def rendered(columns: list[str], rows: list[tuple[Any, ...]], width: int) -> list[str]:
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(render_rows(columns, rows, console))
    return console.export_text().splitlines()


def test_tables_show_values_briefly() -> None:
    rows = [("0123456789ab" + "f" * 52, 0.123456789, None, "two\nlines \x1b[31m" + "x" * 300, b"abc", 12)]
    text = "\n".join(rendered(["job", "value", "nothing", "text", "data", "n"], rows, 200))
    assert "0123456789ab  " in text
    assert "f" * 20 not in text
    assert "0.123457" in text
    assert "null" in text
    assert "\x1b" not in text
    assert "two lines " in text
    assert "…" in text
    assert "3 bytes" in text


def test_what_is_too_wide_for_a_table_becomes_records() -> None:
    columns = [f"a_rather_long_name_{number}" for number in range(6)]
    lines = rendered(columns, [tuple(range(6)), tuple(range(6, 12))], 80)
    assert max(map(len, lines)) <= 80
    assert lines[0].strip() == "row 1"
    assert [line.split() for line in lines[1:7]] == [[name, str(value)] for value, name in enumerate(columns)]
    assert len(lines) == 14
    assert rendered(columns, [], 200)[0].split() == columns
