"""Workers as Ray actors: a thin skin, so that everything below runs without Ray too.

Ray places actors by their resources. With a share of a GPU an actor sees that GPU alone, as `cuda`; without
one it computes on as many threads as it has cores.
"""

from __future__ import annotations

from typing import Any

import ray

from bat.errors import InvalidInputError
from workers.requests import Request
from workers.worker import Worker


def start_worker(
    num_cpus: int = 1,
    num_gpus: float = 0,
    worker: type[Worker] = Worker,
    batches_in_flight: int | None = None,
    **options: Any,
) -> Any:
    """Start one actor and return its handle; `options` are Ray's own, such as max_restarts."""
    if num_cpus < 1 or num_gpus < 0:
        raise InvalidInputError(
            "num_cpus must be at least 1 and num_gpus at least 0; "
            f"got num_cpus={num_cpus} and num_gpus={num_gpus}."
        )
    device = "cuda" if num_gpus > 0 else "cpu"
    actor = ray.remote(worker).options(num_cpus=num_cpus, num_gpus=num_gpus, **options)
    return actor.remote(device=device, threads=num_cpus, batches_in_flight=batches_in_flight)


def submit(worker: Any, request: Request[Any]) -> Any:
    """Ask an actor; `ray.get` of what this returns is the `Answer`, or raises what the worker raised."""
    return worker.answer.remote(request)
