"""Documents: what a corpus is made of, whatever it was read from.

A document is named by its content, so its name, its half of the corpus and the random numbers that meet it
do not depend on where it was found, nor on the documents around it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from workers.names import Split

# 64 bits: among the 8 million documents of OpenWebText, the chance that any two share an id is 2e-6.
_ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Document:
    """A text without space around it, and the id that its content gives it."""

    id: str
    text: str

    @classmethod
    def of(cls, text: str) -> Document:
        """Name a text; the space around it does not count."""
        stripped = text.strip()
        return cls(document_id(stripped), stripped)


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """What became of the texts read so far: each is counted once under the first heading that fits."""

    read: int = 0
    empty: int = 0
    broken: int = 0
    duplicates: int = 0
    other_split: int = 0
    kept: int = 0


class TextSource(Protocol):
    """Where the texts of a corpus come from; small enough to be sent to another process.

    A corpus of your own derives from this class. It must have `revision` and `texts`.
    """

    @property
    def revision(self) -> str:
        """What pins the texts: a commit, a package version or a digest of the files."""

    @property
    def streamed(self) -> bool:
        """Whether there are too many texts to hold, so that they are taken in the order they come."""
        return False

    def texts(self) -> Iterator[str | None]:
        """Read the texts afresh; None stands for a missing one."""

    def is_broken(self, text: str) -> bool:
        """Whether a text is too damaged to count as human writing."""
        return False


class DocumentReader:
    """An iterator over the documents of one split of a source, which counts what it leaves out.

    Documents of a stream come in the order of the stream, others in the order of their ids; the latter are
    all read before the first is given. `counts` may be asked at any time.
    """

    def __init__(self, source: TextSource, split: Split) -> None:
        self._source = source
        self._split = split
        self._tally: Counter[str] = Counter()
        documents = self._documents()
        self._iterator = documents if source.streamed else self._in_order(documents)

    def __iter__(self) -> DocumentReader:
        return self

    def __next__(self) -> Document:
        return next(self._iterator)

    @property
    def counts(self) -> DocumentCounts:
        """What became of the texts read so far."""
        return DocumentCounts(read=self._tally.total(), **self._tally)

    def _documents(self) -> Iterator[Document]:
        seen: set[str] = set()
        for text in self._source.texts():
            heading, document = self._judge((text or "").strip(), seen)
            self._tally[heading] += 1
            if heading == "kept" and document is not None:
                yield document

    def _judge(self, text: str, seen: set[str]) -> tuple[str, Document | None]:
        """Return the heading of `DocumentCounts` that a stripped text falls under, and its document."""
        if not text:
            return "empty", None
        try:
            document = Document.of(text)
        except UnicodeEncodeError:
            # JSON can spell half a character (a lone surrogate), which no tokenizer accepts.
            return "broken", None
        if self._source.is_broken(text):
            return "broken", None
        if document.id in seen:
            return "duplicates", None
        seen.add(document.id)
        return ("kept" if self._split in ("all", split_of(document.id)) else "other_split"), document

    @staticmethod
    def _in_order(documents: Iterator[Document]) -> Iterator[Document]:
        yield from sorted(documents, key=lambda document: document.id)


def document_id(text: str) -> str:
    """Return the first 16 hex digits of the SHA-256 of a text's UTF-8, without the space around it."""
    return hashlib.sha256(text.strip().encode("utf-8")).hexdigest()[:_ID_DIGITS]


def split_of(identifier: str) -> Literal["test", "validation"]:
    """Return the half of its corpus that a document belongs to: validation if its id is even, test if odd.

    The last bit of a hash is as good as a coin, so the halves are equal but for chance. It is the document's
    own, so no document changes sides when others are added, removed or put in another order.
    """
    return "test" if int(identifier, 16) % 2 else "validation"
