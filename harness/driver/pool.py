"""Workers behind one small interface, so that the driver does not know where they are.

A worker takes one request at a time, and a second one to wait behind it: while the driver writes an answer
down the worker is busy already. More would only be lost when a worker dies.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from workers.requests import Answer, ModelRequest, Request

REQUESTS_PER_WORKER = 2


class FailureKind(StrEnum):
    """What kind of failure it was: it decides whether, and how, to try again."""

    REFUSED = "refused"  # the request itself is at fault; trying again would give the same
    ERROR = "error"  # something went wrong; another attempt may succeed
    OUT_OF_MEMORY = "out of memory"  # another attempt needs smaller batches
    WORKER_LOST = "worker lost"  # its process or machine went away
    NOT_BEGUN = "not begun"  # so did this one's worker, but it was busy with another request


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer."""

    kind: FailureKind
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request, known by the ticket it was handed in with."""

    ticket: str
    worker: str
    result: Answer[Any] | Failure


@dataclass(frozen=True, slots=True)
class Vacancy:
    """A worker that can take a request, and the model it has loaded."""

    worker: str  # what the pool calls it
    model: ModelRequest | None
    location: str  # its machine and process, for people who look for it


class Pool(Protocol):
    """Some workers. Only the driver's thread calls these."""

    def vacancies(self) -> list[Vacancy]:
        """One entry for each request that could be handed in now; idle workers come first."""

    def submit(self, worker: str, ticket: str, request: Request[Any]) -> None:
        """Hand a request to a worker with a vacancy."""

    def wait(self, seconds: float) -> list[Outcome]:
        """What has come back, waiting that long for the first."""

    def close(self) -> None:
        """Let all workers go; requests that are still out are lost."""
