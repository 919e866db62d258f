"""Texts in local files: JSONL and Parquet (a text a row), plain text (a text a file, paragraph or line).

JSONL and plain text may be compressed with gzip. A folder stands for all such files in it and below.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from bat.errors import InvalidInputError
from workers.corpora.columns import require_column, text_of
from workers.local_files import corpus_revision, corpus_suffix, find_corpus_files
from workers.names import SplitOn

_Reader = Callable[[Path, str], Iterator[str | None]]

_EMPTY_LINES = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class LocalText:
    """The texts in local files. The files' content is the revision; where they lie is not part of it.

    `split_on` says what one text of a .txt file is. Unless it is the whole file, it is part of the revision.
    """

    paths: tuple[Path, ...]
    column: str
    split_on: SplitOn = "file"
    revision: str = field(init=False)
    streamed: bool = False

    def __post_init__(self) -> None:
        pieces = "" if self.split_on == "file" else f" by {self.split_on}"
        object.__setattr__(self, "revision", f"{corpus_revision(self.paths)}{pieces}")

    @property
    def has_whole_files(self) -> bool:
        """Whether a document is a whole text file, so that there may be more in it than one."""
        return self.split_on == "file" and any(map(is_plain_text, self.paths))

    def texts(self) -> Iterator[str | None]:
        """Read the texts afresh."""
        for path in self.paths:
            try:
                if is_plain_text(path):
                    yield from _read_plain_text(path, self.split_on)
                else:
                    yield from _READERS[corpus_suffix(path)](path, self.column)
            except InvalidInputError:
                raise
            except (OSError, EOFError, ValueError, zlib.error) as error:
                raise InvalidInputError(
                    f"{path} must be a {corpus_suffix(path)} file of UTF-8 text, but reading it gave: "
                    f"{error}. Check that it is complete."
                ) from error

    def is_broken(self, text: str) -> bool:
        """Whether a text is damaged: what people give us is taken as it is."""
        return False


def open_files(path: Path, column: str, split_on: SplitOn = "file") -> LocalText:
    """Return the texts of a file, or of every readable file in a folder and below."""
    opened = LocalText(find_corpus_files(path), column, split_on)
    if split_on != "file" and not any(map(is_plain_text, opened.paths)):
        raise InvalidInputError(
            f"split_on divides .txt files; got {split_on!r} for {path}, which has none. Leave it out."
        )
    return opened


def read_json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a .jsonl file, each with where it is; empty lines are skipped."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"line {number} of {path}"
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InvalidInputError(f"{where} must be a JSON object; it is not: {error}.") from error
            if not isinstance(row, dict):
                raise InvalidInputError(f"{where} must be a JSON object; got {type(row).__name__}.")
            yield where, row


def _read_jsonl(path: Path, column: str) -> Iterator[str | None]:
    return (text_of(row, column, where) for where, row in read_json_lines(path))


def _read_parquet(path: Path, column: str) -> Iterator[str | None]:
    # Imported here: it is only needed for such files, and takes a moment.
    import pyarrow.parquet  # type: ignore[import-untyped]

    with pyarrow.parquet.ParquetFile(path) as table:
        require_column(table.schema_arrow.names, column, str(path))
        for batch in table.iter_batches(batch_size=1024, columns=[column]):
            for row in batch.to_pylist():
                yield text_of(row, column, str(path))


def _read_plain_text(path: Path, split_on: SplitOn) -> Iterator[str]:
    with open_text(path) as opened:
        if split_on == "line":
            yield from (line for line in opened if line.strip())
        elif split_on == "paragraph":
            yield from (piece for piece in _EMPTY_LINES.split(opened.read()) if piece.strip())
        else:
            yield opened.read()


_READERS: dict[str, _Reader] = {
    ".jsonl": _read_jsonl,
    ".jsonl.gz": _read_jsonl,
    ".parquet": _read_parquet,
}


def is_plain_text(path: Path) -> bool:
    """Whether a file is plain text, by its name."""
    return corpus_suffix(path) not in _READERS


def open_text(path: Path) -> TextIO:
    """Open a UTF-8 file, compressed or not."""
    # "utf-8-sig" also takes away the byte order mark that some editors put first.
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")
