"""Likelihood of human continuations: measure some tokens of each with a model, for their perplexity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.jobs.base import JobKind, JobSpec
from harness.jobs.measure_human_text import MeasurementRows
from harness.jobs.parts import CorpusIdentity, Inputs, ModelIdentity, PrefixEntry, PrefixRange, Trial, shards

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from workers.measurement_record import Measurement
    from workers.prefixes import Prefix, PrefixSet
    from workers.requests import MeasureRequest, ModelRequest

# Tokens of each human text, evenly spread. All tokens would be a million rows for 5,000 texts and would add
# little precision, because most of the variance is between texts.
TOKENS_PER_TEXT = 16
_TRIAL_TEXTS = 8


@dataclass(frozen=True)
class HumanLikelihood(JobSpec["Measurement"]):
    """A shard of prefixes with their human continuations, a model -> a row for some tokens of each."""

    kind = JobKind.MEASURE
    role = "human likelihood"
    marker = ("prefixes",)
    rows_type = MeasurementRows
    unit_name = "human tokens"
    model_task = "measured human text"

    model: ModelIdentity
    corpus: CorpusIdentity
    prefixes: PrefixRange
    tokens_per_text: int
    batch_size: int

    @classmethod
    def plan(cls, config: SweepConfig, model: ModelIdentity, prefix_set: PrefixSet) -> list[HumanLikelihood]:
        """All jobs for a model, one for each shard of prefixes."""
        from workers.reading import DOCUMENTS_PER_BATCH

        return [
            cls(
                model=model,
                corpus=CorpusIdentity.of(prefix_set.corpus, prefix_set.revision, prefix_set.split),
                prefixes=PrefixRange(prefix_set.human_fingerprint, start, stop),
                tokens_per_text=TOKENS_PER_TEXT,
                batch_size=DOCUMENTS_PER_BATCH,
            )
            for start, stop in shards(len(prefix_set.prefixes), config.prefixes.shard_size)
        ]

    @property
    def prefix_set(self) -> str:
        return self.prefixes.set

    def describe(self) -> str:
        return f"measured human text, {len(self.prefixes)} documents, {self.model.shown}"

    @property
    def units(self) -> int:
        return len(self.prefixes) * self.tokens_per_text

    @property
    def pace(self) -> str:
        return "continuations"  # short, and without programs

    def time_unit(self, trial: Trial) -> float:
        prefixes = trial.prefixes(self.model)[:_TRIAL_TEXTS]
        request = self._request(trial.model_request(self.model), prefixes, self.batch_size)
        return trial.seconds(request) / sum(map(len, request.positions.values()))

    def request(self, inputs: Inputs, batch_size: int | None = None) -> MeasureRequest:
        entries = inputs.results.prefixes(self.prefixes.set, self.prefixes.start, self.prefixes.stop)
        return self._request(inputs.model_request(self.model), entries, batch_size or self.batch_size)

    def _request(
        self, model: ModelRequest, prefixes: Sequence[Prefix | PrefixEntry], batch_size: int
    ) -> MeasureRequest:
        from workers.positions import TokenizedDocument, spread_evenly
        from workers.requests import MeasureRequest

        documents, positions = [], {}
        for prefix in prefixes:
            start, stop = len(prefix.token_ids), len(prefix.token_ids) + len(prefix.continuation_ids)
            documents.append(
                TokenizedDocument(prefix.id, np.array(prefix.token_ids + prefix.continuation_ids))
            )
            positions[prefix.id] = spread_evenly(start, stop, self.tokens_per_text)
        return MeasureRequest(model, tuple(documents), positions, constraints=(), batch_size=batch_size)

    def rows(self, value: Measurement) -> MeasurementRows:
        return MeasurementRows(value)
