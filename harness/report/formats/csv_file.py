"""A table as CSV: a line for each cell, with the number behind it in full.

A cell has a number and the two ends of its interval. One line per cell keeps them together and loads into a
data frame as it is.
"""

from __future__ import annotations

import csv
import io

from harness.report.formats.layout import check_table
from harness.report.parts import Table

COLUMNS = ("row", "column", "text", "value", "low", "high")


def table(table: Table) -> str:
    """Return the table's cells, row by row; the last three columns are empty for cells without a number."""
    check_table(table)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in table.rows:
        for column, cell in zip(table.columns[1:], row.cells, strict=True):
            writer.writerow((row.label, column, cell.text, cell.value, cell.low, cell.high))
    return stream.getvalue()
