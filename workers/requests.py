"""A worker, what it is asked for and what it answers: plain records that cross process borders.

A request says everything that a result depends on, and how a worker does it. Answers carry numpy arrays and
text, never tensors. The driver makes requests, too, so what runs a model is imported only to run one.
"""

from __future__ import annotations

import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from workers.features import CACHE_FOLDER, DEFAULT_MAX_TOKENS, featurize
from workers.generation_record import Generation, GenerationSettings
from workers.measurement_record import Measurement
from workers.model_info import ModelInfo
from workers.positions import Positions, TokenizedDocument
from workers.prefixes import Prefix
from workers.reading import DOCUMENTS_PER_BATCH
from workers.time_use import Clock, TimeUse

if TYPE_CHECKING:
    from workers.models import LanguageModel
    from workers.vllm_plugin.engine import Engine

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """Which model; the device is the worker's own."""

    name: str
    dtype: str = "float32"
    revision: str | None = None


@dataclass(frozen=True)
class EngineRequest:
    """vLLM with a model: everything about it that results depend on."""

    model: ModelRequest
    version: str
    options: Mapping[str, Any]  # of vllm.LLM
    batch_size: int  # texts in a forward pass, at most


class Request(ABC, Generic[Value]):
    """Something a worker can do. `Value` is what comes of it."""

    @property
    def model_request(self) -> ModelRequest | None:
        """The model that it needs, if any."""
        return None

    def prepare(self, worker: Worker) -> ModelInfo | None:
        """Load the model, if it needs one, and say what it is."""
        return None

    @abstractmethod
    def run(self, worker: Worker) -> Value:
        """Do it, with the models and threads of a worker."""


@dataclass(frozen=True)
class ModelTask(Request[Value]):
    """A request that needs a model."""

    model: ModelRequest

    @property
    def model_request(self) -> ModelRequest:
        return self.model

    def prepare(self, worker: Worker) -> ModelInfo:
        return worker.load(self.model).info


@dataclass(frozen=True)
class GenerateRequest(ModelTask[list[Generation]]):
    """Continue a shard of prefixes."""

    prefixes: tuple[Prefix, ...]
    settings: GenerationSettings

    def run(self, worker: Worker) -> list[Generation]:
        from workers.generation import generate

        return generate(
            worker.load(self.model),
            self.prefixes,
            self.settings,
            threads=worker.threads,
            batches_in_flight=worker.batches_in_flight,
            clock=worker.clock,
        )


@dataclass(frozen=True)
class GenerateWithVllmRequest(GenerateRequest):
    """Continue a shard of prefixes with vLLM."""

    version: str
    options: Mapping[str, Any]

    @property
    def engine(self) -> EngineRequest:
        return EngineRequest(self.model, self.version, self.options, self.settings.batch_size)

    def prepare(self, worker: Worker) -> ModelInfo:
        return worker.load_engine(self.engine).info

    def run(self, worker: Worker) -> list[Generation]:
        return worker.load_engine(self.engine).generate(self.prefixes, self.settings)


@dataclass(frozen=True, eq=False)
class MeasureRequest(ModelTask[Measurement]):
    """Measure tokens of a shard of human text."""

    documents: tuple[TokenizedDocument, ...]
    positions: Positions
    constraints: tuple[int, ...] = (20,)
    tolerance: float = 1e-6
    batch_size: int = DOCUMENTS_PER_BATCH
    extra_facts: tuple[str, ...] = ()

    def run(self, worker: Worker) -> Measurement:
        from workers.measurement import measure

        return measure(
            worker.load(self.model),
            self.documents,
            positions=self.positions,
            constraints=self.constraints,
            tolerance=self.tolerance,
            extra_facts=self.extra_facts,
            batch_size=self.batch_size,
            threads=worker.threads,
            clock=worker.clock,
        )


@dataclass(frozen=True)
class FeaturizeRequest(ModelTask[npt.NDArray[np.float32]]):
    """Compute the features of a shard of texts."""

    texts: tuple[str, ...]
    max_tokens: int = DEFAULT_MAX_TOKENS
    batch_size: int = 16
    use_cache: bool = True

    def run(self, worker: Worker) -> npt.NDArray[np.float32]:
        return featurize(
            worker.load(self.model),
            self.texts,
            max_tokens=self.max_tokens,
            batch_size=self.batch_size,
            cache=CACHE_FOLDER if self.use_cache else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Generic[Value]):
    """What came of a request, in what time, on which model: None for a request that needs none."""

    model: ModelInfo | None
    seconds: float
    value: Value
    time_use: TimeUse | None = None  # what the seconds were spent on, of a request that generates or measures


class Worker:
    """Holds a model and answers one request after another, anywhere; `workers.actors` gives it to Ray.

    It loads a model when it is first asked for and keeps it until another one is. A model in vLLM counts as
    another one: vLLM takes what memory there is.
    """

    def __init__(
        self, device: str = "auto", threads: int | None = None, batches_in_flight: int | None = None
    ) -> None:
        self.device = device
        self.threads = threads
        self.batches_in_flight = batches_in_flight
        self.clock = Clock()  # of the request that is being answered
        # Only a worker needs these, and when it starts, not with its first request.
        import torch

        from workers import devices, models

        self._models, self._devices = models, devices
        if threads is not None:
            # Products may be summed in another order by another number of threads: fixed, results are too.
            torch.set_num_threads(threads)
        self._loaded: tuple[ModelRequest, LanguageModel] | None = None
        self._engine: tuple[EngineRequest, Engine] | None = None

    def location(self) -> str:
        """Where this worker runs: its machine and process."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def load(self, request: ModelRequest) -> LanguageModel:
        """The model asked for, from memory if it is the one that is loaded."""
        if self._loaded is None or self._loaded[0] != request:
            self._free()
            model = self._models.load(request.name, self.device, request.dtype, request.revision)
            self._loaded = (request, model)
        return self._loaded[1]

    def load_engine(self, request: EngineRequest) -> Engine:
        """vLLM with the model asked for, from memory if it is the one that is loaded."""
        if self._engine is None or self._engine[0] != request:
            from workers.vllm_plugin.engine import Engine

            self._free()
            self._engine = (request, Engine(request, self.device))
        return self._engine[1]

    def _free(self) -> None:
        """Let go of what is loaded, before the next one is: two may not fit."""
        was_loaded, self._loaded = self._loaded is not None, None
        if self._engine is not None:
            self._engine[1].close()
            self._engine = None
        elif was_loaded:
            self._devices.free_memory(self.device)

    def answer(self, request: Request[Value]) -> Answer[Value]:
        """Do what is asked."""
        if not isinstance(request, Request):
            raise InvalidInputError(f"a worker answers requests (see workers.requests); got {request!r}.")
        info = request.prepare(self)
        self.clock = Clock()
        began = time.perf_counter()
        value = request.run(self)
        seconds = time.perf_counter() - began
        return Answer(info, seconds, value, self.clock.read(seconds))
