"""How `bat-harness report` prints a table, complete, in a terminal of 80 columns or more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from harness.commands.console import plain_table
from harness.report.formats.layout import check_table, full_caption, number_columns
from harness.report.parts import Table

# Width between two columns of `plain_table`.
_GAP = 2
# Columns of text may be this narrow, if their longest word fits.
_NARROW = 24


def print_table(console: Console, table: Table) -> None:
    """Print a table, its caption and its notes. A table that is too wide is printed in pieces."""
    check_table(table)
    console.print(Text(table.title, "bold"))
    numbers = number_columns(table)
    indices = range(len(numbers))
    stacked = sum(_widths(table, indices, stacked=False)) > console.width
    for piece in _pieces(table, indices, console.width, stacked=stacked):
        console.print()
        console.print(_grid(table, piece, numbers, stacked=stacked))
    console.print()
    for text in (full_caption(table), *table.notes):
        if text:
            console.print(Text(text, "dim"))


def _grid(table: Table, indices: Sequence[int], numbers: Sequence[bool], *, stacked: bool) -> Grid:
    grid = plain_table()
    grid.add_column(Text(table.columns[0]), overflow="fold")
    for index in indices:
        heading = Text(table.columns[index + 1])
        if numbers[index]:  # numbers never wrap; text does
            width = _needed(table, index, stacked=stacked)
            grid.add_column(heading, justify="right", width=width, overflow="fold")
        else:
            grid.add_column(heading, overflow="fold")
    for row in table.rows:
        cells = [row.cells[index] for index in indices]
        texts = [Text(_shown(cell.text, stacked=stacked), "bold" if cell.bold else "") for cell in cells]
        grid.add_row(Text(row.label), *texts)
    return grid


def _pieces(table: Table, indices: range, width: int, *, stacked: bool) -> Iterator[list[int]]:
    """Groups of columns that fit beside the labels, at least one column each."""
    labels = _narrowest([table.columns[0], *(row.label for row in table.rows)])
    piece: list[int] = []
    used = labels
    for index in indices:
        needed = _needed(table, index, stacked=stacked) + _GAP
        if piece and used + needed > width:
            yield piece
            piece, used = [], labels
        piece.append(index)
        used += needed
    if piece or not indices:
        yield piece


def _widths(table: Table, indices: Sequence[int], *, stacked: bool) -> list[int]:
    labels = _narrowest([table.columns[0], *(row.label for row in table.rows)])
    return [labels, *(_needed(table, index, stacked=stacked) + _GAP for index in indices)]


def _needed(table: Table, index: int, *, stacked: bool) -> int:
    """The least width of a column."""
    heading = max(map(cell_len, table.columns[index + 1].split()), default=0)
    texts = [_shown(row.cells[index].text, stacked=stacked) for row in table.rows]
    if number_columns(table)[index]:
        return max([heading, *(cell_len(line) for text in texts for line in text.split("\n"))])
    return max(heading, _narrowest(texts))


def _narrowest(texts: Sequence[str]) -> int:
    """The width of the longest word, or of the longest text if that is small."""
    words = [cell_len(word) for text in texts for word in text.split()]
    whole = [min(_NARROW, cell_len(text)) for text in texts]
    return max([0, *words, *whole])


def _shown(text: str, *, stacked: bool) -> str:
    """A number, with its interval on the next line if `stacked`."""
    return text.replace(" [", "\n[") if stacked else text
