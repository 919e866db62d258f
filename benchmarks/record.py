"""Figures that benchmarks report, and timing."""

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
    """A row of the table. ``met`` is None if there is no target."""

    group: str
    name: str
    value: float
    unit: str
    note: str = ""
    target: str = ""
    met: bool | None = None


def seconds_each(function: Callable[[_Item], object], items: Iterable[_Item]) -> list[float]:
    """The time of one call of the function for each item."""
    times = []
    for item in items:
        began = time.perf_counter()
        function(item)
        times.append(time.perf_counter() - began)
    return times


def median_seconds(function: Callable[[_Item], object], items: Iterable[_Item]) -> float:
    return statistics.median(seconds_each(function, items))


def best_of(function: Callable[[], object], repeats: int) -> float:
    """The shortest time of several runs."""
    return min(seconds_each(lambda _: function(), range(repeats)))


def best_in_turns(contenders: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """The best time of each, run in turns, so that a slow phase of the machine affects all of them."""
    rounds = [seconds_each(lambda contender: contender(), contenders) for _ in range(repeats)]
    return [min(times) for times in zip(*rounds, strict=True)]


def figures_of(module: str, *arguments: str) -> Iterator[Figure]:
    """The figures that a module writes when it runs in a separate process, with all cores."""
    environment = {**os.environ, "BENCHMARK_THREADS": str(len(os.sched_getaffinity(0)))}
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments], stdout=subprocess.PIPE, text=True, env=environment
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            yield Figure(**json.loads(line))
    if run.returncode != 0:
        raise RuntimeError(f"{module} failed with exit code {run.returncode}")


def write_figures(figures: Iterable[Figure]) -> None:
    """Write figures for `figures_of`, each as soon as it is available."""
    for figure in figures:
        sys.stdout.write(json.dumps(dataclasses.asdict(figure)) + "\n")
        sys.stdout.flush()
