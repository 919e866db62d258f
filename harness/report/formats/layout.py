"""What all formats share: checks of a report, and which columns contain numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bat.errors import InvalidInputError
from harness.report.parts import Part, Report, Table

# A part's name is also the name of its files, a label in LaTeX and an anchor of the page.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def parts_of(report: Report) -> Iterator[Part]:
    """All parts, in order."""
    for section in report.sections:
        yield from section.parts


def check_report(report: Report) -> None:
    """Raise when names of parts are invalid or repeated, or a row does not fit its table."""
    # Some file systems ignore case.
    seen: dict[str, Part] = {}
    for part in parts_of(report):
        if not _NAME.fullmatch(part.name):
            raise InvalidInputError(
                "the name of a part must be letters, digits, dots, hyphens and underscores; "
                f"got {part.name!r} for {part.title!r}. Rename it: its files have this name."
            )
        if part.name.casefold() in seen:
            other = seen[part.name.casefold()]
            raise InvalidInputError(
                f"parts of a report must have different names; {other.title!r} and {part.title!r} are both "
                f"called {part.name!r}. Rename one: its files have this name."
            )
        seen[part.name.casefold()] = part
        if isinstance(part, Table):
            check_table(part)


def check_table(table: Table) -> None:
    """Raise unless every row has a cell for every column."""
    expected = len(table.columns) - 1
    for row in table.rows:
        if len(row.cells) != expected:
            raise InvalidInputError(
                f"each row of a table must have a cell for each column but the first, {expected} of them; "
                f"got {len(row.cells)} in row {row.label!r} of table {table.name!r}."
            )


def number_columns(table: Table) -> tuple[bool, ...]:
    """For each column but the first, whether any of its cells has a number."""
    return tuple(
        any(row.cells[column].value is not None for row in table.rows)
        for column in range(len(table.columns) - 1)
    )


def full_caption(part: Part) -> str:
    """The caption of a table or figure, and what it reproduces of the paper; other parts have none."""
    caption = getattr(part, "caption", "").strip()
    paper = getattr(part, "paper", "").strip().rstrip(".")
    return f"{caption} Corresponds to {paper}.".strip() if paper else caption


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, separated by empty lines."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
