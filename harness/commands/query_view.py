"""How `bat-harness query` draws rows: as a table, or where that is too wide, as a list of records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from harness.commands.console import plain_table
from harness.export.row_files import plain
from harness.words import counted, without_colours

_LONGEST_TEXT = 240  # characters of a text that are shown
_ID = re.compile(r"[0-9a-f]{64}")
_ID_SHOWN = 12  # digits of a job id: enough to tell jobs apart, and for --job
_NARROWEST = 12  # least width of a column of text
_BETWEEN = 2  # width between two columns


def render_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], console: Console) -> RenderableType:
    """Draw rows as a table if the console is wide enough."""
    cells = [[_cell(value) for value in row] for row in rows]
    table = plain_table()
    needed = 0
    for index, name in enumerate(columns):
        values = [value for row in rows if (value := plain(row[index])) is not None]
        is_number = bool(values) and all(isinstance(value, int | float) for value in values)
        longest = max((len(line[index].plain) for line in cells), default=0)
        # Numbers stay on one line; text may wrap, down to a width that is still readable.
        least = max(len(name), longest if is_number else min(longest, _NARROWEST))
        needed += least + _BETWEEN
        table.add_column(
            name,
            justify="right" if is_number else "left",
            no_wrap=is_number,
            min_width=least,
            overflow="fold",
        )
    if rows and needed - _BETWEEN > console.width:
        return _records(columns, cells)
    for line in cells:
        table.add_row(*line)
    return table


def _records(columns: Sequence[str], cells: Sequence[Sequence[Text]]) -> Table:
    """One record below another, with a line for each column."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for number, line in enumerate(cells, start=1):
        grid.add_row(Text(f"row {number}", "dim"), "")
        for name, cell in zip(columns, line, strict=True):
            grid.add_row(name, cell)
    return grid


def _cell(value: Any) -> Text:
    match plain(value):
        case None:
            return Text("null", "dim")
        case bool(flag):
            return Text(str(flag).lower())
        case float(number):
            return Text(f"{number:.6g}")
        case bytes(data):
            return Text(counted(len(data), "byte"), "dim")
        case str(text) if _ID.fullmatch(text):
            return Text(text[:_ID_SHOWN])
        case str(text):
            return Text(_one_line(text))
        case other:
            return Text(str(other))


def _one_line(text: str) -> str:
    """Text on one line, without control characters."""
    text = without_colours(text)
    shown = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
    return "".join(letter if letter.isprintable() else " " for letter in shown)
