"""Featurize generated text: vectors of the texts of a generate job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.jobs.base import Inputs
from harness.jobs.featurize import Featurize, reading_options
from harness.jobs.parts import ModelIdentity, shards
from harness.jobs.texts import TextsJob

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from harness.jobs.rows import PrefixEntry


@dataclass(frozen=True)
class GeneratedTextRange:
    """A range of the texts of a generate job, by position in its shard."""

    generated: str  # the job
    start: int
    stop: int


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
        options: dict[str, Any] = reading_options(config)
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

    @property
    def units(self) -> int:
        return self.texts.stop - self.texts.start

    def texts_with_prefixes(self, inputs: Inputs) -> tuple[list[PrefixEntry], list[str]]:
        writer = inputs.results.parsed_jobs([self.texts.generated])[self.texts.generated]
        assert isinstance(writer, TextsJob)
        first = writer.prefixes.start
        prefixes = inputs.results.prefixes(
            writer.prefixes.set, first + self.texts.start, first + self.texts.stop
        )
        by_prefix = inputs.results.texts_by_prefix(self.texts.generated)
        return prefixes, [by_prefix[prefix.id] for prefix in prefixes]
