"""A kind of job that is new to the harness: its module and two more places make everything else do it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness import jobs
from harness.config.schema import SweepConfig
from harness.jobs import KINDS, Inputs, JobKind, JobSpec, ScoreRows, TextsJob, Trial
from harness.planning import planner
from harness.planning.planner import SettingJobs, setting_jobs
from harness.report.tracing import _step
from harness.scoring.scores import ScoreEntry
from harness.status.run_status import RunState, gather
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep
from workers.requests import Request, Worker

# The module of the new kind.


@dataclass(frozen=True)
class JudgeRequest(Request[float]):
    texts: tuple[str, ...]

    def run(self, worker: Worker) -> float:
        return sum(map(len, self.texts)) / len(self.texts)


@dataclass(frozen=True)
class Judge(JobSpec[float]):
    """How long the texts of a setting are."""

    kind = JobKind.SCORE
    role = "judgement"
    marker = ("judged",)
    rows_type = ScoreRows
    unit_name = "texts"

    judged: tuple[str, ...]  # generate jobs
    texts: int

    @classmethod
    def plan(cls, config: SweepConfig, texts: Sequence[TextsJob]) -> Judge:
        return cls(tuple(job.id for job in texts), sum(len(job.prefixes) for job in texts))

    @property
    def needs(self) -> tuple[str, ...]:
        return self.judged

    def describe(self) -> str:
        return f"judged the texts of {len(self.judged)} jobs"

    @property
    def units(self) -> int:
        return self.texts

    @property
    def pace(self) -> str:
        return "judge"

    def time_unit(self, trial: Trial) -> float:
        return trial.seconds(JudgeRequest(tuple(trial.human_texts(2)))) / 2

    def request(self, inputs: Inputs, batch_size: int | None = None) -> JudgeRequest:
        return JudgeRequest(
            tuple(text for job in self.judged for text in inputs.results.texts_by_prefix(job).values())
        )

    def rows(self, value: float) -> ScoreRows:
        return ScoreRows((ScoreEntry("letters", value),))


# The other places, as they would be edited.


def setting_jobs_with_judge(materials: Any, *arguments: Any) -> SettingJobs:
    own = setting_jobs(materials, *arguments)
    return replace(own, from_texts=(*own.from_texts, Judge.plan(materials.config, own.texts)))


def edit(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, value: object) -> str:
    """Replace a definition, also where it was imported from the module, as an edit of its file would."""
    before = getattr(module, name)
    for other in list(sys.modules.values()):
        if other.__name__.startswith("harness") and getattr(other, name, None) is before:
            monkeypatch.setattr(other, name, value)
    return f"{module.__name__}.{name}"


def test_a_new_kind_takes_three_files(
    text_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tiny_sweep(text_corpus)
    database = tmp_path / "r.db"
    with open_quick_store(database) as store:
        driver = make_driver(store, config, LocalPool)
        assert driver.run().done == 17
        without = store.results_hash(driver.run_id)

        edited = {
            edit(monkeypatch, jobs, "KINDS", (*KINDS, Judge)),
            edit(monkeypatch, planner, "setting_jobs", setting_jobs_with_judge),
        }
        assert edited == {"harness.jobs.KINDS", "harness.planning.planner.setting_jobs"}

        # It is planned and estimated, also for the setting whose parameter is unresolved without a database.
        estimated = harness.plan_sweep(config, calibrate=True)
        [judging] = [work for work in estimated.work if work.detail == "judge"]
        assert (judging.jobs, judging.later, judging.units, judging.unit_name) == (2, 1, 12, "texts")
        assert judging.seconds is not None
        assert judging.seconds > 0
        assert (harness.plan_sweep(config, database).jobs, estimated.jobs) == (19, 19)

        # It runs, and belongs to its setting.
        driver = make_driver(store, config, LocalPool)
        assert driver.run().done == 2
        instances = [instance for instance in store.instances(driver.run_id) if instance.method]
        judges = [instance.job_ids(Judge.role) for instance in instances]
        assert [len(ids) for ids in judges] == [1, 1]
        status = gather(store, store.get_run("tiny"))
        assert (status.state, status.count("done")) == (RunState.DONE, 19)

        # Its result is stored, hashed and traced.
        assert store.results_hash(driver.run_id) != without
        (job_id,) = judges[0]
        writers = instances[0].job_ids(TextsJob.role)
        texts = [text for writer in writers for text in store.texts_by_prefix(writer).values()]
        assert _step(store.find_jobs([job_id])[job_id]).words == "judged the texts of 2 jobs"
        assert store.needs([job_id]) == set(writers)
    with harness.open_results(database) as results:
        letters = results.scores(score="letters")
    assert letters["method"].tolist() == ["eta", "ba-eta"]
    assert letters["job"].tolist() == [job for ids in judges for job in ids]
    assert letters["value"][0] == sum(map(len, texts)) / len(texts)
