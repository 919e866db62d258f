"""Results of jobs as records, converted from and to the messages of workers.

    rows               made from
    MeasurementRows    workers' Measurement
    GenerationRows     workers' Generations, and the set of their prefixes
    FeatureRows        float32 [n, d]
    ScoreRows          numbers

Values are checked here and not by the database, so that messages can give the invalid value.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from bat.random import Key
from harness.jobs.identity import canonical_json
from harness.scoring.scores import ScoreEntry
from workers.measurement_record import Measurement
from workers.traces import decode_trace, encode_trace

if TYPE_CHECKING:  # these import torch, which a store does not need
    from workers.generation import Generation
    from workers.prefixes import Prefix, PrefixSet


def storable(text: str) -> str:
    """The text as every database can store it: U+FFFD replaces NUL and lone surrogates."""
    text = text.replace("\x00", "\ufffd")
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


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
class GenerationRows:
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


@dataclass(frozen=True, slots=True, eq=False)
class MeasurementRows:
    """The result of a measure job."""

    measurement: Measurement

    def __post_init__(self) -> None:
        for name, values in self.measurement.to_columns().items():
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                row = int(np.argmin(np.isfinite(values)))
                raise InvalidInputError(f"a measurement is finite; got {values[row]} in {name}, row {row}.")


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows:
    """The result of a featurize job: a vector for each text, in the order of the texts."""

    vectors: npt.NDArray[np.float32]  # [n, d]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or self.vectors.dtype != np.float32:
            raise InvalidInputError(
                f"features must be float32 of shape [texts, dimensions]; got {self.vectors.dtype} "
                f"{list(self.vectors.shape)}."
            )


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """The result of a score job."""

    entries: tuple[ScoreEntry, ...]

    def __post_init__(self) -> None:
        names = [entry.name for entry in self.entries]
        if len(set(names)) != len(names):
            raise InvalidInputError(f"a job has each score once; got {', '.join(sorted(names))}.")
        for entry in self.entries:
            canonical_json(entry.detail)  # raises if the database could not store it unchanged


Rows = GenerationRows | MeasurementRows | FeatureRows | ScoreRows


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
