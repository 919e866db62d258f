"""Ray actors around workers. All work is in workers.requests, which runs without Ray too.

Ray places actors by their resources. With a share of a GPU an actor sees that GPU alone, as `cuda`; without
one it computes on as many threads as it has cores.

Ray puts the driver's working directory first on the path of its workers, where somebody's own `workers.py`
would hide our package. So this module is sent to Ray by value, and nothing of this project is imported
before the paths are in order. For that it imports only the standard library.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from workers.requests import Answer, Request


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
    import ray
    from ray import cloudpickle

    from bat.errors import InvalidInputError

    if num_cpus < 1 or num_gpus < 0:
        raise InvalidInputError(
            "num_cpus must be at least 1 and num_gpus at least 0; "
            f"got num_cpus={num_cpus} and num_gpus={num_gpus}."
        )
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    device = "cuda" if num_gpus > 0 else "cpu"
    actor = ray.remote(Executor).options(num_cpus=num_cpus, num_gpus=num_gpus, **options)
    return actor.remote(
        driver=get_origin(),
        explain=explain,
        device=device,
        threads=num_cpus,
        batches_in_flight=batches_in_flight,
    )


class Origin(TypedDict):
    """Where the driver imports from."""

    host: str
    prefix: str  # the folder of its Python
    paths: list[str]  # its sys.path
    root: str  # the folder with our packages
    folder: str  # its working directory


def get_origin() -> Origin:
    """Where this process imports from."""
    return Origin(
        host=socket.gethostname(),
        prefix=sys.prefix,
        paths=[os.path.abspath(path) for path in sys.path],
        root=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
        folder=os.getcwd(),
    )


def arrange(own: Sequence[str], driver: Origin, host: str, prefix: str) -> list[str]:
    """The import paths of a worker on a host, made from its `own`.

    With the driver's Python on the driver's machine, a worker imports from where the driver does, in the same
    order. In any case the working directory, in which plug-ins may be, comes last unless the driver itself
    imports from it.
    """
    folder = driver["folder"]
    others = [path for path in own if path != folder]
    if (host, prefix) == (driver["host"], driver["prefix"]):
        # The root is not on the path of an editable installation, and packages in the folder would hide it.
        paths = [*driver["paths"], *others, driver["root"]]
    else:
        paths = list(own) if folder in driver["paths"] else others
    return list(dict.fromkeys([*paths, folder]))


class Executor:
    """A worker (workers.requests.Worker) in a process of Ray."""

    def __init__(self, driver: Origin, explain: Callable[[ImportError], str | None], **options: Any) -> None:
        sys.path[:] = arrange(sys.path, driver, socket.gethostname(), sys.prefix)
        try:
            from workers.requests import Worker
        except ImportError as error:
            raise ImportError(explain(error) or str(error)) from error
        self._worker = Worker(**options)

    def location(self) -> str:
        """See Worker."""
        return self._worker.location()

    def answer(self, request: Request[Any]) -> Answer[Any]:
        """See Worker."""
        return self._worker.answer(request)
