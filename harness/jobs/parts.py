"""What kinds of jobs share: models, corpora, prefixes and texts, and who supplies them.

Texts and documents are identified by the hash of their content, models by fingerprints. A kind of job gets
what its request needs through `Inputs` and `Results`, and is timed with a `Trial`. The texts of a setting are
made by a `TextsJob`, generated or imported; others only see that they are texts.
"""

from __future__ import annotations

import dataclasses
import math
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from bat.random import Key
from harness.jobs.base import LOCAL, JobKind, JobSpec, Rows
from workers.local_files import is_corpus_path
from workers.traces import decode_trace, encode_trace

if TYPE_CHECKING:  # these import torch, which a store does not need
    from harness.config.schema import SweepConfig
    from harness.jobs.import_texts import ImportedFile
    from workers.generation import Generation
    from workers.measurement_record import Measurement
    from workers.positions import Positions, TokenizedDocument
    from workers.prefixes import Prefix, PrefixSet
    from workers.requests import ModelRequest, Request

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


@dataclass(frozen=True, slots=True)
class PrefixEntry:
    """A prefix and its human continuation, as token ids and as text."""

    id: str
    token_ids: tuple[int, ...]
    text: str
    continuation_ids: tuple[int, ...]
    continuation: str

    def to_prefix(self) -> Prefix:
        """Convert to a worker's prefix."""
        from workers.prefixes import Prefix

        return Prefix(self.id, self.token_ids, self.continuation_ids)


@dataclass(frozen=True, slots=True)
class PrefixRows:
    """A set of prefixes. The id is the set's human fingerprint."""

    id: str
    fingerprint: str
    corpus: str
    revision: str
    split: str
    counts: dict[str, int]
    entries: tuple[PrefixEntry, ...]

    @classmethod
    def of(cls, prefix_set: PrefixSet, texts: Sequence[str], continuations: Sequence[str]) -> PrefixRows:
        """Convert a worker's set, with the texts of prefixes and of their continuations."""
        entries = tuple(
            PrefixEntry(
                prefix.id, prefix.token_ids, storable(text), prefix.continuation_ids, storable(continuation)
            )
            for prefix, text, continuation in zip(prefix_set.prefixes, texts, continuations, strict=True)
        )
        return cls(
            id=prefix_set.human_fingerprint,
            fingerprint=prefix_set.fingerprint,
            corpus=prefix_set.corpus,
            revision=prefix_set.revision,
            split=prefix_set.split,
            counts={**dataclasses.asdict(prefix_set.counts), "too_short": prefix_set.too_short},
            entries=entries,
        )


def storable(text: str) -> str:
    """The text as every database can store it: U+FFFD replaces NUL and lone surrogates."""
    text = text.replace("\x00", "\ufffd")
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


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


@dataclass(frozen=True, slots=True)
class GenerationEntry:
    """One continuation, with its trace encoded."""

    prefix_id: str
    random_key: Key
    text: str
    stop_reason: str
    token_count: int
    solver_seconds: float
    trace: bytes

    @classmethod
    def of(cls, generation: Generation) -> GenerationEntry:
        """Convert a worker's generation."""
        return cls(
            prefix_id=generation.prefix_id,
            random_key=generation.key,
            text=storable(generation.text),
            stop_reason=generation.stop_reason.value,
            token_count=len(generation.trace),
            solver_seconds=float(generation.solver_seconds),
            trace=encode_trace(generation.trace),
        )

    def to_generation(self) -> Generation:
        """Convert back to a worker's generation."""
        from workers.generation_record import Generation, StopReason

        return Generation(
            prefix_id=self.prefix_id,
            key=self.random_key,
            text=self.text,
            stop_reason=StopReason(self.stop_reason),
            trace=decode_trace(self.trace),
            solver_seconds=self.solver_seconds,
        )


