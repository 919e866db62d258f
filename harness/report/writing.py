"""Writing a report to files. Each is written to a temporary file and renamed when it is complete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.export.row_files import OutputError, replacing
from harness.export.run_files import check_folder
from harness.report.formats import csv_file, html, latex, markdown
from harness.report.formats.layout import check_report, parts_of
from harness.report.parts import Picture, Report, Table


def write_report(report: Report, folder: Path, *, force: bool = False) -> list[Path]:
    """Write a report to a new or empty folder, and return its files.

    With `force` the folder may contain files: those with the same names are overwritten, others stay.
    """
    check_report(report)
    files = list(_files(report))  # first, so that an error in a part writes nothing
    check_folder(folder, force=force)
    written = []
    for name, content in files:
        path = folder / name
        _make_folder(path.parent)
        with replacing(path) as partial:
            partial.write_bytes(content)
        written.append(path)
    return written


def _files(report: Report) -> Iterator[tuple[str, bytes]]:
    """Names and contents; the page is last, so when it exists, the report is complete."""
    for part in parts_of(report):
        if isinstance(part, Table):
            yield f"tables/{part.name}.md", markdown.table(part).encode()
            yield f"tables/{part.name}.tex", latex.table(part).encode()
            yield f"tables/{part.name}.csv", csv_file.table(part).encode()
        elif isinstance(part, Picture):
            yield f"figures/{part.name}.svg", part.svg
    yield "provenance.json", _provenance(report).encode()
    yield "report.md", markdown.report(report).encode()
    yield "report.html", html.page(report).encode()


def _provenance(report: Report) -> str:
    """The provenance of the report, and the jobs behind each number of its tables."""
    tables = [part for part in parts_of(report) if isinstance(part, Table)]
    facts = {
        "title": report.title,
        "provenance": [{"what": what, "value": value} for what, value in report.provenance],
        "missing": [
            {"what": missing.what, "why": missing.why, "command": missing.command}
            for missing in report.missing
        ],
        "tables": {table.name: _cells(table) for table in tables},
    }
    return json.dumps(facts, indent=1, ensure_ascii=False) + "\n"


def _cells(table: Table) -> list[dict[str, Any]]:
    return [
        {
            "row": row.label,
            "column": column,
            "text": cell.text,
            "how": cell.how,
            "jobs": list(cell.jobs),
        }
        for row in table.rows
        for column, cell in zip(table.columns[1:], row.cells, strict=True)
        if cell.jobs or cell.how
    ]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be written: {error.strerror or error}. Choose another folder."
        ) from error
