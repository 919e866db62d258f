"""Workers as Ray actors: a thin skin, so that everything below runs without Ray too.

Ray places actors by their resources. With a share of a GPU an actor sees that GPU alone, as `cuda`; without
one it computes on as many threads as it has cores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ray
from ray import cloudpickle

from bat.errors import InvalidInputError
from workers import executor

if TYPE_CHECKING:  # brings in torch, which the driver need not wait for before it starts actors
    from workers.requests import Request

cloudpickle.register_pickle_by_value(executor)  # type: ignore[no-untyped-call]


def start_worker(
    num_cpus: int = 1,
    num_gpus: float = 0,
    batches_in_flight: int | None = None,
    *,
    explain: Callable[[ImportError], str | None] = str,
    **options: Any,
) -> Any:
    """Start one actor and return its handle; `options` are Ray's own, such as max_restarts.

    `explain` says in words why a worker cannot import this project.
    """
    if num_cpus < 1 or num_gpus < 0:
        raise InvalidInputError(
            "num_cpus must be at least 1 and num_gpus at least 0; "
            f"got num_cpus={num_cpus} and num_gpus={num_gpus}."
        )
    device = "cuda" if num_gpus > 0 else "cpu"
    actor = ray.remote(executor.Executor).options(num_cpus=num_cpus, num_gpus=num_gpus, **options)
    return actor.remote(
        driver=executor.get_origin(),
        explain=explain,
        device=device,
        threads=num_cpus,
        batches_in_flight=batches_in_flight,
    )


def submit(worker: Any, request: Request[Any]) -> Any:
    """Ask an actor; `ray.get` of what this returns is the `Answer`, or raises what the worker raised."""
    return worker.answer.remote(request)
