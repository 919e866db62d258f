"""Rows of a batch side by side: compiled code releases the interpreter's lock, so threads are enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from bat.errors import InvalidInputError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def usable_threads(threads: int | None) -> int:
    """How many threads to use: what was asked for, else one per core this process may run on."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidInputError(
            f"threads must be an integer of at least 1; got {threads!r}. Leave it out to use every core."
        )
    return threads


def map_in_threads(
    function: Callable[[_Item], _Result], items: Sequence[_Item], threads: int
) -> list[_Result]:
    """``[function(item) for item in items]``, several at a time; the order of results is that of items."""
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(function, items))
