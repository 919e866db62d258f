"""Kinds of jobs: their ids stay what they were, and each answers everything that is asked of it."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Annotated, Any

import pytest

from bat.errors import InvalidInputError
from bat.solvers import decision_version
from harness.config import load_config
from harness.jobs import (
    KINDS,
    Generate,
    ImportTexts,
    JobKind,
    JobSpec,
    ScoreRows,
    canonical_json,
    parse_job,
    register,
)
from harness.jobs.base import StoredAs, from_json, to_json
from harness.jobs.score_generated import GeneratedTexts
from harness.planning.materials import Materials
from harness.planning.planner import make_plan
from tests.harness.jobs import specs

# Jobs of the smoke and demo sweeps, and of an import, as databases out there have them.
PINNED = json.loads(Path(__file__).with_name("pinned_jobs.json").read_text(encoding="utf-8"))
CONFIGS = Path(__file__).parents[3] / "configs"


@pytest.mark.parametrize("pinned", PINNED, ids=lambda job: f"{job['sweep']}-{job['type']}-{job['id'][:6]}")
def test_ids_of_stored_jobs_are_kept(pinned: dict[str, Any]) -> None:
    spec = parse_job(JobKind(pinned["kind"]), pinned["spec"])
    assert type(spec).__name__ == pinned["type"]
    assert spec.id == pinned["id"]
    assert canonical_json(spec.job.spec) == canonical_json(pinned["spec"])


def test_every_kind_is_pinned() -> None:
    assert {job["type"] for job in PINNED} == {kind.__name__ for kind in KINDS}


def test_a_plan_of_today_names_the_pinned_jobs() -> None:
    config = load_config(CONFIGS / "smoke.yaml").config
    planned = {job.id for _, job in make_plan(config, Materials(config)).jobs}
    pinned = {job["id"]: job["type"] for job in PINNED if job["sweep"] == "smoke"}
    there = {pinned[job_id] for job_id in planned & pinned.keys()}
    # What a basis-aware rule does waits for results, and so do the scores that come last.
    assert {"MeasureHumanText", "HumanLikelihood", "Generate", "FeaturizeHuman"} <= there
    assert len(planned & pinned.keys()) >= 6


def test_only_basis_aware_texts_depend_on_how_the_solver_decides() -> None:
    methods = "methods=[{rule: eta, parameter: 0.1}, {rule: ba-eta, parameter: 0.2, constraints: 4}]"
    config = load_config(CONFIGS / "smoke.yaml", [methods, "stages=[{name: compare, split: test}]"]).config
    jobs = [job for _, job in make_plan(config, Materials(config)).jobs if isinstance(job, Generate)]
    versions = {job.rule: job.job.spec.get("solver_version") for job in jobs}
    assert versions == {"eta": None, "ba-eta": decision_version("certified")}
    aware = next(job for job in jobs if job.rule == "ba-eta")
    assert aware.id != dataclasses.replace(aware, solver_version=None).id  # as older databases have it


@pytest.mark.parametrize("spec", specs.one_of_each(), ids=lambda spec: type(spec).__name__)
class TestEveryKind:
    def test_comes_back_from_json_and_pickle(self, spec: JobSpec[Any]) -> None:
        stored = json.loads(canonical_json(spec.job.spec))
        assert parse_job(spec.kind, stored) == spec
        assert pickle.loads(pickle.dumps(spec)) == spec

    def test_has_the_fields_of_its_json(self, spec: JobSpec[Any]) -> None:
        renamed = {"constraints": "basis_sizes"}  # a field keeps the key that ids were made of
        fields = {field.name for field in dataclasses.fields(spec)}  # type: ignore[arg-type]
        assert spec.job.spec.keys() <= fields | {renamed[name] for name in fields & renamed.keys()}

    def test_answers_what_planner_driver_and_report_ask(self, spec: JobSpec[Any]) -> None:
        assert spec.role
        assert spec.units > 0
        assert spec.unit_name
        assert spec.programs >= 0
        assert len(spec.describe()) > 10
        assert all(len(job_id) == 64 for job_id in spec.needs)
        model = spec.model_identity
        assert spec.labels.model == (None if model is None else model.label)
        assert (model is None) == (not spec.model_task)
        assert spec.job.needs == spec.needs

    def test_a_field_changed_is_another_job(self, spec: JobSpec[Any]) -> None:
        for field in dataclasses.fields(spec):  # type: ignore[arg-type]
            value = getattr(spec, field.name)
            changed = dataclasses.replace(spec, **{field.name: _another(value)})  # type: ignore[type-var]
            assert changed.id != spec.id, field.name


def _another(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
        case tuple():
            return (*value, *value[:1])
        case None:
            return 7
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        name = dataclasses.fields(value)[0].name
        return dataclasses.replace(value, **{name: _another(getattr(value, name))})
    return {**value, "another": 1}


def test_kinds_are_told_apart() -> None:
    made = specs.one_of_each()
    assert {type(spec) for spec in made} == set(KINDS)
    assert len({spec.role for spec in made}) == len(KINDS) - 1  # generated and imported texts have one


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        # Its JSON would have the marker of another kind, or that of the other its own.
        ({"marker": ("judge",)}, "Judge must be told apart from that of ScoreGenerated"),
        ({"marker": ("texts",)}, "Judge must be told apart from that of ScoreGenerated"),
        ({"marker": ("texts", "generated")}, "Judge must be told apart from that of ScoreGenerated"),
        ({"kind": JobKind.GENERATE}, "Judge must be told apart from that of Generate"),
        ({"marker": ("statistics",)}, "Judge must have its marker, statistics, among its fields"),
        ({"kind": JobKind.GENERATE, "marker": ("judge",)}, "are GenerationRows; Judge has ScoreRows"),
    ],
)
def test_a_kind_that_could_be_taken_for_another_is_refused(changes: dict[str, Any], problem: str) -> None:
    values = {"kind": JobKind.SCORE, "rows_type": ScoreRows, **changes}
    fields: list[tuple[str, Any]] = [("judge", int), ("texts", GeneratedTexts)]
    judge = dataclasses.make_dataclass("Judge", fields, bases=(JobSpec,), namespace=values, frozen=True)
    before = list(KINDS)
    with pytest.raises(TypeError, match=problem):
        register(judge)
    assert before == KINDS


def test_a_kind_without_a_marker_is_what_has_none() -> None:
    """Whatever the order in which kinds are registered."""
    imported, generated = specs.import_texts(), specs.generate()
    assert KINDS.index(Generate) < KINDS.index(ImportTexts)
    assert parse_job(JobKind.GENERATE, imported.job.spec) == imported
    assert parse_job(JobKind.GENERATE, generated.job.spec) == generated


def test_a_job_of_another_version_is_one_sentence() -> None:
    with pytest.raises(InvalidInputError, match="of no kind that this version knows"):
        parse_job(JobKind.SCORE, {"judges": 3})
    with pytest.raises(InvalidInputError, match="Generate has no field 'patience'"):
        parse_job(JobKind.GENERATE, {**specs.generate().job.spec, "patience": 0.7})
    with pytest.raises(InvalidInputError, match=r"a stored Generate is not complete: .*'seed'"):
        parse_job(
            JobKind.GENERATE,
            {key: value for key, value in specs.generate().job.spec.items() if key != "seed"},
        )


@dataclasses.dataclass(frozen=True)
class Inner:
    names: tuple[str, ...]
    revision: str | None


@dataclasses.dataclass(frozen=True)
class Outer:
    inner: Inner
    count: Annotated[int, StoredAs("number")]
    later: int | None = None


def test_json_leaves_out_defaults_of_none_and_keeps_the_keys_of_renamed_fields() -> None:
    record = Outer(Inner(("a", "b"), None), 3)
    written = {"inner": {"names": ["a", "b"], "revision": None}, "number": 3}
    assert to_json(record) == written
    assert from_json(Outer, written) == record
    assert to_json(dataclasses.replace(record, later=2))["later"] == 2
    with pytest.raises(InvalidInputError, match="no field 'count'"):
        from_json(Outer, {**written, "count": 3})
