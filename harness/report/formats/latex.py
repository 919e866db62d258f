"""Tables as LaTeX, with the rules of booktabs."""

from __future__ import annotations

from harness.report.formats.latex_text import escape
from harness.report.formats.layout import check_table, full_caption, number_columns
from harness.report.parts import Cell, Table

# Texts longer than this get a column that breaks lines.
_LONG = 40
# Tables with more columns than this are scaled to the width of the text.
_MANY_COLUMNS = 6


def table(table: Table) -> str:
    """Return a `table` environment, labelled `tab:` and the table's name."""
    check_table(table)
    numbers = number_columns(table)
    grid = [
        rf"\begin{{tabular}}{{{_alignment(table, numbers)}}}",
        r"\toprule",
        _line([escape(column) for column in table.columns]),
        r"\midrule",
        *(_line([escape(row.label), *map(_cell, row.cells)]) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    needed = "booktabs"
    if len(table.columns) > _MANY_COLUMNS:
        needed = "booktabs,graphicx"
        grid = [r"\resizebox{\linewidth}{!}{%", *grid[:-1], rf"{grid[-1]}}}"]
    title = escape(table.title.rstrip("."))
    lines = [
        rf"% \usepackage{{{needed}}}",
        r"\begin{table}",
        r"\centering",
        rf"\caption[{{{title}}}]{{\textbf{{{title}.}} {escape(full_caption(table))}}}",
        rf"\label{{tab:{table.name}}}",
        *grid,
        *_notes(table),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _alignment(table: Table, numbers: tuple[bool, ...]) -> str:
    """Column types of `tabular`: numbers to the right, long texts with line breaks."""
    texts = [[row.cells[column].text for row in table.rows] for column in range(len(numbers))]
    long = [any(len(text) > _LONG for text in column) for column in texts]
    wide = sum(is_long and not number for is_long, number in zip(long, numbers, strict=True))
    letters = ["l"]
    for is_number, is_long in zip(numbers, long, strict=True):
        broken = rf"p{{{0.5 / wide:.2f}\linewidth}}" if is_long and not is_number else "l"
        letters.append("r" if is_number else broken)
    return "".join(letters)


def _line(cells: list[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return rf"\textbf{{{text}}}" if cell.bold and text else text


def _notes(table: Table) -> list[str]:
    if not table.notes:
        return []
    notes = [rf"{escape(note)}\par" for note in table.notes]
    return [
        r"\par\smallskip",
        r"\begin{minipage}{\linewidth}",
        r"\footnotesize",
        *notes,
        r"\end{minipage}",
    ]
