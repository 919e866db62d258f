from __future__ import annotations

import csv
import io

from harness.report.formats import csv_file
from tests.harness.report.formats.made_report import HOSTILE, comparison


def test_a_line_for_each_cell_with_its_numbers() -> None:
    table = comparison()
    lines = list(csv.DictReader(io.StringIO(csv_file.table(table))))
    assert len(lines) == 3 * 3
    assert [(line["row"], line["column"]) for line in lines] == [
        (row.label, column) for row in table.rows for column in table.columns[1:]
    ]
    best = lines[3]
    assert best["text"] == "88.4 [86.5, 90.3]"
    assert [float(best[name]) for name in ("value", "low", "high")] == [88.4, 86.5, 90.3]


def test_what_has_no_number_is_its_text() -> None:
    lines = list(csv.DictReader(io.StringIO(csv_file.table(comparison()))))
    assert lines[6] | {"row": "", "column": ""} == dict.fromkeys(csv_file.COLUMNS, "") | {
        "text": "not defined"
    }
    assert lines[8]["text"] == HOSTILE


def test_numbers_are_whole() -> None:
    import dataclasses

    from harness.report.parts import Cell, Row

    third = dataclasses.replace(
        comparison(), columns=("a", "b"), rows=(Row("x", (Cell("0.3", 1 / 3, None, 2e-17),)),)
    )
    [line] = csv.DictReader(io.StringIO(csv_file.table(third)))
    assert (float(line["value"]), line["low"], float(line["high"])) == (1 / 3, "", 2e-17)
