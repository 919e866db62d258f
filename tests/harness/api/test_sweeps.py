"""Sweeps loaded from files and mappings, and plans as values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.config import to_yaml
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep


def written(corpus: Path) -> dict[str, Any]:
    """The tiny sweep as plain data."""
    return tiny_sweep(corpus).model_dump(mode="json", exclude_unset=True)


def test_a_file_a_mapping_and_a_sweep_are_the_same(text_corpus: Path, tmp_path: Path) -> None:
    expected = tiny_sweep(text_corpus)
    file = tmp_path / "tiny.yaml"
    file.write_text(to_yaml(expected))
    sweeps: list[Any] = [file, str(file), written(text_corpus), expected]
    assert [harness.load_sweep(sweep) for sweep in sweeps] == [expected] * 4
    for sweep in sweeps:
        assert harness.load_sweep(sweep, ["prefixes.count=3"]).prefixes.count == 3
    assert harness.load_sweep(expected) is expected
    assert expected.prefixes.count == 6


def test_overrides_leave_a_mapping_as_it_was(text_corpus: Path) -> None:
    data = written(text_corpus)
    harness.load_sweep(data, ["prefixes.count=3", "methods.0.parameter=0.02"])
    assert data == written(text_corpus)


def test_mistakes_are_sentences(text_corpus: Path) -> None:
    with pytest.raises(harness.BatError, match="prefixes"):
        harness.load_sweep({**written(text_corpus), "prefixs": {}})
    with pytest.raises(harness.BatError, match="there is no such file"):
        harness.load_sweep("nowhere.yaml")


def test_a_plan_with_and_without_a_database(text_corpus: Path, tmp_path: Path) -> None:
    config = tiny_sweep(text_corpus)
    file = tmp_path / "r.db"
    for db in (None, file):  # a database that is not there yet is like none
        plan = harness.plan_sweep(config, db)
        assert (plan.jobs, plan.done, plan.later, plan.seconds) == (17, 0, 5, None)
        assert plan.unresolved == ("ba-eta rejecting as much as eta=0.01 (c=4)",)
    assert not file.exists()
    with open_quick_store(file) as store:
        make_driver(store, config, LocalPool).run()
    begun: list[str] = []

    def progress(title: str, total: int) -> Any:
        begun.append(title)
        return lambda done: None

    plan = harness.plan_sweep(config, file, progress=progress)
    assert (plan.jobs, plan.done, plan.later, plan.unresolved) == (17, 17, 0, ())
    assert begun == ["Planning"]
    frame = plan.to_frame()
    assert frame["jobs"].sum() == frame["done"].sum() == 17
    assert set(frame["kind"]) == {"measure", "generate", "featurize", "score"}
    assert json.loads(json.dumps(plan.as_record()))["totals"]["jobs"] == 17


def test_a_calibrated_plan_has_times(text_corpus: Path) -> None:
    plan = harness.plan_sweep(tiny_sweep(text_corpus), calibrate=True)
    assert plan.calibrated
    assert plan.seconds is not None
    assert plan.seconds > 0
    assert plan.to_frame()["seconds"].notna().all()
