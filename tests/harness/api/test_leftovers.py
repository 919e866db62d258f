"""What a run leaves behind when it did nothing, and what names cannot be taken."""

from __future__ import annotations

from pathlib import Path

import pytest

import harness
from bat.errors import InvalidInputError
from harness.store import open_store
from tests.harness.driver.sweeps import tiny_sweep


def test_a_sweep_that_cannot_be_planned_leaves_no_run(
    text_corpus: Path, file: Path, without_ray: None
) -> None:
    broken = tiny_sweep(text_corpus, model="fake:v=300,d=8", features={"model": "fake:v=-1"})
    with pytest.raises(InvalidInputError):
        harness.run_sweep(broken, file)
    assert harness.list_runs(file) == []
    assert harness.run_sweep(tiny_sweep(text_corpus), file).complete


def test_a_run_with_nothing_left_keeps_its_start_and_versions(
    text_corpus: Path, file: Path, without_ray: None
) -> None:
    config = tiny_sweep(text_corpus)
    first = harness.run_sweep(config, file)
    with open_store(file) as store:
        before = store.get_run(first.run)
        again = harness.run_sweep(config, file)
        assert (again.run, again.done) == (first.run, 0)
        assert store.get_run(first.run) == before
        store.forget_empty_run(first.run)  # it has a plan, so it stays
        assert store.find_run(first.run) == before


def test_human_is_not_a_name_for_methods(text_corpus: Path) -> None:
    with pytest.raises(harness.BatError, match="'human' is reserved for what people wrote"):
        tiny_sweep(text_corpus, methods=[{"name": "human", "rule": "eta", "parameter": 0.01}])


def test_overrides_may_be_one_string(text_corpus: Path) -> None:
    assert harness.load_sweep(tiny_sweep(text_corpus), "scoring.resamples=3").scoring.resamples == 3
