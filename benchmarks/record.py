"""What a benchmark reports."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Figure:
    """One line of the table. ``met`` is None where nothing was promised."""

    group: str
    name: str
    value: float
    unit: str
    note: str = ""
    target: str = ""
    met: bool | None = None


def seconds_each(function: Callable[[_Item], object], items: Iterable[_Item]) -> list[float]:
    """How long the function takes for each item, called once for each."""
    times = []
    for item in items:
        began = time.perf_counter()
        function(item)
        times.append(time.perf_counter() - began)
    return times


def median_seconds(function: Callable[[_Item], object], items: Iterable[_Item]) -> float:
    return statistics.median(seconds_each(function, items))


def best_of(function: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs of the same work."""
    return min(seconds_each(lambda _: function(), range(repeats)))
