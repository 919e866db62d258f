"""A worker: holds a model and answers one request after another.

It is a plain object, which runs anywhere; `workers.actors` gives it to Ray.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TypeVar

import torch

from bat.errors import InvalidInputError
from workers import models
from workers.models import LanguageModel
from workers.requests import Answer, ModelRequest, Request
from workers.time_use import Clock

Value = TypeVar("Value")


class Worker:
    """Loads a model when it is first asked for and keeps it until another one is."""

    def __init__(
        self, device: str = "auto", threads: int | None = None, batches_in_flight: int | None = None
    ) -> None:
        self.device = device
        self.threads = threads
        self.batches_in_flight = batches_in_flight
        self.clock = Clock()  # of the request that is being answered
        if threads is not None:
            # Products may be summed in another order by another number of threads: fixed, results are too.
            torch.set_num_threads(threads)
        self._loaded: tuple[ModelRequest, LanguageModel] | None = None

    def location(self) -> str:
        """Where this worker runs: its machine and process."""
        return f"{socket.gethostname()}:{os.getpid()}"

    def load(self, request: ModelRequest) -> LanguageModel:
        """The model asked for, from memory if it is the one that is loaded."""
        if self._loaded is None or self._loaded[0] != request:
            self._loaded = None  # before the next one is loaded: two may not fit
            model = models.load(request.name, self.device, request.dtype, request.revision)
            self._loaded = (request, model)
        return self._loaded[1]

    def answer(self, request: Request[Value]) -> Answer[Value]:
        """Do what is asked."""
        if not isinstance(request, Request):
            raise InvalidInputError(f"a worker answers requests (see workers.requests); got {request!r}.")
        needed = request.model_request
        info = None if needed is None else self.load(needed).info
        self.clock = Clock()
        began = time.perf_counter()
        value = request.run(self)
        seconds = time.perf_counter() - began
        return Answer(info, seconds, value, self.clock.read(seconds))
