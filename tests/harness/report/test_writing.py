from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from bat.errors import InvalidInputError
from harness.export.row_files import OutputError
from harness.report.formats import csv_file, html, latex, markdown
from harness.report.parts import Cell, Row, Section, Table
from harness.report.writing import write_report
from tests.harness.report.formats.made_report import SVG, comparison, picture, report

NAMES = {
    "report.html",
    "report.md",
    "provenance.json",
    "figures/toy.svg",
    "tables/comparison.csv",
    "tables/comparison.md",
    "tables/comparison.tex",
}


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_writes_every_part_in_every_format(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "report"
    written = write_report(report(), folder)
    assert {path.relative_to(folder).as_posix() for path in written} == files_in(folder) == NAMES
    assert len(written) == len(NAMES)
    assert (folder / "report.html").read_text(encoding="utf-8") == html.page(report())
    assert (folder / "report.md").read_text(encoding="utf-8") == markdown.report(report())
    tables = folder / "tables"
    assert (tables / "comparison.tex").read_text(encoding="utf-8") == latex.table(comparison())
    assert (tables / "comparison.csv").read_text(encoding="utf-8") == csv_file.table(comparison())
    assert (tables / "comparison.md").read_text(encoding="utf-8") == markdown.table(comparison())
    assert (folder / "figures" / "toy.svg").read_bytes() == SVG


def test_links_of_the_markdown_are_files(tmp_path: Path) -> None:
    write_report(report(), tmp_path)
    assert "](figures/toy.svg)" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert (tmp_path / "figures/toy.svg").is_file()


def test_provenance_leads_from_numbers_to_jobs(tmp_path: Path) -> None:
    write_report(report(), tmp_path)
    found = json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))
    assert found["title"] == report().title
    assert found["provenance"][0] == {"what": "run", "value": "demo, number 1"}
    assert found["missing"][0]["command"] == "bat-harness run configs/paper/a.yaml"
    cells = found["tables"]["comparison"]
    assert len(cells) == 4  # of the nine, those with jobs
    assert cells[0] == {
        "row": "eta=0.0009",
        "column": "MAUVE",
        "text": "87.8 [85.9, 89.7]",
        "how": "mean over 5 clusterings",
        "jobs": ["a" * 64],
    }


def test_a_folder_with_files_is_invalid_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    (tmp_path / "report.md").write_text("old")
    with pytest.raises(InvalidInputError, match=r"must be an empty folder, or a new one.*--force"):
        write_report(report(), tmp_path)
    assert files_in(tmp_path) == {"mine.txt", "report.md"}
    assert (tmp_path / "report.md").read_text() == "old"
    write_report(report(), tmp_path, force=True)
    assert files_in(tmp_path) == {*NAMES, "mine.txt"}
    assert (tmp_path / "mine.txt").read_text() == "keep me"
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == markdown.report(report())


def test_a_report_that_cannot_be_shown_leaves_no_trace(tmp_path: Path) -> None:
    twice = dataclasses.replace(report(), sections=(Section("s", "", (comparison("x"), picture("x"))),))
    crooked = Table("crooked", "t", "c", ("a", "b"), (Row("first", (Cell("1"), Cell("2"))),))
    folder = tmp_path / "report"
    with pytest.raises(InvalidInputError, match="both called 'x'"):
        write_report(twice, folder)
    with pytest.raises(InvalidInputError, match="got 2 in row 'first'"):
        write_report(dataclasses.replace(report(), sections=(Section("s", "", (crooked,)),)), folder)
    assert not folder.exists()


def test_a_crash_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_report(report(), tmp_path)
    before = (tmp_path / "tables/comparison.tex").read_bytes()
    write_whole = Path.write_bytes

    def write_half(path: Path, content: bytes) -> int:
        if "comparison.tex" not in path.name:
            return write_whole(path, content)
        write_whole(path, content[: len(content) // 2])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(KeyboardInterrupt):
        write_report(report(), tmp_path, force=True)
    assert (tmp_path / "tables/comparison.tex").read_bytes() == before
    assert files_in(tmp_path) == NAMES


def test_a_file_where_a_folder_should_be_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "tables").write_text("")
    with pytest.raises(OutputError, match=r"tables cannot be written: .*Choose another folder"):
        write_report(report(), tmp_path, force=True)
