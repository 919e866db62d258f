"""The interface of a pool of workers, so that the driver does not depend on Ray.

A worker runs one request and has a second one in its queue, so that it stays busy while the driver stores an
answer. More requests would only be lost when a worker dies.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from workers.requests import Answer, ModelRequest, Request

REQUESTS_PER_WORKER = 2


class FailureKind(StrEnum):
    """The kind of a failure, which decides whether and how to retry.

    The value is stored at the head of the error, as in "invalid: epsilon must lie in (0, 1)".
    """

    INVALID = "invalid"  # the input is invalid; a retry would fail in the same way
    ERROR = "error"  # an unexpected error; another attempt may succeed
    OUT_OF_MEMORY = "out of memory"  # another attempt needs smaller batches
    WORKER_LOST = "worker lost"  # the worker's process or machine died
    DEVICE_LOST = "device lost"  # its GPU failed or vanished; a new process may find another
    NOT_BEGUN = "not begun"  # the worker died while this request was in its queue


# Databases of older versions have errors of invalid input under the first prefix.
_INVALID_PREFIXES = ("refused:", f"{FailureKind.INVALID}:")


def is_invalid_input(error: str) -> bool:
    """Whether a stored error says that the input of a job is invalid, so that a retry cannot help."""
    return error.startswith(_INVALID_PREFIXES)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer."""

    kind: FailureKind
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to a request, or its failure; `ticket` is the one it was submitted with."""

    ticket: str
    worker: str
    result: Answer[Any] | Failure


@dataclass(frozen=True, slots=True)
class Vacancy:
    """Room for one request at a worker, and the model that the worker has loaded."""

    worker: str  # its name in the pool
    model: ModelRequest | None
    location: str  # its machine and process, shown to people
    queued: bool = False  # whether the worker has another request to finish first


class Pool(Protocol):
    """A pool of workers. Only the driver's thread calls its methods."""

    def vacancies(self) -> list[Vacancy]:
        """One entry for each request that could be submitted now; idle workers come first."""

    def submit(self, worker: str, ticket: str, request: Request[Any]) -> None:
        """Send a request to a worker with a vacancy."""

    def wait(self, seconds: float) -> list[Outcome]:
        """The outcomes that have arrived, after waiting at most this long for the first."""

    def close(self) -> None:
        """Stop all workers; requests without an answer are lost."""
