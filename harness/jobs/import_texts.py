"""Import texts: tokenize texts made elsewhere that continue the prefixes of a set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.jobs.base import JobLabels, register
from harness.jobs.parts import Inputs, ModelIdentity, PrefixRange, TextsJob, Trial, shards

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from workers.given_texts import TokenizeRequest
    from workers.prefixes import PrefixSet

_TRIAL_TEXTS = 8


@dataclass(frozen=True)
class ImportedFile:
    """Where texts come from: a file, identified by its content, and the columns that were read. The folder of
    the file is not part of it."""

    name: str
    sha256: str
    continuation: str  # columns
    prefix: str | None = None
    prefix_id: str | None = None


@register
@dataclass(frozen=True)
class ImportTexts(TextsJob):
    """A shard of prefixes, a column of a file -> the text of each prefix, cut to a number of tokens."""

    marker = ("file",)
    unit_name = "texts"
    model_task = "supplied the tokens of imported texts"
    lacks_statistics = frozenset({"perplexity", "sampling"})  # these need the draws of tokens

    model: ModelIdentity
    file: ImportedFile
    max_tokens: int
    prefixes: PrefixRange

    @classmethod
    def plan(
        cls, config: SweepConfig, model: ModelIdentity, prefix_set: PrefixSet, file: ImportedFile
    ) -> list[ImportTexts]:
        """All jobs for a column of a file, one for each shard of prefixes."""
        return [
            cls(
                model=model,
                file=file,
                max_tokens=config.generation.max_tokens,
                prefixes=PrefixRange(prefix_set.human_fingerprint, start, stop),
            )
            for start, stop in shards(len(prefix_set.prefixes), config.prefixes.shard_size)
        ]

    @property
    def draw(self) -> None:
        return None

    @property
    def labels(self) -> JobLabels:
        return JobLabels(self.model.label, None, "imported")

    @property
    def origin(self) -> str:
        return f"column {self.file.continuation!r} of {self.file.name}, sha256 {self.file.sha256}"

    def describe(self) -> str:
        first, last = self.prefixes.start, self.prefixes.stop - 1
        return (
            f"imported column {self.file.continuation!r} of {self.file.name} (sha256 "
            f"{self.file.sha256[:12]}) for prefixes {first} to {last} of set {self.prefixes.set[:12]}, in "
            f"the tokens of {self.model.shown}"
        )

    @property
    def units(self) -> int:
        return len(self.prefixes)

    @property
    def pace(self) -> str:
        return "imported"

    def time_unit(self, trial: Trial) -> float:
        from workers.given_texts import TokenizeRequest

        prefixes = trial.prefixes(self.model)[:_TRIAL_TEXTS]
        texts = tuple(trial.human_texts(len(prefixes)))
        request = TokenizeRequest(
            trial.model_request(self.model), prefixes, ("",) * len(prefixes), texts, self.max_tokens
        )
        return trial.seconds(request) / len(prefixes)

    def request(self, inputs: Inputs, batch_size: int | None = None) -> TokenizeRequest:
        from workers.given_texts import TokenizeRequest

        entries = inputs.results.prefixes(self.prefixes.set, self.prefixes.start, self.prefixes.stop)
        return TokenizeRequest(
            inputs.model_request(self.model),
            tuple(entry.to_prefix() for entry in entries),
            tuple(entry.text for entry in entries),
            tuple(inputs.imported_texts(self.file, self.model, entries)),
            self.max_tokens,
        )
