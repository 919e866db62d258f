"""A table of a report in a terminal of 80 columns, with nothing of it left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from harness.commands.tables import plain_table
from harness.report.formats.layout import check_table, full_caption, number_columns
from harness.report.parts import Table

# Between two columns, as `plain_table` draws them.
_GAP = 2
# Columns of words may be made as narrow as this, if their longest word allows it.
_NARROW = 24


def print_table(console: Console, table: Table) -> None:
    """Print a table, its caption and its notes. One that is too wide is printed in several pieces."""
    check_table(table)
    console.print(Text(table.title, "bold"))
    numbers = number_columns(table)
    places = range(len(numbers))
    stacked = sum(_widths(table, places, stacked=False)) > console.width
    for piece in _pieces(table, places, console.width, stacked=stacked):
        console.print()
        console.print(_grid(table, piece, numbers, stacked=stacked))
    console.print()
    for text in (full_caption(table), *table.notes):
        if text:
            console.print(Text(text, "dim"))


def _grid(table: Table, places: Sequence[int], numbers: Sequence[bool], *, stacked: bool) -> Grid:
    grid = plain_table()
    grid.add_column(Text(table.columns[0]), overflow="fold")
    for place in places:
        heading = Text(table.columns[place + 1])
        if numbers[place]:  # a number is never broken in two; what must give way is words
            width = _needed(table, place, stacked=stacked)
            grid.add_column(heading, justify="right", width=width, overflow="fold")
        else:
            grid.add_column(heading, overflow="fold")
    for row in table.rows:
        cells = [row.cells[place] for place in places]
        texts = [Text(_shown(cell.text, stacked=stacked), "bold" if cell.bold else "") for cell in cells]
        grid.add_row(Text(row.label), *texts)
    return grid


def _pieces(table: Table, places: range, width: int, *, stacked: bool) -> Iterator[list[int]]:
    """Columns that fit beside the labels, and at least one at a time."""
    labels = _narrowest([table.columns[0], *(row.label for row in table.rows)])
    piece: list[int] = []
    used = labels
    for place in places:
        needed = _needed(table, place, stacked=stacked) + _GAP
        if piece and used + needed > width:
            yield piece
            piece, used = [], labels
        piece.append(place)
        used += needed
    if piece or not places:
        yield piece


def _widths(table: Table, places: Sequence[int], *, stacked: bool) -> list[int]:
    labels = _narrowest([table.columns[0], *(row.label for row in table.rows)])
    return [labels, *(_needed(table, place, stacked=stacked) + _GAP for place in places)]


def _needed(table: Table, place: int, *, stacked: bool) -> int:
    """The least width that shows a column well."""
    heading = max(map(cell_len, table.columns[place + 1].split()), default=0)
    texts = [_shown(row.cells[place].text, stacked=stacked) for row in table.rows]
    if number_columns(table)[place]:
        return max([heading, *(cell_len(line) for text in texts for line in text.split("\n"))])
    return max(heading, _narrowest(texts))


def _narrowest(texts: Sequence[str]) -> int:
    """The width of the longest word, or of the longest text where that is not much."""
    words = [cell_len(word) for text in texts for word in text.split()]
    whole = [min(_NARROW, cell_len(text)) for text in texts]
    return max([0, *words, *whole])


def _shown(text: str, *, stacked: bool) -> str:
    """A number with its interval below it, where there is no room for both in a line."""
    return text.replace(" [", "\n[") if stacked else text
