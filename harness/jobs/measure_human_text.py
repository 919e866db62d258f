"""Measure human text: what a model says about human tokens.

`MeasureHumanText` reads documents, and all rejection rates are computed from its rows. `HumanLikelihood`
reads some tokens of human continuations, for their perplexity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from bat.errors import InvalidInputError
from bat.rules import get_rule_form
from harness.jobs.base import JobKind, JobSpec, Rows, StoredAs, register
from harness.jobs.parts import (
    CorpusIdentity,
    HumanText,
    Inputs,
    ModelIdentity,
    PrefixEntry,
    PrefixRange,
    Trial,
    shards,
)
from workers.measurement_record import Measurement

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from workers.positions import TokenizedDocument
    from workers.prefixes import Prefix, PrefixSet
    from workers.requests import MeasureRequest, ModelRequest

_TRIAL_DOCUMENTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class MeasurementRows(Rows):
    """The result of a measure job."""

    measurement: Measurement

    def __post_init__(self) -> None:
        for name, values in self.measurement.to_columns().items():
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                row = int(np.argmin(np.isfinite(values)))
                raise InvalidInputError(f"a measurement is finite; got {values[row]} in {name}, row {row}.")


@dataclass(frozen=True)
class DrawnPositions:
    """How the measured tokens are drawn from the corpus."""

    tokens: int
    per_document: int
    seed: int
    min_context: int
    max_context: int


@register
@dataclass(frozen=True)
class MeasureHumanText(JobSpec[Measurement]):
    """A shard of documents, a model and numbers of constraints -> a row for each token."""

    kind = JobKind.MEASURE
    role = "measurement"
    marker = ("documents",)
    rows_type = MeasurementRows
    unit_name = "human tokens"
    model_task = "measured human text"

    model: ModelIdentity
    corpus: CorpusIdentity
    documents: tuple[str, ...]  # ids
    positions: DrawnPositions
    constraints: Annotated[tuple[int, ...], StoredAs("basis_sizes")]  # numbers of constraints
    tolerance: float
    batch_size: int
    # What the sweep's rules ask beside the usual: see Rule.extra_facts.
    extra_facts: tuple[str, ...] | None = None

    @classmethod
    def plan(cls, config: SweepConfig, model: ModelIdentity, text: HumanText) -> list[MeasureHumanText]:
        """All jobs for a model, one for each shard of documents."""
        from workers.positions import MAX_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS
        from workers.reading import DOCUMENTS_PER_BATCH

        options = config.measurement
        facts = {fact for rule in config.rules() for fact in get_rule_form(rule).rule.extra_facts}
        positions = DrawnPositions(
            options.tokens, options.per_document, options.seed, MIN_CONTEXT_TOKENS, MAX_CONTEXT_TOKENS
        )
        return [
            cls(
                model=model,
                corpus=text.corpus,
                documents=tuple(document.id for document in text.documents[start:stop]),
                positions=positions,
                constraints=tuple(sorted(options.constraints)),
                tolerance=options.tolerance,
                batch_size=DOCUMENTS_PER_BATCH,
                extra_facts=tuple(sorted(facts)) or None,
            )
            for start, stop in shards(len(text.documents), options.shard_size)
        ]

    def describe(self) -> str:
        return f"measured human text, {len(self.documents)} documents, {self.model.shown}"

    @property
    def units(self) -> int:
        return len(self.documents) * self.positions.per_document

    @property
    def programs(self) -> float:
        return float(self.units * len(self.constraints))

    def time_unit(self, trial: Trial) -> float:
        text = trial.human_text(self.model)
        documents = text.documents[:_TRIAL_DOCUMENTS]
        request = self._request(trial, documents, text, self.batch_size)
        first = documents[0]
        one_token = replace(request, documents=(first,), positions={first.id: text.positions[first.id][:1]})
        return trial.seconds(request, warm_up=one_token) / sum(map(len, request.positions.values()))

    def request(self, inputs: Inputs, batch_size: int | None = None) -> MeasureRequest:
        text = inputs.human_text(self.model)
        own = set(self.documents)
        documents = tuple(document for document in text.documents if document.id in own)
        if len(documents) < len(own):
            raise InvalidInputError(
                f"{len(own) - len(documents)} documents of this job are no longer in the corpus. "
                "Was the corpus changed? Start a new run."
            )
        return self._request(inputs, documents, text, batch_size or self.batch_size)

    def _request(
        self,
        inputs: Inputs | Trial,
        documents: tuple[TokenizedDocument, ...],
        text: HumanText,
        batch_size: int,
    ) -> MeasureRequest:
        from workers.requests import MeasureRequest

        return MeasureRequest(
            inputs.model_request(self.model),
            documents,
            {document.id: text.positions[document.id] for document in documents},
            self.constraints,
            self.tolerance,
            batch_size,
            self.extra_facts or (),
        )

    def rows(self, value: Measurement) -> MeasurementRows:
        return MeasurementRows(value)


# Tokens of each human text, evenly spread. All tokens would be a million rows for 5,000 texts and would add
# little precision, because most of the variance is between texts.
TOKENS_PER_TEXT = 16
_TRIAL_TEXTS = 8


@register
@dataclass(frozen=True)
class HumanLikelihood(JobSpec[Measurement]):
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
