"""What commands show while they work: bars on a terminal, lines in a file."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from harness.commands import console
from harness.commands.console import Lines, growing_bars


def test_a_file_is_told_of_changes_now_and_then_and_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: clock[0])
    written = io.StringIO()
    lines = Lines(Console(file=written, width=200))
    lines.show({"measure": (0, 4)})
    lines.show({"measure": (1, 4)})  # too soon
    clock[0] += 60
    lines.show({"measure": (2, 4), "generate": (0, 9)})
    clock[0] += 60
    lines.show({"measure": (2, 4), "generate": (0, 9)})  # nothing new
    lines.show({"measure": (4, 4), "generate": (9, 9)})  # the end is told at once
    lines.show({"measure": (4, 4), "generate": (9, 9)})
    assert written.getvalue().splitlines() == [
        "measure 0/4",
        "measure 2/4, generate 0/9",
        "measure 4/4, generate 9/9",
    ]


def test_the_error_stream_of_a_script_gets_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with growing_bars() as bars:
        assert isinstance(bars, Lines)
        bars.show({"score": (1, 1)})
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "score 1/1\n")
