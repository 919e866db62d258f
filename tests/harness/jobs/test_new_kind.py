"""A kind of job that is new to the harness: its module and where it is planned make everything else do it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import harness
from harness.config.schema import SweepConfig
from harness.jobs import KINDS, Inputs, JobKind, JobSpec, ScoreGenerated, ScoreRows, TextsJob, Trial, register
from harness.planning import planner
from harness.planning.planner import SettingJobs, setting_jobs
from harness.report.tracing import trace_cell
from harness.scoring.scores import ScoreEntry
from harness.status.run_status import RunState
from harness.store import open_reader
from tests.harness.driver.sweeps import tiny_sweep
from workers.requests import Request, Worker

# The module of the new kind. There, the class would be decorated with `register`.


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


# The other place, as it would be edited.


def setting_jobs_with_judge(materials: Any, *arguments: Any) -> SettingJobs:
    own = setting_jobs(materials, *arguments)
    return replace(own, from_texts=(*own.from_texts, Judge.plan(materials.config, own.texts)))


def edit(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, value: object) -> None:
    """Replace a definition, also where it was imported from the module, as an edit of its file would."""
    before = getattr(module, name)
    for other in list(sys.modules.values()):
        if other.__name__.startswith("harness") and getattr(other, name, None) is before:
            monkeypatch.setattr(other, name, value)


@pytest.fixture
def with_judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """A function that makes the edits; they are undone afterwards."""

    def make_edits() -> None:
        register(Judge)
        edit(monkeypatch, planner, "setting_jobs", setting_jobs_with_judge)

    before = list(KINDS)
    yield make_edits
    KINDS[:] = before


@pytest.mark.parametrize("role", ["judgement", ScoreGenerated.role])  # a role is not taken by one kind
def test_a_new_kind_is_planned_run_and_reported(
    role: str,
    text_corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    without_ray: None,
    with_judge: Callable[[], None],
) -> None:
    config = tiny_sweep(text_corpus)
    database = tmp_path / "r.db"
    monkeypatch.setattr(Judge, "role", role)
    first = harness.run_sweep(config, database)
    assert first.done == 17
    with open_reader(database) as reader:
        without = reader.results_hash(first.run)
    with_judge()

    # It is planned and estimated, also for the setting whose parameter is unresolved without a database.
    estimated = harness.plan_sweep(config, calibrate=True)
    [judging] = [work for work in estimated.work if work.detail == "judge"]
    assert (judging.jobs, judging.later, judging.units, judging.unit_name) == (2, 1, 12, "texts")
    assert judging.seconds is not None
    assert judging.seconds > 0
    assert (harness.plan_sweep(config, database).jobs, estimated.jobs) == (19, 19)

    # A run that was finished before stays what it was, until it is planned again.
    again = harness.run_sweep(config, database)
    assert (again.done, again.complete, again.log) == (0, True, None)
    assert harness.run_sweep(config, database, replan=True).done == 2
    status = harness.get_status(database)
    assert (status.state, status.count("done")) == (RunState.DONE, 19)

    # Its results are stored, hashed, tabulated, averaged, compared and traced.
    with open_reader(database) as reader:
        assert reader.results_hash(first.run) != without
        judges = {job.id: job.parse() for job in reader.jobs(first.run) if isinstance(job.parse(), Judge)}
        texts = {
            judge: [text for job in spec.needs for text in reader.texts_by_prefix(job).values()]
            for judge, spec in judges.items()
        }
        traced = trace_cell(reader, reader.runs(), "all-scores", "eta", "letters")
    assert traced.steps[0].words == "judged the texts of 2 jobs"
    letters = {judge: sum(map(len, own)) / len(own) for judge, own in texts.items()}
    with harness.open_results(database) as results:
        scores = results.scores(score="letters")
        averages = results.estimates(score="letters")
        [difference] = results.compare("eta", "ba-eta", score="letters")["value"]
        assert "mauve" in set(results.estimates()["score"])
    assert scores["method"].tolist() == ["eta", "ba-eta"]
    assert dict(zip(scores["job"], scores["value"], strict=True)) == letters
    assert averages["value"].tolist() == scores["value"].tolist()
    assert difference == pytest.approx(scores["value"][0] - scores["value"][1])
    assert traced.value == scores["value"][0]
