"""What commands show while they work: bars on a terminal, lines in a file."""

from __future__ import annotations

import io
import shutil
import sys
from pathlib import Path

import pytest
from rich.console import Console

from harness.commands import console
from harness.commands.console import Bars, Lines, get_console, growing_bars, plain_table, program_name


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
        bars.begin("Planning")
        bars.show({"score": (1, 1)})
        bars.say("[found] a parameter")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "Planning ...\nscore 1/1\n[found] a parameter\n")


def test_on_a_terminal_notes_stand_above_the_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    terminal = Console(file=written, force_terminal=True, width=80, height=20, _environ={})
    monkeypatch.setattr(console, "Console", lambda **_: terminal)
    with growing_bars() as bars:
        assert isinstance(bars, Bars)
        bars.begin("Planning")
        assert descriptions(bars) == ["Planning"]
        bars.begin("Starting workers")
        bars.show({"measure": (0, 4)})
        assert descriptions(bars) == ["Starting workers", "measure"]
        bars.say("[found] a parameter")
        bars.end_step()
        bars.show({"measure": (1, 4)})
        assert descriptions(bars) == ["measure"]
    lines = written.getvalue().splitlines()
    # A line of its own, as it is, after the codes that wipe off the bars.
    assert any(line.endswith("[found] a parameter") for line in lines)
    assert not any("measure" in line and "found" in line for line in lines)
    assert "1/4" in lines[-2]  # before the code that brings back the cursor


def descriptions(bars: Bars) -> list[str]:
    return [task.description for task in bars._progress.tasks]


def test_the_program_is_named_so_that_the_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv" / "bin" / "bat-harness"), "report"])
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert program_name() == ".venv/bin/bat-harness"
    monkeypatch.setattr(sys, "argv", ["/opt/tools/bat-harness", "report"])
    assert program_name() == "/opt/tools/bat-harness"  # rather than a way up and down the tree
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert program_name() == "bat-harness"


def test_called_from_python_it_has_its_plain_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert program_name() == "bat-harness"


def test_piped_tables_are_not_padded(capsys: pytest.CaptureFixture[str]) -> None:
    table = plain_table()
    table.add_column("name")
    table.add_column("meaning")
    table.add_row("a", "short")
    table.add_row("b", "a much longer one")
    get_console().print(table)
    lines = capsys.readouterr().out.splitlines()
    assert "short" in lines[2]
    assert [line for line in lines if line.endswith(" ")] == []


def test_the_time_left_stands_behind_the_counts() -> None:
    written = io.StringIO()
    lines = Lines(Console(file=written, width=200))
    lines.show({"measure": (0, 4)}, "about 3 min left")
    lines.show({"measure": (4, 4)}, "about 3 min left")
    assert written.getvalue().splitlines() == ["measure 0/4, about 3 min left", "measure 4/4"]