@dataclass(frozen=True, slots=True)
class GenerationRows(Rows):
    """The result of a generate job: one continuation for each prefix of its shard."""

    prefix_set_id: str
    entries: tuple[GenerationEntry, ...]

    def __post_init__(self) -> None:
        prefixes = [entry.prefix_id for entry in self.entries]
        if len(set(prefixes)) != len(prefixes):
            raise InvalidInputError("a job continues each prefix once; got a prefix twice in one result.")
        for entry in self.entries:
            if not math.isfinite(entry.solver_seconds):
                raise InvalidInputError(
                    f"solver_seconds must be finite; got {entry.solver_seconds} for prefix "
                    f"{entry.prefix_id!r}."
                )

    @classmethod
    def of(cls, prefix_set_id: str, generations: Iterable[Generation]) -> GenerationRows:
        """Convert what a worker generated from prefixes of a stored set."""
        return cls(prefix_set_id, tuple(map(GenerationEntry.of, generations)))


class TextsJob(JobSpec["list[Generation]"]):
    """A shard of prefixes -> a text for each, in the tokens of a model. Subclasses define the fields."""

    kind = JobKind.GENERATE
    role = "texts"
    rows_type = GenerationRows
    # Names in scoring.statistics that cannot be computed for its texts.
    lacks_statistics: ClassVar[frozenset[str]] = frozenset()

    model: ModelIdentity
    prefixes: PrefixRange

    @property
    @abstractmethod
    def draw(self) -> tuple[int, int] | None:
        """The seed and the number of the sample; None for texts that were not generated here."""

    @property
    def prefix_set(self) -> str:
        return self.prefixes.set

    def rows(self, value: list[Generation]) -> GenerationRows:
        return GenerationRows.of(self.prefixes.set, value)


@dataclass(frozen=True)
class HumanText:
    """Documents to measure, and the positions in them."""

    documents: tuple[TokenizedDocument, ...]
    positions: Positions
    corpus: CorpusIdentity


class Results(Protocol):
    """Results of other jobs by id, from a store."""

    def prefixes(self, prefix_set_id: str, start: int = 0, stop: int | None = None) -> list[PrefixEntry]: ...

    def parsed_jobs(self, job_ids: Iterable[str]) -> Mapping[str, JobSpec[Any]]: ...

    def texts_by_prefix(self, job_id: str) -> Mapping[str, str]: ...

    def generations(self, job_ids: Sequence[str]) -> Iterator[tuple[str, Generation]]: ...

    def features(self, job_ids: Sequence[str]) -> npt.NDArray[np.float32]: ...

    def measurement(self, job_ids: Sequence[str]) -> Measurement: ...


class Inputs(Protocol):
    """What requests are made from: a sweep's models, human text and imports, and results of other jobs."""

    @property
    def results(self) -> Results: ...

    def model_request(self, model: ModelIdentity) -> ModelRequest: ...

    def human_text(self, model: ModelIdentity) -> HumanText: ...

    def imported_texts(
        self, file: ImportedFile, model: ModelIdentity, prefixes: Sequence[PrefixEntry]
    ) -> list[str]: ...


class Trial(Protocol):
    """What a kind of job is timed with: a sweep's materials and a worker."""

    @property
    def config(self) -> SweepConfig: ...

    def model_request(self, model: ModelIdentity) -> ModelRequest: ...

    def human_text(self, model: ModelIdentity) -> HumanText: ...

    def prefixes(self, model: ModelIdentity | None = None) -> tuple[Prefix, ...]:
        """Prefixes in the tokens of a model; default: the first model of the sweep."""

    def human_texts(self, count: int) -> list[str]:
        """Texts of prefixes with their human continuations."""

    def seconds(self, request: Request[Any], *, warm_up: Request[Any] | None = None) -> float:
        """How long a worker takes; `warm_up` runs before, untimed, to load and compile."""

    def once(self, name: str, model: ModelIdentity, measure: Callable[[], float]) -> float:
        """A time that is measured once for all paces of a model."""

    @property
    def feature_width(self) -> int:
        """The dimension of feature vectors."""
