"""All tables together, for the sweeps that come with the project."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config import load_config
from harness.config.expansion import BestOf, MethodInstance, Setting
from harness.report.parts import Missing, Table
from harness.report.results import Measured
from harness.report.tables import TABLES, Sources, build
from tests.harness.report.made_results import made_measurement, make_results, make_sources
from workers.measurement_record import Measurement

CONFIGS = Path(__file__).parents[4] / "configs"
PAPER = {
    "comparison-chosen": {"comparison", "differences", "rejection", "rates", "matching"},
    "comparison": {"comparison", "differences", "rejection", "rates", "matching", "selection"},
    "lower-entropy": {"comparison", "differences", "lower-entropy", "rejection", "rates", "matching"},
    "eta-sweep": {"comparison", "differences", "eta-sweep", "rejection", "rates", "matching"},
    # GPT-2 XL at a quarter is a column of the lower-entropy table too.
    "constraints": {
        "comparison",
        "differences",
        "constraints",
        "lower-entropy",
        "rejection",
        "rates",
        "matching",
    },
    "selection": {"selection"},
    "rejection-curves": {"rejection"},
}


@pytest.fixture(autouse=True)
def _few_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of rates are not what is tested here."""
    monkeypatch.setattr("harness.report.tables.rejection.REPLICATES", 10)


def scattered(instance: MethodInstance, setting: Setting) -> float:
    return 0.8 + zlib.crc32(f"{instance.model} {setting} {instance.seed}".encode()) % 1000 / 1e4


def resolved(instance: MethodInstance) -> float:
    parameter = instance.setting.parameter
    if isinstance(parameter, BestOf):
        assert parameter.candidates[2] is not None
        return parameter.candidates[2]
    return 0.01 + zlib.crc32(f"{instance.model} {instance.setting}".encode()) % 1000 / 1e5


def built(*files: Path) -> list[Table | Missing]:
    configs = [load_config(file).config for file in files]
    results = make_results(*configs, mauve=scattered, resolve=resolved)
    return build(make_sources(results, made_measurement(60, 10)))


def check(parts: list[Table | Missing]) -> None:
    """What `trace` and the files of a report rely on."""
    tables = [part for part in parts if isinstance(part, Table)]
    assert len({table.name for table in tables}) == len(tables)
    for table in tables:
        assert len(set(table.columns)) == len(table.columns)
        assert len({row.label for row in table.rows}) == len(table.rows)
        assert table.caption.endswith(".")
        assert all(note.endswith(".") for note in table.notes)
        for row in table.rows:
            assert len(row.cells) == len(table.columns) - 1
            for cell in row.cells:
                assert cell.how or not cell.text
                assert cell.value is None or cell.text


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_sweeps_make_the_papers_tables(name: str) -> None:
    parts = built(CONFIGS / "paper" / f"{name}.yaml")
    check(parts)
    made = {part.name for part in parts if isinstance(part, Table)}
    found = {known for known in TABLES if any(one == known or one.startswith(f"{known}-") for one in made)}
    assert found - {"statistics", "sampling", "all-scores", "leaderboard", "tuning"} == PAPER[name]
    assert ("leaderboard" in found) == ("comparison" in found or name == "selection")


def test_several_runs_in_one_report() -> None:
    files = [CONFIGS / "paper" / f"{name}.yaml" for name in PAPER]
    parts = built(*files)
    check(parts)
    assert not [part for part in parts if isinstance(part, Missing)]


def test_the_same_sweep_twice_changes_nothing_but_the_title() -> None:
    for name in ("eta-sweep", "constraints"):
        file = CONFIGS / "paper" / f"{name}.yaml"
        config = load_config(file).config
        again = config.model_copy(update={"name": "again"})
        once, twice = (
            make_results(*configs, mauve=scattered, resolve=resolved)
            for configs in ([config], [config, again])
        )
        alone, both = (
            [part for part in TABLES[name](make_sources(results)) if isinstance(part, Table)]
            for results in (once, twice)
        )
        assert [replace(table, title="") for table in both] == [replace(table, title="") for table in alone]
        assert all(table.title.endswith(f", {config.name} and again") for table in both)


def test_the_demonstration_lacks_what_the_papers_sweeps_would_make() -> None:
    parts = built(CONFIGS / "demo.yaml")
    check(parts)
    commands = [part.command for part in parts if isinstance(part, Missing)]
    assert commands == [
        f"bat-harness run configs/paper/{name}.yaml"
        for name in ("lower-entropy", "eta-sweep", "constraints", "selection")
    ]
    assert all((CONFIGS.parent / command.split()[-1]).exists() for command in commands)


def test_a_measurement_is_loaded_once() -> None:
    asked: list[Measured] = []

    def load(measured: Measured) -> Measurement:
        asked.append(measured)
        return made_measurement(60, 10)

    results = make_results()
    build(Sources(results, load, lambda result: None))
    assert asked == list(results.measured)
