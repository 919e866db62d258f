"""What specifications of several kinds have in common: models, corpora, ranges of prefixes, plug-ins.

Texts and documents are identified by the hash of their content, models by fingerprints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness.jobs.identity import LOCAL
from workers.local_files import is_corpus_path

_DEFAULT_DTYPE = "float32"


@dataclass(frozen=True)
class ModelIdentity:
    """What results depend on in a model."""

    name: str  # LOCAL for a folder or file: its fingerprints identify it
    revision: (
        str | None
    )  # the commit on the Hugging Face Hub, or what identifies the version of another model
    dtype: str
    weights: str  # fingerprint
    tokenizer: str  # fingerprint
    title: str | None = field(default=None, compare=False)  # the path of a local model, for people

    @property
    def shown(self) -> str:
        """The name for people."""
        return self.title or self.name

    @property
    def label(self) -> str:
        """A short name for people, with the precision unless it is the default."""
        return self.shown if self.dtype == _DEFAULT_DTYPE else f"{self.shown} {self.dtype}"


@dataclass(frozen=True)
class CorpusIdentity:
    """One half of a corpus, at a revision."""

    name: str  # LOCAL for a file or folder: the revision, a digest of its content, identifies it
    revision: str
    split: str
    plugin: Mapping[str, str] | None = None  # provenance of the code that reads it if it is not built in
    title: str | None = field(default=None, compare=False)  # the path of a local corpus, for people

    @classmethod
    def of(cls, name: str, revision: str, split: str) -> CorpusIdentity:
        """The identity of a corpus that can be opened by this name."""
        from workers.corpora import provenance  # late: imports what reads corpora

        if is_corpus_path(name):
            return cls(LOCAL, revision, split, title=name)
        return cls(name, revision, split, provenance(name))

    @property
    def shown(self) -> str:
        """The name for people."""
        return self.title or self.name

    @property
    def label(self) -> str:
        """A short name for people."""
        return f"{self.shown} {self.split}"


@dataclass(frozen=True)
class PrefixRange:
    """A range of the prefixes of a set."""

    set: str
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start


def plugins(**provenance: Mapping[str, str] | None) -> dict[str, Mapping[str, str]] | None:
    """The provenance of a job's plug-ins, by what they are for; None if everything is built in.

    Results depend on the code that computes them. For built-in code, `RESULT_VERSION` identifies it.
    """
    return {what: source for what, source in provenance.items() if source is not None} or None


def shards(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most `size` that cover `count` positions."""
    for start in range(0, count, size):
        yield start, min(count, start + size)


def is_commit(revision: str | None) -> bool:
    """Whether the revision in a model's identity is a commit on the Hugging Face Hub."""
    return revision is not None and len(revision) == 40
