"""Where commands write: results to the output, bars for what takes a while to the error stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

# Told the name and the size of a long step as it begins, returns what to call with the amount done so far.
Stage = Callable[[str, int], Callable[[int], None]]


_WIDTH_OF_FILES = 160


def get_console() -> Console:
    """Return the console of results. A file or pipe has no width of its own, and is given a generous one."""
    console = Console()
    unlimited = not console.is_terminal and "COLUMNS" not in os.environ
    return Console(width=_WIDTH_OF_FILES) if unlimited else console


def _progress(*, transient: bool = False) -> Progress:
    return Progress(
        TextColumn("{task.description:20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=transient,
    )


@contextmanager
def stages(*, transient: bool = False) -> Iterator[Stage]:
    """Show a bar for each step begun inside; transient ones are wiped off a terminal, and for it alone."""
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description:20}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=transient,
        disable=transient and not console.is_terminal,
    ) as progress:

        def stage(title: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(title, total=total)
            return lambda done: progress.update(task, completed=done)

        yield stage


class Bars:
    """Bars that are known by name, and whose totals may grow."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def set(self, name: str, done: int, total: int) -> None:
        """Show how far something is."""
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[name], completed=done, total=total)


@contextmanager
def growing_bars() -> Iterator[Bars]:
    """Show bars, on the error stream, while inside."""
    with _progress() as progress:
        yield Bars(progress)
