"""Featurize human text: vectors of the human continuations of prefixes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.jobs.base import Inputs
from harness.jobs.featurize import Featurize, reading_options
from harness.jobs.parts import ModelIdentity, shards

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from harness.jobs.rows import PrefixEntry
    from workers.prefixes import PrefixSet


@dataclass(frozen=True)
class HumanTextRange:
    """A range of the human continuations of a set of prefixes."""

    human: str  # the set
    start: int
    stop: int


@dataclass(frozen=True)
class FeaturizeHuman(Featurize):
    """A shard of human continuations."""

    role = "human features"
    marker = ("texts", "human")

    texts: HumanTextRange

    @classmethod
    def plan(cls, config: SweepConfig, model: ModelIdentity, prefix_set: PrefixSet) -> list[FeaturizeHuman]:
        """All jobs for a set of prefixes."""
        options: dict[str, Any] = reading_options(config)
        return [
            cls(model, **options, texts=HumanTextRange(prefix_set.human_fingerprint, start, stop))
            for start, stop in shards(len(prefix_set.prefixes), config.features.shard_size)
        ]

    @property
    def prefix_set(self) -> str:
        return self.texts.human

    def describe(self) -> str:
        return f"read {self.units} texts that people wrote, {self.model.shown}"

    @property
    def units(self) -> int:
        return self.texts.stop - self.texts.start

    def texts_with_prefixes(self, inputs: Inputs) -> tuple[list[PrefixEntry], list[str]]:
        prefixes = inputs.results.prefixes(self.texts.human, self.texts.start, self.texts.stop)
        return prefixes, [prefix.continuation for prefix in prefixes]
