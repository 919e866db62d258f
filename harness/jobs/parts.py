"""What specifications of several kinds have in common: models, corpora, ranges of prefixes, scoring options.

Texts and documents are named by the hash of their content, models by the fingerprints of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_USUAL_DTYPE = "float32"


@dataclass(frozen=True)
class ModelIdentity:
    """What results depend on in a model."""

    name: str
    revision: str | None  # the hub's commit, or what else pins a model that is no repository
    dtype: str
    weights: str  # fingerprints
    tokenizer: str

    @property
    def label(self) -> str:
        """One line for people: an unusual precision is part of it."""
        return self.name if self.dtype == _USUAL_DTYPE else f"{self.name} {self.dtype}"


@dataclass(frozen=True)
class CorpusIdentity:
    """One half of a corpus, at a revision."""

    name: str
    revision: str
    split: str
    plugin: Mapping[str, str] | None = None  # where the code comes from that reads it, unless it is ours

    @classmethod
    def of(cls, name: str, revision: str, split: str) -> CorpusIdentity:
        """The identity of a corpus that can be opened by this name."""
        from workers.corpora import provenance  # late: brings in what reads corpora

        return cls(name, revision, split, provenance(name))

    @property
    def label(self) -> str:
        """One line for people."""
        return f"{self.name} {self.split}"


@dataclass(frozen=True)
class PrefixRange:
    """Prefixes of a set, from one position up to another."""

    set: str
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


def plugins(**provenance: Mapping[str, str] | None) -> dict[str, Mapping[str, str]] | None:
    """Where the plug-ins of a job come from, by what they are; None where all is our own.

    Results depend on the code that made them: for ours, `RESULT_VERSION` says which.
    """
    return {what: source for what, source in provenance.items() if source is not None} or None


def shards(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most `size` that cover `count` positions."""
    for start in range(0, count, size):
        yield start, min(count, start + size)


def is_commit(revision: str | None) -> bool:
    """Whether the revision in a model's identity is a commit of the hub."""
    return revision is not None and len(revision) == 40
