"""What is expensive to load and changes rarely, kept between requests."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request

_Value = TypeVar("_Value")

_KEPT = 8  # each may hold the scores of a whole run


@dataclass
class _Slot:
    version: Hashable = None
    value: Any = None
    is_filled: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)


class Memory:
    """The latest values by name, each with the version it was made for."""

    def __init__(self) -> None:
        self._slots: OrderedDict[Hashable, _Slot] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: Hashable, version: Hashable, make: Callable[[], _Value]) -> _Value:
        """The value of this version. If it is not kept, one visitor makes it, and others wait for it."""
        with self._lock:
            slot = self._slots.setdefault(name, _Slot())
            self._slots.move_to_end(name)
            while len(self._slots) > _KEPT:
                self._slots.popitem(last=False)
        with slot.lock:
            if not slot.is_filled or slot.version != version:
                slot.value, slot.version, slot.is_filled = make(), version, True
            value: _Value = slot.value
            return value


def memory_of(request: Request) -> Memory:
    """What the server that is asked remembers."""
    memory: Memory = request.app.state.memory
    return memory
