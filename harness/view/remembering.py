"""What is expensive to load and changes rarely, kept between requests."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from starlette.requests import Request

_Value = TypeVar("_Value")

_KEPT = 8  # each may hold the scores of a whole run


class Memory:
    """The latest values by name, each with the version it was made for."""

    def __init__(self) -> None:
        self._values: OrderedDict[Hashable, tuple[Hashable, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: Hashable, version: Hashable, make: Callable[[], _Value]) -> _Value:
        """The value of this version, made now if it is not kept. Two visitors may both make it."""
        with self._lock:
            kept = self._values.get(name)
            if kept is not None and kept[0] == version:
                self._values.move_to_end(name)
                value: _Value = kept[1]
                return value
        value = make()
        with self._lock:
            self._values[name] = (version, value)
            self._values.move_to_end(name)
            while len(self._values) > _KEPT:
                self._values.popitem(last=False)
        return value


def remembered(request: Request, name: Hashable, version: Hashable, make: Callable[[], _Value]) -> _Value:
    """A value of the server that is asked."""
    memory: Memory = request.app.state.memory
    return memory.get(name, version, make)
