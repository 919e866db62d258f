"""A pool of Ray actors. Ray places them, restarts them, and tells when one is gone."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from typing import Any

import ray
import torch
from ray.exceptions import (
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)

from bat.errors import BatError
from harness.driver.executor import AnyRequest, Executor
from harness.driver.pool import REQUESTS_PER_WORKER, Failure, FailureKind, Outcome, Vacancy
from workers.actors import start_worker
from workers.requests import ModelRequest

# An actor whose process dies is started again, also on another machine, as often as it takes: how often a job
# may fail is the store's affair. Its calls are not repeated behind the driver's back.
_ACTOR_OPTIONS = {"max_restarts": -1, "max_task_retries": 0}


@dataclass
class _Actor:
    name: str
    handle: Any
    model: ModelRequest | None = None
    out: dict[Any, str] = field(default_factory=dict)  # Ray's reference of each request -> its ticket


class RayPool:
    """Workers as actors of the Ray cluster that this process is connected to."""

    def __init__(self, workers: int, num_cpus: int = 1, num_gpus: float = 0) -> None:
        self._actors = {
            name: _Actor(name, start_worker(num_cpus, num_gpus, Executor, **_ACTOR_OPTIONS))
            for name in (f"worker-{number}" for number in range(workers))
        }

    def vacancies(self) -> list[Vacancy]:
        """See Pool."""
        return [
            Vacancy(actor.name, actor.model)
            for busy in range(REQUESTS_PER_WORKER)
            for actor in self._actors.values()
            if len(actor.out) <= busy
        ]

    def submit(self, worker: str, ticket: str, request: AnyRequest) -> None:
        """See Pool."""
        actor = self._actors[worker]
        actor.out[actor.handle.execute.remote(request)] = ticket
        actor.model = request.model or actor.model

    def wait(self, seconds: float) -> list[Outcome]:
        """See Pool."""
        owners = {reference: actor for actor in self._actors.values() for reference in actor.out}
        if not owners:
            return []
        ready, _ = ray.wait(list(owners), num_returns=1, timeout=seconds)
        # Others may have come in with the first; taking them together saves transactions.
        rest = [reference for reference in owners if reference not in ready]
        if ready and rest:
            ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        return [self._outcome(owners[reference], reference) for reference in ready]

    def close(self) -> None:
        """See Pool."""
        for actor in self._actors.values():
            ray.kill(actor.handle, no_restart=True)
        self._actors.clear()

    def _outcome(self, actor: _Actor, reference: Any) -> Outcome:
        ticket = actor.out.pop(reference)
        try:
            return Outcome(ticket, actor.name, ray.get(reference))
        except Exception as error:
            failure = describe(error)
        if failure.kind is not FailureKind.REFUSED and failure.kind is not FailureKind.ERROR:
            actor.model = None  # a new process has nothing loaded
        return Outcome(ticket, actor.name, failure)


def describe(error: Exception) -> Failure:
    """Tell what kind of failure an exception from Ray is."""
    cause = error.cause if isinstance(error, RayTaskError) and error.cause is not None else error
    text = "".join(traceback.format_exception_only(cause)).strip()
    if isinstance(cause, OutOfMemoryError | torch.OutOfMemoryError | MemoryError):
        return Failure(FailureKind.OUT_OF_MEMORY, text)
    if isinstance(cause, BatError):
        return Failure(FailureKind.REFUSED, str(cause))
    if isinstance(cause, RayActorError | WorkerCrashedError | ObjectLostError):
        return Failure(FailureKind.WORKER_LOST, text)
    if isinstance(error, RayTaskError):
        return Failure(FailureKind.ERROR, str(error))  # with the worker's own traceback
    kind = FailureKind.WORKER_LOST if isinstance(error, RayError) else FailureKind.ERROR
    return Failure(kind, text)
