"""What Ray starts on a machine: it puts the import paths in order, then holds a worker.

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
    """A worker (workers.worker.Worker) in a process of Ray."""

    def __init__(self, driver: Origin, explain: Callable[[ImportError], str | None], **options: Any) -> None:
        sys.path[:] = arrange(sys.path, driver, socket.gethostname(), sys.prefix)
        try:
            from workers.worker import Worker
        except ImportError as error:
            raise ImportError(explain(error) or str(error)) from error
        self._worker = Worker(**options)

    def location(self) -> str:
        """See Worker."""
        return self._worker.location()

    def answer(self, request: Request[Any]) -> Answer[Any]:
        """See Worker."""
        return self._worker.answer(request)
