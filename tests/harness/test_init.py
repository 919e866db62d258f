"""bat-harness init: the sample sweeps of the package, written into a folder."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from harness import sample_sweeps
from harness.config import load_config
from harness.sample_sweeps import find_sample
from tests.harness.stores import run_command

CONFIGS = Path(__file__).parent.parent.parent / "configs"


def expected_files() -> list[str]:
    files = [path for path in CONFIGS.rglob("*") if path.is_file() and path.name != "README.md"]
    return sorted(str(path.relative_to(CONFIGS)) for path in files)


def test_the_sample_sweeps_are_written_and_can_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = run_command(capsys, "init")
    assert f"{len(expected_files())} files written. Try: bat-harness run configs/smoke.yaml" in printed
    folder = tmp_path / "configs"
    written = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert written == expected_files()
    for name in written:
        assert (folder / name).read_bytes() == (CONFIGS / name).read_bytes()
    for sweep in folder.glob("*.yaml"):
        load_config(sweep)
    assert (folder / "cluster" / "start-by-hand.sh").stat().st_mode & 0o111


def test_a_wheel_has_every_sample_sweep() -> None:
    project = tomllib.loads((CONFIGS.parent / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["harness"]
    harness = CONFIGS.parent / "harness"
    shipped = {path.resolve() for pattern in patterns for path in harness.glob(pattern)}
    assert {path.resolve() for path in CONFIGS.rglob("*") if path.is_file()} <= shipped


def test_existing_files_are_kept_unless_forced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "demo.yaml"
    mine.write_text("mine")
    said = run_command(capsys, "init", str(tmp_path), code=1)
    assert f"{mine} exists. Choose another folder, or add --force." in said
    assert [path.name for path in tmp_path.iterdir()] == ["demo.yaml"]
    assert mine.read_text() == "mine"
    told = json.loads(run_command(capsys, "init", str(tmp_path), "--force", "--json"))
    assert told["folder"] == str(tmp_path)
    assert len(told["files"]) == len(expected_files())
    assert mine.read_bytes() == (CONFIGS / "demo.yaml").read_bytes()


def test_a_folder_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    said = run_command(capsys, "init", str(tmp_path / "file" / "sweeps"), code=1)
    assert "cannot be written: Not a directory. Choose another folder." in said


def test_samples_that_are_not_installed_are_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_sample("demo.yaml").read_bytes() == (CONFIGS / "demo.yaml").read_bytes()
    monkeypatch.setattr(sample_sweeps, "FOLDER", tmp_path / "none")
    assert "Reinstall bat-harness." in run_command(capsys, "init", str(tmp_path / "new"), code=1)
    with pytest.raises(
        sample_sweeps.SampleSweepError, match=r"sweep demo\.yaml must be in .*none; it is miss"
    ):
        find_sample("demo.yaml")
