"""Parameters that results decide: when they do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import harness
from harness.jobs.score import Score, ScoreRows
from harness.scoring.scores import ScoreEntry
from tests.harness.driver.sweeps import tiny_sweep


def test_candidates_without_a_score_cannot_be_chosen_from(
    text_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_ray: None
) -> None:
    def undefined(self: Score, value: tuple[ScoreEntry, ...]) -> ScoreRows:
        return ScoreRows(tuple(replace(entry, value=None) for entry in value))

    monkeypatch.setattr(Score, "rows", undefined)
    best = {"metric": "mauve", "split": "validation", "among": [0.01, 0.1]}
    stages = [
        {"name": "select", "split": "validation"},
        {"name": "compare", "split": "test"},
    ]
    config = tiny_sweep(text_corpus, methods=[{"rule": "eta", "parameter": {"best": best}}], stages=stages)
    outcome = harness.run_sweep(config, tmp_path / "r.db")
    assert not outcome.complete
    assert outcome.unresolved == ()
    [reason] = outcome.unresolvable
    assert "a mauve; on validation it is not defined for any of them" in reason
