"""From a lease to the request a worker is sent, and from its answer to the rows that are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import bat
from bat.errors import InvalidInputError
from harness.config.schema import Features, Model
from harness.driver.executor import AnyAnswer, AnyRequest, ScoreAnswer
from harness.driver.score_requests import score_request
from harness.jobs import JobKind, Spec, is_commit
from harness.planning.materials import Materials, ModelCard
from harness.store import (
    FeatureRows,
    GenerationRows,
    Lease,
    MeasurementRows,
    Payload,
    Reader,
    ScoreRows,
)
from workers.generation import GenerationSettings
from workers.positions import TokenizedDocument, spread_evenly
from workers.requests import FeaturizeRequest, GenerateRequest, MeasureRequest, ModelRequest

TokenIds = tuple[int, ...]


class Requests:
    """Builds requests from specifications, with the sweep's materials and what the store holds."""

    def __init__(self, materials: Materials, reader: Reader) -> None:
        self._materials, self._reader = materials, reader

    def build(self, lease: Lease) -> AnyRequest:
        """The request that does a job. What the job's earlier failures taught goes into it."""
        spec = lease.spec
        batch = lease.adjustment.get("batch_size") if lease.adjustment else None
        match lease.kind:
            case JobKind.MEASURE:
                return self._measure(spec, batch)
            case JobKind.GENERATE:
                return self._generate(spec, batch)
            case JobKind.FEATURIZE:
                return self._featurize(spec, batch)
            case JobKind.SCORE:
                return score_request(self._reader, spec)

    def _measure(self, spec: Spec, batch: int | None) -> MeasureRequest:
        card = self._card(spec["model"])
        if "prefixes" in spec:
            return self._measure_continuations(card, spec, batch)
        text = self._materials.human_text(card)
        wanted = set(spec["documents"])
        documents = tuple(document for document in text.documents if document.id in wanted)
        if len(documents) < len(wanted):
            raise InvalidInputError(
                f"{len(wanted) - len(documents)} documents of this job are not in the corpus any more. "
                "Was the corpus changed? Start a new run."
            )
        positions = {document.id: text.positions[document.id] for document in documents}
        return MeasureRequest(
            model_request(card),
            documents,
            positions,
            tuple(spec["basis_sizes"]),
            spec["tolerance"],
            batch or spec["batch_size"],
        )

    def _measure_continuations(self, card: ModelCard, spec: Spec, batch: int | None) -> MeasureRequest:
        chosen = spec["prefixes"]
        entries = self._reader.prefixes(chosen["set"], chosen["start"], chosen["stop"])
        texts = [(entry.id, entry.token_ids, entry.continuation_ids) for entry in entries]
        return continuations_request(
            model_request(card), texts, spec["tokens_per_text"], batch or spec["batch_size"]
        )

    def _generate(self, spec: Spec, batch: int | None) -> GenerateRequest:
        chosen = spec["prefixes"]
        entries = self._reader.prefixes(chosen["set"], chosen["start"], chosen["stop"])
        settings = GenerationSettings(
            bat.get_rule(spec["rule"], spec["parameter"]),
            max_tokens=spec["max_tokens"],
            batch_size=batch or spec["batch_size"],
            seed=spec["seed"],
            sample=spec["sample"],
            **basis_aware_settings(spec),
        )
        prefixes = tuple(entry.to_prefix() for entry in entries)
        return GenerateRequest(model_request(self._card(spec["model"])), prefixes, settings)

    def _featurize(self, spec: Spec, batch: int | None) -> FeaturizeRequest:
        texts = spec["texts"]
        start, stop = texts["start"], texts["stop"]
        if "human" in texts:
            entries = self._reader.prefixes(texts["human"], start, stop)
            written = [entry.continuation for entry in entries]
        else:
            source = self._reader.find_jobs([texts["generated"]])[texts["generated"]].spec["prefixes"]
            entries = self._reader.prefixes(source["set"], source["start"] + start, source["start"] + stop)
            by_prefix = {text.prefix_id: text.text for text in self._reader.texts([texts["generated"]])}
            written = [by_prefix[entry.id] for entry in entries]
        if spec["include_prefix"]:
            written = [entry.text + text for entry, text in zip(entries, written, strict=True)]
        model = model_request(self._card(spec["model"]))
        return FeaturizeRequest(model, tuple(written), spec["max_tokens"], batch or spec["batch_size"])

    def _card(self, identity: dict[str, Any]) -> ModelCard:
        config = self._materials.config
        named: list[Model | Features] = [*config.models, config.features]
        for model in named:
            card = self._materials.card(model)
            if card.identity == dict(identity):
                return card
        raise InvalidInputError(
            f"no model of this sweep is {identity['name']} with weights {identity['weights']}. "
            "Was the model changed? Start a new run."
        )


def basis_aware_settings(spec: Spec) -> dict[str, Any]:
    """What a generate job's specification has for basis-aware rules alone; nothing for a plain rule."""
    names = ("constraints", "max_tries", "fallback", "solver")
    return {name: spec[name] for name in names if spec.get(name) is not None}


def continuations_request(
    model: ModelRequest,
    texts: Sequence[tuple[str, TokenIds, TokenIds]],
    tokens_per_text: int,
    batch_size: int,
) -> MeasureRequest:
    """Ask about some tokens of how people went on, given (id, prefix, continuation) of each text."""
    documents, positions = [], {}
    for name, prefix, continuation in texts:
        documents.append(TokenizedDocument(name, np.array(prefix + continuation)))
        positions[name] = spread_evenly(len(prefix), len(prefix) + len(continuation), tokens_per_text)
    return MeasureRequest(model, tuple(documents), positions, basis_sizes=(), batch_size=batch_size)


def payload(lease: Lease, answer: AnyAnswer) -> Payload:
    """The rows to store for a worker's answer."""
    if isinstance(answer, ScoreAnswer):
        return ScoreRows(answer.scores)
    value = answer.value
    match lease.kind:
        case JobKind.GENERATE:
            return GenerationRows.of(lease.spec["prefixes"]["set"], value)  # type: ignore[arg-type]
        case JobKind.MEASURE:
            return MeasurementRows(value)  # type: ignore[arg-type]
        case _:
            return FeatureRows(np.asarray(value, dtype=np.float32))


def model_request(card: ModelCard) -> ModelRequest:
    """What to ask a worker for: the model as the sweep names it, at the commit that the plan found."""
    found = card.info.revision
    return replace(card.request, revision=found) if is_commit(found) else card.request
