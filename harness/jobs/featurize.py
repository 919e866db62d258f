"""Featurize: turn human continuations of prefixes, the texts of generate jobs, or prefixes into vectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from harness.jobs.base import JobKind, JobSpec, Rows, register
from harness.jobs.parts import Inputs, ModelIdentity, PrefixEntry, TextsJob, Trial, shards

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from workers.prefixes import PrefixSet
    from workers.requests import FeaturizeRequest

_TRIAL_TEXTS = 8


@dataclass(frozen=True, slots=True, eq=False)
class FeatureRows(Rows):
    """The result of a featurize job: a vector for each text, in the order of the texts."""

    vectors: npt.NDArray[np.float32]  # [n, d]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or self.vectors.dtype != np.float32:
            raise InvalidInputError(
                f"features must be float32 of shape [texts, dimensions]; got {self.vectors.dtype} "
                f"{list(self.vectors.shape)}."
            )


@dataclass(frozen=True)
class HumanTextRange:
    """A range of the human continuations of a set of prefixes."""

    human: str  # the set
    start: int
    stop: int


@dataclass(frozen=True)
class GeneratedTextRange:
    """A range of the texts of a generate job, by position in its shard."""

    generated: str  # the job
    start: int
    stop: int


@dataclass(frozen=True)
class PrefixTextRange:
    """A range of the prefixes of a set."""

    prefixes: str  # the set
    start: int
    stop: int


@dataclass(frozen=True)
class Featurize(JobSpec["npt.NDArray[np.float32]"]):
    """A shard of texts, a model that reads them -> a vector for each text."""

    kind = JobKind.FEATURIZE
    rows_type = FeatureRows
    unit_name = "texts"
    model_task = "read texts for MAUVE"

    model: ModelIdentity
    include_prefix: bool
    max_tokens: int
    batch_size: int
    texts: HumanTextRange | GeneratedTextRange | PrefixTextRange  # one of them, for each kind

    @property
    def units(self) -> int:
        return self.texts.stop - self.texts.start

    @abstractmethod
    def texts_with_prefixes(self, inputs: Inputs) -> tuple[list[PrefixEntry], list[str]]:
        """The prefixes of the shard, and the texts that continue them."""

    def time_unit(self, trial: Trial) -> float:
        from workers.requests import FeaturizeRequest

        texts = tuple(trial.human_texts(_TRIAL_TEXTS))
        model = trial.model_request(self.model)
        # Without the cache, which may have the vectors of an earlier calibration.
        request = FeaturizeRequest(model, texts, self.max_tokens, self.batch_size, use_cache=False)
        return trial.seconds(request) / len(texts)

    def request(self, inputs: Inputs, batch_size: int | None = None) -> FeaturizeRequest:
        from workers.requests import FeaturizeRequest

        prefixes, texts = self.texts_with_prefixes(inputs)
        if self.include_prefix:
            texts = [prefix.text + text for prefix, text in zip(prefixes, texts, strict=True)]
        model = inputs.model_request(self.model)
        return FeaturizeRequest(model, tuple(texts), self.max_tokens, batch_size or self.batch_size)

    def rows(self, value: npt.NDArray[np.float32]) -> FeatureRows:
        return FeatureRows(np.asarray(value, dtype=np.float32))


@register
@dataclass(frozen=True)
class FeaturizeHuman(Featurize):
    """A shard of human continuations."""

    role = "human features"
    marker = ("texts", "human")

    texts: HumanTextRange

    @classmethod
    def plan(cls, config: SweepConfig, model: ModelIdentity, prefix_set: PrefixSet) -> list[FeaturizeHuman]:
        """All jobs for a set of prefixes."""
        options: dict[str, Any] = _reading_options(config)
        return [
            cls(model, **options, texts=HumanTextRange(prefix_set.human_fingerprint, start, stop))
            for start, stop in shards(len(prefix_set.prefixes), config.features.shard_size)
        ]

    @property
    def prefix_set(self) -> str:
        return self.texts.human

    def describe(self) -> str:
        return f"read {self.units} texts that people wrote, {self.model.shown}"

    def texts_with_prefixes(self, inputs: Inputs) -> tuple[list[PrefixEntry], list[str]]:
        prefixes = inputs.results.prefixes(self.texts.human, self.texts.start, self.texts.stop)
        return prefixes, [prefix.continuation for prefix in prefixes]


@register
@dataclass(frozen=True)
class FeaturizeGenerated(Featurize):
    """A shard of generated texts."""

    role = "features"
    marker = ("texts", "generated")

    texts: GeneratedTextRange

    @classmethod
    def plan(
        cls, config: SweepConfig, model: ModelIdentity, generate: Sequence[TextsJob]
    ) -> list[FeaturizeGenerated]:
        """All jobs for the texts of generate jobs."""
        options: dict[str, Any] = _reading_options(config)
        return [
            cls(model, **options, texts=GeneratedTextRange(job.id, start, stop))
            for job in generate
            for start, stop in shards(len(job.prefixes), config.features.shard_size)
        ]

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.texts.generated,)

    def describe(self) -> str:
        return f"read {self.units} texts that a model wrote, {self.model.shown}"

    def texts_with_prefixes(self, inputs: Inputs) -> tuple[list[PrefixEntry], list[str]]:
        writer = inputs.results.parsed_jobs([self.texts.generated])[self.texts.generated]
        assert isinstance(writer, TextsJob)
        first = writer.prefixes.start
        prefixes = inputs.results.prefixes(
            writer.prefixes.set, first + self.texts.start, first + self.texts.stop
        )
        by_prefix = inputs.results.texts_by_prefix(self.texts.generated)
        return prefixes, [by_prefix[prefix.id] for prefix in prefixes]


@register
@dataclass(frozen=True)
class FeaturizePrefixes(Featurize):
    """A shard of prefixes, read as texts of their own."""

    role = "prefix features"
    marker = ("texts", "prefixes")

    texts: PrefixTextRange

    @classmethod
    def plan(
        cls, config: SweepConfig, model: ModelIdentity, prefix_set: PrefixSet
    ) -> list[FeaturizePrefixes]:
        """All jobs for a set of prefixes."""
        options: dict[str, Any] = {**_reading_options(config), "include_prefix": True}
        return [
            cls(model, **options, texts=PrefixTextRange(prefix_set.human_fingerprint, start, stop))
            for start, stop in shards(len(prefix_set.prefixes), config.features.shard_size)
        ]

    @property
    def prefix_set(self) -> str:
        return self.texts.prefixes

    def describe(self) -> str:
        return f"read {self.units} prefixes, {self.model.shown}"

    def texts_with_prefixes(self, inputs: Inputs) -> tuple[list[PrefixEntry], list[str]]:
        prefixes = inputs.results.prefixes(self.texts.prefixes, self.texts.start, self.texts.stop)
        return prefixes, [""] * len(prefixes)  # nothing after the prefix


def _reading_options(config: SweepConfig) -> dict[str, int | bool]:
    """The options of a sweep for reading texts, by field."""
    features = config.features
    return {
        "include_prefix": features.include_prefix,
        "max_tokens": features.max_tokens,
        "batch_size": features.batch_size,
    }
