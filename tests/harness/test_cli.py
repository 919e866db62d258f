from __future__ import annotations

import errno
import importlib.metadata
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from bat.errors import BatError
from harness import cli
from harness.explore import preview
from harness.explore.preview import PreviewRow


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    return int(left.value.code or 0)


def test_the_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"bat-harness {importlib.metadata.version('bat-harness')}\n"


def test_a_foreseen_error_prints_one_line_and_exits_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object) -> list[PreviewRow]:
        raise BatError("the model is not installed; install it with: make setup")

    monkeypatch.setattr(preview, "run_preview", fail)
    assert run("preview") == 1
    err = capsys.readouterr().err
    assert err.splitlines()[-1] == "error: the model is not installed; install it with: make setup"
    assert "Traceback" not in err


def test_a_full_disk_behind_the_output_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: object) -> list[PreviewRow]:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(preview, "run_preview", fail)
    assert run("preview") == 1
    assert "error: the output cannot be written: the disk is full." in capsys.readouterr().err


def test_help_names_every_command_and_waits_for_nothing_heavy() -> None:
    # In a process of its own, because the tests have imported everything already.
    heavy = ("torch", "numpy", "transformers", "numba")
    program = (
        "import sys, harness.cli\n"
        "try: harness.cli.main(['--help'])\n"
        f"finally: sys.exit([name for name in {heavy} if name in sys.modules] or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for command in ("preview", "next", "init", "demo"):
        assert f" {command} " in done.stdout


def all_commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, subcommand in command.commands.items():
        yield from all_commands(subcommand, (*words, name))


COMMANDS = dict(all_commands(typer.main.get_command(cli.app)))


def test_help_groups_the_commands_with_a_line_each(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("--help") == 0
    lines = [line.strip("│ ") for line in capsys.readouterr().out.splitlines()]
    groups = [line.strip("╭╮─ ") for line in lines if line.startswith("╭")]
    assert groups == ["Options", "Try it", "Run sweeps", "Read results", "Maintenance"]
    listed = lines[next(row for row, line in enumerate(lines) if "Try it" in line) :]
    names = [line.split()[0] for line in listed if line and line[0] not in "╭╰"]
    assert sorted(names) == sorted({words[0] for words in COMMANDS})  # so no line is a continuation


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_shows_flags_as_flags(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words, "--help") == 0
    printed = capsys.readouterr().out
    assert "<bool>" not in printed
    assert "--help" in printed


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_help_of_a_command_has_two_examples_that_parse(words: tuple[str, ...]) -> None:
    command = COMMANDS[words]
    _, _, examples = (command.help or "").partition("Examples:\n\n")
    lines = [shlex.split(line) for line in examples.splitlines() if line.strip()]
    assert len(lines) >= 2
    for line in lines:
        assert line[: len(words) + 1] == ["bat-harness", *words]
        command.make_context(words[-1], line[len(words) + 1 :])  # raises on unknown options


def test_an_unknown_option_is_an_error_that_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("preview", "--token", "5") == 2
    assert "--token" in capsys.readouterr().err


def test_the_preview_is_printed_as_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[int, int]] = []

    def measure(count: int, seed: int, stage: preview.Stage) -> list[PreviewRow]:
        asked.append((count, seed))
        stage("Working", 2)(2)
        return [PreviewRow("eta", 0.002, 0.147, 0.0612, 0.1465)]

    monkeypatch.setattr(preview, "run_preview", measure)
    assert run("preview", "--tokens", "30", "--seed", "4") == 0
    captured = capsys.readouterr()
    assert asked == [(30, 4)]
    assert "30 tokens" in captured.out
    assert "standard error of at least 5.5%" in " ".join(captured.out.split())
    [row] = [line for line in captured.out.splitlines() if "ba-eta" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "eta",
        "0.002",
        "14.7%",
        "ba-eta",
        "0.061",
        "14.6%",
    ]
    assert "Working" in captured.err
