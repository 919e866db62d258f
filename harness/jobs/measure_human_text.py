"""Measure human text: what a model says about human tokens, from which rejection rates are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from bat.errors import InvalidInputError
from harness.jobs.base import JobKind, JobSpec, Rows, StoredAs
from harness.jobs.parts import CorpusIdentity, HumanText, Inputs, ModelIdentity, Trial, shards
from workers.measurement_record import Measurement

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from workers.positions import TokenizedDocument
    from workers.requests import MeasureRequest

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

    @classmethod
    def plan(cls, config: SweepConfig, model: ModelIdentity, text: HumanText) -> list[MeasureHumanText]:
        """All jobs for a model, one for each shard of documents."""
        from workers.positions import MAX_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS
        from workers.reading import DOCUMENTS_PER_BATCH

        options = config.measurement
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
        )

    def rows(self, value: Measurement) -> MeasurementRows:
        return MeasurementRows(value)
