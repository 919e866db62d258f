"""Texts made elsewhere, matched to the prefixes that they continue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bat.errors import InvalidInputError
from harness.config.imports import Import
from harness.jobs import ImportedFile, PrefixEntry, storable
from workers.corpora.tables import check_unique, digest_of, read_table
from workers.given_texts import without_prefix


@dataclass(frozen=True)
class ImportedTexts:
    """The texts in a column of a file, by the id or the text of their prefix."""

    file: ImportedFile
    path: str
    by_id: dict[str, str]
    by_text: dict[str, str]

    def find(self, prefix: PrefixEntry) -> str | None:
        """The text that continues a prefix, without the prefix."""
        text = self.by_id.get(prefix.id) or self.by_text.get(_comparable(prefix.text))
        return None if text is None else without_prefix(prefix.text, text)

    def match(self, prefixes: Sequence[PrefixEntry]) -> list[str]:
        """The text for each prefix. Raise if a prefix has none, or if it is ambiguous by its text."""
        self.check_distinct(prefixes)
        texts = []
        for prefix in prefixes:
            text = self.find(prefix)
            if text is None:
                raise self._no_text(prefixes, prefix)
            if not text.strip():
                raise InvalidInputError(
                    f"column {self.file.continuation!r} of {self.path} must have text after the prefix; "
                    f"there is none for the prefix that begins {_begin(prefix.text)}."
                )
            texts.append(text)
        return texts

    def check_distinct(self, prefixes: Sequence[PrefixEntry]) -> None:
        """Raise if texts are matched by the text of prefixes and two prefixes have the same text."""
        seen: dict[str, str] = {}
        for prefix in prefixes if self.by_text else ():
            first = seen.setdefault(_comparable(prefix.text), prefix.id)
            if first != prefix.id:
                raise InvalidInputError(
                    f"prefixes {first} and {prefix.id} have the same text, {_begin(prefix.text)}, so it is "
                    f"ambiguous which one {self.path} continues. Match by id: prefix_id in a sweep, "
                    "--prefix-id-column on the command line."
                )

    def _no_text(self, prefixes: Sequence[PrefixEntry], first: PrefixEntry) -> InvalidInputError:
        count = sum(self.find(prefix) is None for prefix in prefixes)
        by = "id" if self.file.prefix_id else "text"
        return InvalidInputError(
            f"{self.path} must have a text for each prefix of the stage; matched by {by}, {count} of "
            f"{len(prefixes)} prefixes have none. The first is {first.id}, which begins "
            f"{_begin(first.text)}. Add the texts, or import the file as a separate run."
        )


def load_imported(
    source: Import, through_tokenizer: Callable[[str], str] = lambda text: text
) -> ImportedTexts:
    """Read the texts of an import. `through_tokenizer` encodes a text with a tokenizer and decodes it."""
    rows = read_table(source.file, (source.prefix_column, source.continuation))
    by_id: dict[str, str] = {}
    by_text: dict[str, str] = {}
    if source.prefix_id is not None:
        check_unique(rows, lambda row: row.texts[0], "prefix id")
        by_id = {row.texts[0]: row.texts[1] for row in rows}
    else:
        check_unique(rows, lambda row: _comparable(row.texts[0]), "prefix")
        for prefix, text in (row.texts for row in rows):
            text = without_prefix(prefix, text)
            by_text[_comparable(through_tokenizer(prefix))] = text
            by_text[_comparable(prefix)] = text
    file = ImportedFile(
        name=Path(source.file).name,
        sha256=digest_of(source.file),
        continuation=source.continuation,
        prefix=None if source.prefix_id else source.prefix_column,
        prefix_id=source.prefix_id,
    )
    return ImportedTexts(file, source.file, by_id, by_text)


def _comparable(text: str) -> str:
    """The text for comparisons: without spaces, because programs decode tokens with different spacing."""
    return "".join(storable(text).split())


def _begin(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
