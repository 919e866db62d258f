"""Paths in a sweep are relative to its file; the working directory is a fallback that is told."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import yaml

from harness.cli import main
from harness.config import SweepConfig, SweepPathWarning, load_config, run_identity


def write_sweep(folder: Path, corpus: str = "text", model: str = "fake:v=300,d=8") -> Path:
    folder.mkdir(exist_ok=True)
    sweep = {
        "name": "tiny",
        "models": [{"name": model}],
        "corpus": {"name": corpus},
        "features": {"model": "fake:v=300,d=8"},
        "methods": [{"rule": "greedy"}],
        "stages": [{"name": "compare"}],
    }
    path = folder / "sweep.yaml"
    path.write_text(yaml.safe_dump(sweep))
    return path


def load(path: Path) -> SweepConfig:
    return load_config(path).config


@pytest.fixture(autouse=True)
def working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_path_leads_from_the_sweeps_own_folder(tmp_path: Path) -> None:
    write_sweep(Path("sweeps"), corpus="../data/text", model="my-model")
    Path("data/text").mkdir(parents=True)
    Path("sweeps/my-model").mkdir()
    Path("my-model").mkdir()  # not this one
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        config = load(Path("sweeps/sweep.yaml"))
    assert Path(config.corpus.name).resolve() == tmp_path / "data" / "text"
    assert config.models[0].name == "sweeps/my-model"
    assert config.features.model == "fake:v=300,d=8"


def test_a_path_in_the_working_directory_works_and_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    sweep = write_sweep(Path("sweeps"))
    Path("text").mkdir()
    with pytest.warns(
        SweepPathWarning, match=r"corpus\.name: text is in the working directory.*write \.\./text"
    ):
        config = load(sweep)
    assert config.corpus.name == "text"  # so that runs of older versions resume
    with pytest.raises(SystemExit):
        main(["plan", str(sweep)])  # there is no text in the folder
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: corpus.name")]
    assert len(told) == 1
    assert ".py" not in told[0]


def test_built_in_names_and_sweeps_in_the_working_directory_stay_as_they_are() -> None:
    for name in ("sweeps/news", "text"):
        Path(name).mkdir(parents=True)
    assert load(write_sweep(Path("sweeps"), corpus="news")).corpus.name == "news"
    assert load(write_sweep(Path("."), corpus="./text")).corpus.name == "./text"
    assert load(write_sweep(Path("sweeps"), corpus="nowhere.txt")).corpus.name == "nowhere.txt"


def test_how_text_is_split_enters_the_identity_unless_it_is_the_default() -> None:
    sweep = write_sweep(Path("."))
    assert "split_on" not in run_identity(load(sweep))["corpus"]
    by_line = load_config(sweep, ["corpus.split_on=line"]).config
    assert run_identity(by_line)["corpus"]["split_on"] == "line"


def test_whole_numbers_may_have_an_exponent_and_names_any_script() -> None:
    sweep = write_sweep(Path("."))
    config = load_config(sweep, ["prefixes.count=1e3", "generation.seeds=[1e1]", "name=опыт-हिन्दी-3"]).config
    assert (config.prefixes.count, config.generation.seeds, config.name) == (1000, (10,), "опыт-हिन्दी-3")
    assert isinstance(config.prefixes.count, int)
    for override, message in (
        ("prefixes.count=1.5e0", "must be a valid integer; got 1.5"),
        ("name=two words", "a name must have letters, digits and . _ = - only"),
        ("name=-x", "and begin with a letter or digit; got '-x'"),
        ("models.0.label=' x'", "must not be empty, nor begin or end with a space"),
        ("generation.seeds=-1", "greater than or equal to 0; got -1"),
    ):
        with pytest.raises(ValueError, match=message):
            load_config(sweep, [override])
