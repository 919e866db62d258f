"""Rows of JSONL and Parquet files with several columns of text, such as a prefix and its continuations."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean
from workers import local_files
from workers.corpora.files import read_json_lines

_ROWS_PER_BATCH = 1024

_Rows = Iterator[tuple[str, Mapping[str, object]]]


@dataclass(frozen=True, slots=True)
class Row:
    """Texts of a row, in the order of the columns asked for, and where it stands in the file."""

    where: str  # "line 3 of texts.jsonl"
    texts: tuple[str, ...]


def read_table(file: str, columns: Sequence[str]) -> list[Row]:
    """The texts in some columns of a file. Every one must be there, and must not be empty."""
    path, read = _find_reader(file)
    rows = []
    try:
        for where, row in read(path, columns):
            rows.append(Row(where, tuple(_text_of(row, column, where) for column in columns)))
    except InvalidInputError:
        raise
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} must be UTF-8 text; {_broken_line(path)} is not ({error.reason}). Save it as UTF-8."
        ) from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InvalidInputError(
            f"{path} must be a file of {' or '.join(TABLE_SUFFIXES)}, but reading it gave: {error}. "
            "Check that it is complete."
        ) from error
    if not rows:
        raise InvalidInputError(f"{path} must have at least one row; it has none.")
    return rows


def digest_of(file: str) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits."""
    path, _ = _find_reader(file)
    return local_files.digest_of(path)


def check_unique(rows: Iterable[Row], key: Callable[[Row], str], what: str) -> None:
    """Raise unless the rows differ in a key, such as their prefix."""
    seen: dict[str, str] = {}
    for row in rows:
        first = seen.setdefault(key(row), row.where)
        if first != row.where:
            raise InvalidInputError(
                f"each {what} must occur once in a file; {row.where} repeats that of {first}. Remove "
                "one of them."
            )


def _find_reader(file: str) -> tuple[Path, Callable[[Path, Sequence[str]], _Rows]]:
    path = Path(file).expanduser()
    reader = next((read for suffix, read in _READERS.items() if path.name.lower().endswith(suffix)), None)
    if reader is None:
        raise InvalidInputError(f"a file of texts must end in {', '.join(TABLE_SUFFIXES)}; got {file}.")
    if not path.is_file():
        there = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InvalidInputError(f"there is no file {file}.{did_you_mean(path.name, there)}")
    return path, reader


def _read_jsonl(path: Path, columns: Sequence[str]) -> _Rows:
    return read_json_lines(path)


def _broken_line(path: Path) -> str:
    """The first line that is no UTF-8: text is decoded in blocks, so the error does not tell."""
    is_compressed = path.name.lower().endswith(".gz")
    with gzip.open(path, "rb") if is_compressed else path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f"line {number}"
    return "it"


def _read_parquet(path: Path, columns: Sequence[str]) -> _Rows:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    try:
        with pa.parquet.ParquetFile(path) as table:
            for column in columns:
                _require_column(table.schema_arrow.names, column, str(path))
            number = 0
            for batch in table.iter_batches(batch_size=_ROWS_PER_BATCH, columns=list(dict.fromkeys(columns))):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number} of {path}", row
    except pa.ArrowException as error:
        raise InvalidInputError(f"{path} must be a Parquet file; reading it gave: {error}.") from error


_READERS: dict[str, Callable[[Path, Sequence[str]], _Rows]] = {
    ".jsonl": _read_jsonl,
    ".jsonl.gz": _read_jsonl,
    ".parquet": _read_parquet,
}
TABLE_SUFFIXES = tuple(_READERS)


def _text_of(row: Mapping[str, object], column: str, where: str) -> str:
    _require_column(row, column, where)
    text = row[column]
    if not isinstance(text, str):
        kind = "nothing" if text is None else type(text).__name__
        raise InvalidInputError(f"column {column!r} must hold text; got {kind} in {where}.")
    if not text.strip():
        raise InvalidInputError(f"column {column!r} must hold text; it is empty in {where}. Remove the row.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        # JSON can spell half a character (a lone surrogate), which no tokenizer accepts.
        raise InvalidInputError(f"column {column!r} has a broken character in {where}: {error}.") from error
    return text


def _require_column(columns: Iterable[str], column: str, where: str) -> None:
    names = list(columns)
    if column not in names:
        there = ", ".join(map(repr, names)) or "none"
        raise InvalidInputError(
            f"there is no column {column!r} in {where}; its columns are {there}.{did_you_mean(column, names)}"
        )
