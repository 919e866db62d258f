"""A worker: holds a model and answers one request after another.

It is a plain object, which runs anywhere; `workers.actors` gives it to Ray.
"""

from __future__ import annotations

import time

import torch

from bat.errors import InvalidInputError
from workers import models
from workers.features import featurize
from workers.generation import generate
from workers.measurement import measure
from workers.models import LanguageModel
from workers.requests import (
    Answer,
    FeaturizeRequest,
    GenerateRequest,
    MeasureRequest,
    ModelRequest,
    Request,
)


class Worker:
    """Loads a model when it is first asked for and keeps it until another one is."""

    def __init__(self, device: str = "auto", threads: int | None = None) -> None:
        self.device = device
        self.threads = threads
        if threads is not None:
            # Products may be summed in another order by another number of threads: fixed, results are too.
            torch.set_num_threads(threads)
        self._asked: ModelRequest | None = None
        self._model: LanguageModel | None = None

    def load(self, request: ModelRequest) -> LanguageModel:
        """The model asked for, from memory if it is the one at hand."""
        if self._model is None or request != self._asked:
            self._model = None  # before the next one is loaded: two may not fit
            self._model = models.load(request.name, self.device, request.dtype, request.revision)
            self._asked = request
        return self._model

    def answer(self, request: Request) -> Answer:
        """Do what is asked."""
        model = self.load(request.model)
        began = time.perf_counter()
        value = self._run(model, request)
        return Answer(model.info, time.perf_counter() - began, value)

    def _run(self, model: LanguageModel, request: Request):  # type: ignore[no-untyped-def]
        match request:
            case GenerateRequest(prefixes=prefixes, settings=settings):
                return generate(model, prefixes, settings, threads=self.threads)
            case MeasureRequest(documents=documents, positions=positions):
                return measure(
                    model,
                    documents,
                    positions=positions,
                    basis_sizes=request.basis_sizes,
                    tolerance=request.tolerance,
                    batch_size=request.batch_size,
                    threads=self.threads,
                )
            case FeaturizeRequest(texts=texts):
                return featurize(model, texts, max_tokens=request.max_tokens, batch_size=request.batch_size)
        raise InvalidInputError(f"a worker answers generate, measure and featurize; got {request!r}.")
