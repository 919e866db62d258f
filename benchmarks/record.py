"""What a benchmark reports."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
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


def best_in_turns(contenders: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """The best time of each, taken in turns, so that a slow spell of the machine meets all of them."""
    rounds = [seconds_each(lambda contender: contender(), contenders) for _ in range(repeats)]
    return [min(times) for times in zip(*rounds, strict=True)]


def figures_of(module: str) -> Iterator[Figure]:
    """The figures that a module writes when it is run by itself, with all cores."""
    environment = {**os.environ, "BENCHMARK_THREADS": str(len(os.sched_getaffinity(0)))}
    with subprocess.Popen(
        [sys.executable, "-m", module], stdout=subprocess.PIPE, text=True, env=environment
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            yield Figure(**json.loads(line))
    if run.returncode != 0:
        raise RuntimeError(f"{module} ended with {run.returncode}")


def write_figures(figures: Iterable[Figure]) -> None:
    """Write figures as `figures_of` reads them, each as soon as it is there."""
    for figure in figures:
        sys.stdout.write(json.dumps(dataclasses.asdict(figure)) + "\n")
        sys.stdout.flush()
