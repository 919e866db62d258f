"""How commands talk to people: results on standard output, progress on standard error, exit codes."""

from __future__ import annotations

import io
import math
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO, cast

from rich import box
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
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from bat.compiled import EntryPoint

# Called when a long step begins, with its title and total; returns a function to call with the amount done.
Stage = Callable[[str, int], Callable[[int], None]]

_PROGRAM = "bat-harness"
_WIDTH_OF_FILES = 160
_SECONDS_BETWEEN_LINES = 15.0
_PADDING = re.compile(r" +(?=\n)")


class ExitCode(IntEnum):
    """The exit codes of all commands."""

    DONE = 0
    MISTAKE = 1
    USAGE = 2
    UNFINISHED = 3
    INTERRUPTED = 130


EXIT_MEANINGS = {
    ExitCode.DONE: "success",
    ExitCode.MISTAKE: "invalid input, a problem with the machine or the database, or a failed check; the "
    "message says which",
    ExitCode.USAGE: "unknown option, or missing argument",
    ExitCode.UNFINISHED: "the sweep cannot finish because jobs failed (`run` and `status --check`)",
    ExitCode.INTERRUPTED: "stopped by Ctrl-C before the end",
}


def program_name() -> str:
    """How people call this program: by its name if it is on the PATH, otherwise by its path."""
    called = Path(sys.argv[0])
    if called.name != _PROGRAM or shutil.which(_PROGRAM):
        return _PROGRAM
    relative = os.path.relpath(called)
    return str(called) if relative.startswith("..") else relative


def plain_table() -> Table:
    """A table with a line below its header and two spaces between its columns."""
    return Table(
        box=box.SIMPLE,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
    )


def get_console() -> Console:
    """The console for results. Files and pipes have no width, so they get a generous one, and no padding."""
    console = Console()
    if console.is_terminal:
        return console
    width = None if "COLUMNS" in os.environ else _WIDTH_OF_FILES
    return Console(width=width, file=cast(IO[str], _WithoutPadding(sys.stdout)))


class _WithoutPadding(io.TextIOBase):
    """A stream without the spaces that fill the lines of a table up to its width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_PADDING.sub("", text))

    def flush(self) -> None:
        self._stream.flush()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding


class _Counts(MofNCompleteColumn):
    """Done and total, for steps that have a total."""

    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task)


def _progress(*, transient: bool = False) -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:20}"),
        BarColumn(),
        _Counts(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
        console=console,
        transient=transient,
        disable=transient and not console.is_terminal,
    )


@contextmanager
def stages(*, transient: bool = False) -> Iterator[Stage]:
    """Show a bar for each step begun inside. Transient bars are for terminals only, and erased at the end."""
    with _progress(transient=transient) as progress:

        def stage(title: str, total: int) -> Callable[[int], None]:
            task = progress.add_task(title, total=total, note="")
            return lambda done: progress.update(task, completed=done)

        yield stage


class Bars:
    """Progress bars by name, whose totals may grow."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._step: TaskID | None = None

    def show(self, counts: Mapping[str, tuple[int, int]], note: str = "") -> None:
        """Show (done, total) for each name, and a note behind the last one, such as the time left."""
        for number, (name, (done, total)) in enumerate(counts.items(), start=1):
            if name not in self._tasks:
                self._tasks[name] = self._add(name, total)
            behind = note if number == len(counts) else ""
            self._progress.update(self._tasks[name], completed=done, total=total, note=behind)

    def begin(self, step: str) -> None:
        """Show a step that has no total, instead of the previous one."""
        self.end_step()
        self._step = self._add(step, None)

    def end_step(self) -> None:
        """Remove the current step; only the bars with totals stay."""
        if self._step is not None:
            self._progress.remove_task(self._step)
            self._step = None

    def _add(self, title: str, total: int | None) -> TaskID:
        self._progress.start()  # only now: without any bar, nothing is drawn at all
        return self._progress.add_task(title, total=total, note="")

    def say(self, text: str, style: str = "") -> None:
        """Write a line above the bars, which would otherwise overwrite it."""
        self._progress.console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


class Lines:
    """The same for files, which cannot be redrawn: a line now and then, when something has changed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: dict[str, tuple[int, int]] = {}
        self._at = -math.inf

    def show(self, counts: Mapping[str, tuple[int, int]], note: str = "") -> None:
        """Write a line if the last one is old enough, or everything is done."""
        complete = all(done == total for done, total in counts.values())
        waited = time.monotonic() - self._at >= _SECONDS_BETWEEN_LINES
        if dict(counts) != self._shown and (waited or complete):
            self._shown, self._at = dict(counts), time.monotonic()
            shown = [f"{name} {done}/{total}" for name, (done, total) in counts.items()]
            self.say(", ".join([*shown, note] if note and not complete else shown))

    def begin(self, step: str) -> None:
        """Write the name of the step."""
        self.say(f"{step} ...")

    def end_step(self) -> None:
        """Nothing to do: lines stay."""

    def say(self, text: str, style: str = "") -> None:
        """Write a line."""
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def say_if_compiling(*entries: EntryPoint) -> None:
    """Tell people that these ways into the solver are compiled now, which makes the first use slow."""
    from bat.compiled import NOTE, is_compiled

    if not is_compiled(*entries):
        Lines(Console(stderr=True)).say(NOTE, style="dim")


@contextmanager
def growing_bars() -> Iterator[Bars | Lines]:
    """Show progress on standard error while inside: bars on a terminal, lines in a file."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(console)
        return
    progress = _progress()
    try:
        yield Bars(progress)
    finally:
        progress.stop()
