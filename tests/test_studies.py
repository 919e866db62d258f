"""The pages of the studies show what is in the CSV files beside them, as `bat-harness report` wrote these."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

STUDIES = Path(__file__).parent.parent / "docs" / "studies"
# A table is preceded by the file that its cells are from.
_TABLE = re.compile(r"<!-- (results/\S+\.csv) -->\n\n((?:\|.*\|\n)+)")
PAGES = sorted(page for page in STUDIES.glob("*.md"))


def read_table(block: str) -> tuple[list[str], list[list[str]]]:
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
    heading, rule, *rows = lines
    assert all(set(cell) <= set("-: ") for cell in rule)
    return heading, rows


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_cell_is_in_the_csv_file(page: Path) -> None:
    for name, block in _TABLE.findall(page.read_text(encoding="utf-8")):
        with (STUDIES / name).open(encoding="utf-8", newline="") as stream:
            cells = {(line["row"], line["column"]): line["text"] for line in csv.DictReader(stream)}
        (_, *columns), rows = read_table(block)
        assert columns, name
        assert rows, name
        for label, *texts in rows:
            for column, text in zip(columns, texts, strict=True):
                assert text.strip("*") == cells[label.strip("*"), column], f"{name}: {label}, {column}"


def test_the_pages_have_such_tables() -> None:
    assert sum(len(_TABLE.findall(page.read_text(encoding="utf-8"))) for page in PAGES) >= 4


def test_results_are_numbers_and_no_texts() -> None:
    for file in (STUDIES / "results").rglob("*.csv"):
        text = file.read_text(encoding="utf-8")
        assert max(len(line) for line in text.splitlines()) < 200, file
