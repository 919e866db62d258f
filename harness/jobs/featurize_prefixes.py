"""Featurize prefixes: vectors of the prefixes alone, to compare texts with."""

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
class PrefixTextRange:
    """A range of the prefixes of a set."""

    prefixes: str  # the set
    start: int
    stop: int


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
        options: dict[str, Any] = {**reading_options(config), "include_prefix": True}
        return [
            cls(model, **options, texts=PrefixTextRange(prefix_set.human_fingerprint, start, stop))
            for start, stop in shards(len(prefix_set.prefixes), config.features.shard_size)
        ]

    @property
    def prefix_set(self) -> str:
        return self.texts.prefixes

    def describe(self) -> str:
        return f"read {self.units} prefixes, {self.model.shown}"

    @property
    def units(self) -> int:
        return self.texts.stop - self.texts.start

    def texts_with_prefixes(self, inputs: Inputs) -> tuple[list[PrefixEntry], list[str]]:
        prefixes = inputs.results.prefixes(self.texts.prefixes, self.texts.start, self.texts.stop)
        return prefixes, [""] * len(prefixes)  # nothing after the prefix
