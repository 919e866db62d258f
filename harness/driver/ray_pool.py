"""A pool of Ray actors. Ray places them and reports when one dies; the pool starts a replacement.

Requests go only to actors that have started. When there is no room for an actor, for example after a machine
was lost, Ray keeps it pending; requests sent to it would wait with it, perhaps for ever.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ray
from ray import cloudpickle
from ray.exceptions import (
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)

from bat.errors import BatError
from harness import clashes
from harness.driver.log import LOGGER
from harness.driver.pool import REQUESTS_PER_WORKER, Failure, FailureKind, Outcome, Vacancy
from harness.words import without_colours
from workers.actors import start_worker

if TYPE_CHECKING:  # imported by the driver while the actors start
    from workers.requests import Answer, ModelRequest, Request

# Ray itself retries nothing: the store counts attempts, and the pool replaces actors.
_ACTOR_OPTIONS: dict[str, Any] = {"max_restarts": 0, "max_task_retries": 0}

# The function that explains failed imports must not be imported for that.
cloudpickle.register_pickle_by_value(clashes)  # type: ignore[no-untyped-call]

_MAX_FAILED_STARTS = 3  # in a row, of one worker
_SECONDS_UNTIL_NOTE = 30.0


class ClusterError(BatError):
    """The Ray cluster cannot be reached, has no room for a worker, or cannot start one."""


@dataclass
class _Actor:
    handle: Any
    starting: Any  # Ray's reference to the start of the actor; None once it has started
    failed_starts: int = 0  # of its predecessors, in a row
    location: str = ""  # machine and process, once it has started
    model: ModelRequest | None = None
    pending: dict[Any, str] = field(default_factory=dict)  # Ray's reference of each request -> its ticket

    @property
    def references(self) -> list[Any]:
        return list(self.pending) if self.starting is None else [self.starting]


class RayPool:
    """Workers as actors of the Ray cluster that this process is connected to."""

    def __init__(
        self,
        workers: int,
        num_cpus: int = 1,
        num_gpus: float = 0,
        note: Callable[[str], None] | None = None,
        batches_in_flight: int | None = None,
    ) -> None:
        self._resources = num_cpus, num_gpus, batches_in_flight
        self._note = note or (lambda _: None)
        self._actors = {f"worker-{number}": self._start() for number in range(workers)}
        self._last_seen = time.monotonic()  # when there last was a started worker

    def vacancies(self) -> list[Vacancy]:
        """See Pool."""
        return [
            Vacancy(name, actor.model, actor.location, queued=bool(actor.pending) or busy > 0)
            for busy in range(REQUESTS_PER_WORKER)
            for name, actor in self._actors.items()
            if actor.starting is None and len(actor.pending) <= busy
        ]

    def submit(self, worker: str, ticket: str, request: Request[Any]) -> None:
        """See Pool."""
        actor = self._actors[worker]
        actor.pending[actor.handle.answer.remote(request)] = ticket
        actor.model = request.model_request or actor.model

    def wait(self, seconds: float) -> list[Outcome]:
        """See Pool."""
        waiting = [reference for actor in self._actors.values() for reference in actor.references]
        if not waiting:
            return []
        _check_connection()
        ready, rest = ray.wait(waiting, num_returns=1, timeout=seconds)
        if ready and rest:
            # Others may have arrived with the first; storing them together saves transactions.
            ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        arrived = set(ready)
        _check_connection()
        outcomes: list[Outcome] = []
        for name, actor in list(self._actors.items()):
            if actor.starting is None:
                outcomes += self._collect(name, actor, arrived)
            elif actor.starting in arrived:
                self._finish_start(name, actor)
        self._note_missing_workers()
        return outcomes

    def close(self) -> None:
        """See Pool."""
        actors, self._actors = self._actors, {}
        if not ray.is_initialized():
            return  # the cluster is gone, and so are its workers
        for actor in actors.values():
            ray.kill(actor.handle, no_restart=True)

    def _start(self, failed_starts: int = 0) -> _Actor:
        handle = start_worker(*self._resources, explain=clashes.find_clash, **_ACTOR_OPTIONS)
        return _Actor(handle, handle.location.remote(), failed_starts)

    def _finish_start(self, name: str, actor: _Actor) -> None:
        """Record that an actor has started; if it could not, start another or give up."""
        try:
            actor.location = ray.get(actor.starting)
        except Exception as error:
            failure = classify(error)
            LOGGER.warning("%s could not start: %s", name, failure.text)
            if actor.failed_starts + 1 < _MAX_FAILED_STARTS:
                self._actors[name] = self._start(actor.failed_starts + 1)
                return
            del self._actors[name]
            if not self._actors:
                reason = failure.text.splitlines()[-1].strip().rstrip(".")
                advice = "Install this project's libraries on its machines; --ship-code sends the code."
                raise ClusterError(
                    f"no worker can be started on this cluster: {reason}."
                    f"{'' if clashes.HIDES in reason else f' {advice}'}"
                ) from error
        else:
            LOGGER.info("%s started as %s", name, actor.location)
            actor.starting = None

    def _collect(self, name: str, actor: _Actor, arrived: set[Any]) -> list[Outcome]:
        """The outcomes from one actor; when it has died, all its requests come back as failures."""
        outcomes: list[Outcome] = []
        for reference in [reference for reference in actor.pending if reference in arrived]:
            result, died = _get(reference)
            # Nothing on a device works any more in the process that lost it.
            lost_device = isinstance(result, Failure) and result.kind is FailureKind.DEVICE_LOST
            if not died and not lost_device:
                outcomes.append(Outcome(actor.pending.pop(reference), name, result))
                continue
            end = "lost its device" if lost_device else "died"
            LOGGER.warning("%s (%s) %s; starting a replacement", name, actor.location, end)
            self._note(f"{name} ({actor.location}) {end}; starting a replacement.")
            # It runs one request at a time, so only the first can have begun, or have caused this.
            begun, *behind = actor.pending.values()
            untried = Failure(FailureKind.NOT_BEGUN, "the worker died before this job began")
            outcomes += [Outcome(begun, name, result), *(Outcome(ticket, name, untried) for ticket in behind)]
            # An actor that is alive but unreachable would keep its resources.
            ray.kill(actor.handle, no_restart=True)
            self._actors[name] = self._start()
            break
        return outcomes

    def _note_missing_workers(self) -> None:
        now = time.monotonic()
        if any(actor.starting is None for actor in self._actors.values()):
            self._last_seen = now
        elif now - self._last_seen > _SECONDS_UNTIL_NOTE:
            self._last_seen = now
            self._note("No worker has started yet: waiting for room in the cluster.")


def _check_connection() -> None:
    """Raise when the connection is lost: otherwise Ray would silently start again on this machine."""
    if not ray.is_initialized():
        raise ConnectionError("the connection was lost")


def _get(reference: Any) -> tuple[Answer[Any] | Failure, bool]:
    """An answer or a failure, and whether the actor has died."""
    try:
        return ray.get(reference), False
    except RayTaskError as error:  # raised by the worker, which is still alive
        return classify(error), False
    except Exception as error:
        return classify(error), True


def classify(error: Exception) -> Failure:
    """The kind of failure that an exception from Ray is, with its text."""
    import torch

    cause = error.cause if isinstance(error, RayTaskError) and error.cause is not None else error
    text = "".join(traceback.format_exception_only(cause)).strip()
    if isinstance(cause, OutOfMemoryError | torch.OutOfMemoryError | MemoryError):
        return Failure(FailureKind.OUT_OF_MEMORY, text)
    if isinstance(cause, BatError):
        return Failure(FailureKind.INVALID, str(cause))
    if isinstance(cause, torch.AcceleratorError):
        return Failure(FailureKind.DEVICE_LOST, text)
    if isinstance(cause, RayActorError | WorkerCrashedError | ObjectLostError):
        return Failure(FailureKind.WORKER_LOST, text)
    if isinstance(error, RayTaskError):
        return Failure(FailureKind.ERROR, f"{text}\n{without_colours(str(error))}")  # the worker's traceback
    kind = FailureKind.WORKER_LOST if isinstance(error, RayError) else FailureKind.ERROR
    return Failure(kind, text)
