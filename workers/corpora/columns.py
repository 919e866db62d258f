"""The column of a table that holds the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bat.errors import InvalidInputError


def text_of(row: Mapping[str, object], column: str, where: str) -> str | None:
    """Return the text in a row's column, None where it is null, or raise an error that names the columns."""
    require_column(row, column, where)
    text = row[column]
    if text is not None and not isinstance(text, str):
        raise InvalidInputError(
            f"column {column!r} must hold text; got {type(text).__name__} in {where}. Name another column."
        )
    return text


def require_column(columns: Iterable[str], column: str, where: str) -> None:
    """Raise an error that names the columns there are, unless the one asked for is among them."""
    names = list(columns)
    if column not in names:
        there = ", ".join(map(repr, names)) or "none"
        raise InvalidInputError(
            f"column must be one of those in {where}: {there}; got {column!r}. "
            "Name the one that holds the text."
        )
