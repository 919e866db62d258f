"""Commands that are printed to be copied."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from harness.commands.console import program_name


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
