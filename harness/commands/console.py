"""Where commands write: results to the output, bars for what takes a while to the error stream."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

# Told the name and the size of a long step as it begins, returns what to call with the amount done so far.
Stage = Callable[[str, int], Callable[[int], None]]


_WIDTH_OF_FILES = 160
_SECONDS_BETWEEN_LINES = 15.0


def get_console() -> Console:
    """Return the console of results. A file or pipe has no width of its own, and is given a generous one."""
    console = Console()
    unlimited = not console.is_terminal and "COLUMNS" not in os.environ
    return Console(width=_WIDTH_OF_FILES) if unlimited else console


class _Counts(MofNCompleteColumn):
    """How many of how many, for what can be counted."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


def _progress(*, transient: bool = False) -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:20}"),
        BarColumn(),
        _Counts(),
        TimeElapsedColumn(),
        console=console,
        transient=transient,
        disable=transient and not console.is_terminal,
    )


@contextmanager
def stages(*, transient: bool = False) -> Iterator[Stage]:
    """Show a bar for each step begun inside; transient ones are wiped off a terminal, and for it alone."""
    with _progress(transient=transient) as progress:

        def stage(title: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(title, total=total)
            return lambda done: progress.update(task, completed=done)

        yield stage


class Bars:
    """Bars that are known by name, and whose totals may grow."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._step: TaskID | None = None

    def show(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Show how far things are: what is done of how many."""
        for name, (done, total) in counts.items():
            if name not in self._tasks:
                self._tasks[name] = self._progress.add_task(name, total=total)
            self._progress.update(self._tasks[name], completed=done, total=total)

    def begin(self, step: str) -> None:
        """Show what goes on before there is anything to count, in the place of what went on before."""
        self.end_step()
        self._step = self._progress.add_task(step, total=None)

    def end_step(self) -> None:
        """Show nothing but what is counted from now on."""
        if self._step is not None:
            self._progress.remove_task(self._step)
            self._step = None

    def say(self, text: str, style: str = "") -> None:
        """Write a line above the bars; written past them, it would be drawn over."""
        self._progress.console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


class Lines:
    """The same for a file, which cannot be drawn over: a line now and then, when something has changed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: dict[str, tuple[int, int]] = {}
        self._at = -math.inf

    def show(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Write a line if it is time for one, or all is done."""
        complete = all(done == total for done, total in counts.values())
        waited = time.monotonic() - self._at >= _SECONDS_BETWEEN_LINES
        if dict(counts) != self._shown and (waited or complete):
            self._shown, self._at = dict(counts), time.monotonic()
            self.say(", ".join(f"{name} {done}/{total}" for name, (done, total) in counts.items()))

    def begin(self, step: str) -> None:
        """Write what goes on now."""
        self.say(f"{step} ...")

    def end_step(self) -> None:
        """A line stands for itself."""

    def say(self, text: str, style: str = "") -> None:
        """Write a line."""
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def growing_bars() -> Iterator[Bars | Lines]:
    """Show how far things are while inside, on the error stream: bars on a terminal, lines in a file."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(console)
        return
    with _progress() as progress:
        yield Bars(progress)
