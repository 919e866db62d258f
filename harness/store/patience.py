"""Waiting for a database that is away for a while: PostgreSQL restarts, or the network breaks.

A method of a store is one transaction, and repeating it is harmless, so it is simply called again.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from harness.store.errors import StoreLostError
from harness.store.reader import Reader

AnyReader = TypeVar("AnyReader", bound=Reader)

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 15.0


def patient(
    store: AnyReader,
    seconds: float,
    note: Callable[[str], None],
    on_return: Callable[[AnyReader], None] = lambda store: None,
) -> AnyReader:
    """The store, with methods that wait up to so many seconds for a database that is away.

    `note` is told once when the waiting begins and once when the database is back. `on_return` is called
    then, before anything else. When the time is over, methods raise StoreLostError, and none waits again.
    """
    return cast(AnyReader, _Patient(store, seconds, note, on_return))


class _Patient:
    def __init__(
        self,
        store: Any,
        seconds: float,
        note: Callable[[str], None],
        on_return: Callable[[Any], None],
    ) -> None:
        self._store, self._seconds = store, seconds
        self._note, self._on_return = note, on_return

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # so that it passes for the store that it stands for
        return type(self._store)

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._store, name)
        if not callable(attribute):
            return attribute

        @functools.wraps(attribute)
        def call(*arguments: Any, **options: Any) -> Any:
            def attempt() -> Any:
                answer = attribute(*arguments, **options)
                # An iterator would read later, when nobody repeats it.
                return iter(list(answer)) if isinstance(answer, Iterator) else answer

            try:
                return attempt()
            except StoreLostError as error:
                return self._wait(attempt, error)

        return call

    def _wait(self, attempt: Callable[[], Any], error: StoreLostError) -> Any:
        if self._seconds <= 0:
            raise error
        began, pause = time.monotonic(), _FIRST_PAUSE_SECONDS
        limit = "" if self._seconds == float("inf") else f" for up to {self._seconds:g} s"
        self._note(f"Waiting{limit} for the database: {error.reason}.")
        patience, self._seconds = self._seconds, 0.0  # an interrupt of this, too, is the end of waiting
        while True:
            left = began + patience - time.monotonic()
            if left <= 0:
                raise StoreLostError(
                    f"{error} It did not come back within {patience:g} s. When it is back, run the same "
                    "command again to resume; stored results are kept.",
                    error.reason,
                ) from error
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
            try:
                self._on_return(self._store)
                answer = attempt()
            except StoreLostError as again:
                error = again
                continue
            self._seconds = patience
            self._note(f"The database is back after {time.monotonic() - began:.0f} s.")
            return answer
