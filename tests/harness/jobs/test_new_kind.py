"""A kind of job that is new to the harness: its module alone makes queue, driver, hash and trace do it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import harness.jobs
from harness.jobs import KINDS, Inputs, JobKind, JobSpec, ScoreRows, Trial
from harness.report.tracing import _step
from harness.scoring.scores import ScoreEntry
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep
from workers.requests import Request, Worker


@dataclass(frozen=True)
class JudgeRequest(Request[float]):
    texts: tuple[str, ...]

    def run(self, worker: Worker) -> float:
        return sum(map(len, self.texts)) / len(self.texts)


@dataclass(frozen=True)
class Judge(JobSpec[float]):
    """How long the texts of a generate job are."""

    kind = JobKind.SCORE
    role = "judgement"
    marker = ("judged",)
    rows_type = ScoreRows
    unit_name = "texts"

    judged: str  # a generate job

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.judged,)

    def describe(self) -> str:
        return f"judged the texts of {self.judged[:12]}"

    @property
    def units(self) -> int:
        return 1

    def time_unit(self, trial: Trial) -> float:
        return 0.0

    def request(self, inputs: Inputs, batch_size: int | None = None) -> JudgeRequest:
        return JudgeRequest(tuple(inputs.results.texts_by_prefix(self.judged).values()))

    def rows(self, value: float) -> ScoreRows:
        return ScoreRows((ScoreEntry("letters", value),))


def test_a_new_kind_is_queued_done_hashed_and_traced(
    text_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: tuple[type[JobSpec[Any]], ...] = (*KINDS, Judge)
    monkeypatch.setattr(harness.jobs, "KINDS", kinds)
    config = tiny_sweep(text_corpus)
    with open_quick_store(tmp_path / "r.db") as store:
        driver = make_driver(store, config, LocalPool)
        assert driver.run().complete
        before = store.results_hash(driver.run_id)
        (writer, *_) = store.jobs(driver.run_id, JobKind.GENERATE)
        judge = Judge(writer.id)
        assert store.add_jobs(driver.run_id, [judge.job], 9) == 1
        assert make_driver(store, config, LocalPool).run().done == 1
        (score,) = store.scores([judge.id])
        texts = store.texts_by_prefix(writer.id).values()
        assert (score.name, score.value) == ("letters", sum(map(len, texts)) / len(texts))
        assert store.results_hash(driver.run_id) != before
        assert _step(store.find_jobs([judge.id])[judge.id]).words == judge.describe()
        assert store.needs([judge.id]) == {writer.id}
