from __future__ import annotations

import errno
import importlib.metadata
import subprocess
import sys

import pytest

from bat.errors import BatError
from harness import cli, preview
from harness.preview import PreviewRow


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
    assert "error: the output cannot be written: its disk is full." in capsys.readouterr().err


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
    for command in ("preview", "next"):
        assert f" {command} " in done.stdout


def test_an_unknown_option_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
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
