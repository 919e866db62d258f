"""Instances of runs from databases that did not store them yet, reconstructed from jobs.

The configuration of a run gives its settings, and score jobs give the jobs of each setting. A score job
belongs to the setting with the same model, rule, parameter, constraints, prefixes and seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bat.errors import BatError
from harness.config import Resolved, Setting, SweepConfig, expand, from_identity, measurements
from harness.config.expansion import MeasureInstance, MethodInstance
from harness.config.schema import Model
from harness.jobs import (
    FeaturizeHuman,
    Generate,
    HumanLikelihood,
    JobSpec,
    MeasureHumanText,
    ModelIdentity,
    ScoreGenerated,
    ScoreHuman,
)
from harness.planning.planner import human_name, measurement_name
from harness.store import Instance, InstanceKind, InstanceState, Run, Store


def fill_in_instances(store: Store) -> list[str]:
    """Store the instances of every run that has none; return a sentence for each run where that failed."""
    problems = []
    for run in store.runs():
        if store.instances(run.id, with_jobs=False):
            continue
        try:
            store.replace_instances(run.id, _OlderRun(store, run).instances())
        except BatError as error:
            problems.append(
                f"Run {run.name!r} ({run.id}): the purpose of its jobs could not be determined ({error}). "
                "Run its sweep again: finished jobs are kept."
            )
    return problems


class _OlderRun:
    def __init__(self, store: Store, run: Run) -> None:
        self.config: SweepConfig = from_identity(run.config)
        self.specs: dict[str, JobSpec[Any]] = {job.id: job.parse() for job in store.jobs(run.id)}
        self.resolutions = {resolution.parameter: resolution for resolution in store.resolutions(run.id)}
        self.stage_position = {stage.name: position for position, stage in enumerate(self.config.stages)}
        self.splits = {
            prefix_set: store.prefix_set(prefix_set).split
            for prefix_set in {spec.prefix_set for spec in self.specs.values()}
            if prefix_set is not None
        }
        self.scores = {self._key(spec): spec for spec in self._of(ScoreGenerated)}

    def _of(self, kind: type[Any]) -> Iterator[Any]:
        return (spec for spec in self.specs.values() if isinstance(spec, kind))

    def _writer(self, score: ScoreGenerated) -> Generate:
        """The first generate job of a score job; the others differ only in their shard."""
        writer = self.specs[score.texts.generated[0]]
        assert isinstance(writer, Generate)
        return writer

    def _key(self, score: ScoreGenerated) -> tuple[object, ...]:
        spec = self._writer(score)
        model_and_text = (spec.model.shown, spec.model.dtype, self.splits[spec.prefixes.set], spec.seed)
        return (*model_and_text, spec.rule, spec.parameter, spec.constraints)

    def instances(self) -> list[Instance]:
        """The instances of the run, as a new plan would have them."""
        if not self.specs:
            return []
        instances: list[Instance] = []
        for measured in measurements(self.config):
            jobs = [spec for spec in self._of(MeasureHumanText) if self._is(measured.model, spec.model)]
            name = measurement_name(measured)
            instances.append(self._instance(InstanceKind.MEASURE, measured, name, len(instances), jobs))
        # The human text of a stage and model comes before its settings, once one of them has jobs.
        position = len(instances)
        human_positions: dict[str, int] = {}
        for instance in expand(self.config):
            name = human_name(instance)
            if name not in human_positions:
                human_positions[name] = position
                position += 1
            human, setting = self._setting(instance, position)
            position += 1
            if human and name not in {other.name for other in instances}:
                first = human_positions[name]
                values = {"prefix_set": setting.prefix_set}
                instances.append(self._instance(InstanceKind.HUMAN, instance, name, first, human, **values))
            instances.append(setting)
        return sorted(instances, key=lambda instance: instance.position)

    def _setting(self, instance: MethodInstance, position: int) -> tuple[list[JobSpec[Any]], Instance]:
        """The jobs about the human text of a setting, and the instance of the setting with a seed."""
        literal = isinstance(instance.setting.parameter, Resolved)
        setting = self._resolve(instance)
        score = None if setting is None else self._find_score(instance, setting)
        prefix_set = None if score is None else self._writer(score).prefixes.set
        human: list[JobSpec[Any]] = []
        jobs: list[JobSpec[Any]] = []
        if score is not None and prefix_set is not None:
            jobs = [self.specs[job_id] for job_id in (*score.texts.generated, *score.generated)] + [score]
            human = self._human(score, self._writer(score).model, prefix_set)
        parameter = setting.parameter if setting is not None else None
        return human, self._instance(
            InstanceKind.GENERATE,
            instance,
            instance.name,
            position,
            jobs,
            method=instance.method,
            seed=instance.seed,
            asked=instance.setting.as_dict(),
            rule=instance.setting.rule,
            parameter=parameter.value if isinstance(parameter, Resolved) else None,
            constraints=instance.setting.constraints,
            state=InstanceState.OPEN if setting is None else InstanceState.KNOWN,
            resolution=None if literal else instance.resolution_name,
            prefix_set=prefix_set,
        )

    def _resolve(self, instance: MethodInstance) -> Setting | None:
        if isinstance(instance.setting.parameter, Resolved):
            return instance.setting
        resolution = self.resolutions.get(instance.resolution_name)
        return None if resolution is None else instance.setting.at(resolution.value)

    def _find_score(self, instance: MethodInstance, setting: Setting) -> ScoreGenerated | None:
        assert isinstance(setting.parameter, Resolved)
        model = self.config.get_model(instance.model)
        model_and_text = (_full_name(model), model.dtype, instance.split, instance.seed)
        return self.scores.get((*model_and_text, setting.rule, setting.parameter.value, setting.constraints))

    def _human(self, score: ScoreGenerated, model: ModelIdentity, prefix_set: str) -> list[JobSpec[Any]]:
        features = [self.specs[job_id] for job_id in score.human]
        assert all(isinstance(job, FeaturizeHuman) for job in features)
        scores = [
            spec
            for kind in (HumanLikelihood, ScoreHuman)
            for spec in self._of(kind)
            if spec.model == model and spec.prefix_set == prefix_set
        ]
        return [*features, *scores]

    def _is(self, title: str, identity: ModelIdentity) -> bool:
        model = self.config.get_model(title)
        return (_full_name(model), model.dtype) == (identity.shown, identity.dtype)

    def _instance(
        self,
        kind: InstanceKind,
        source: MethodInstance | MeasureInstance,
        name: str,
        position: int,
        jobs: list[JobSpec[Any]],
        **values: Any,
    ) -> Instance:
        return Instance(
            name=name,
            position=position,
            kind=kind,
            stage=source.stage,
            stage_position=self.stage_position[source.stage],
            split=source.split,
            model=source.model,
            jobs=tuple((job.role, job.id) for job in jobs),
            **values,
        )


def _full_name(model: Model) -> str:
    """The name of a model in the specifications of jobs."""
    if not model.name.startswith("fake:"):
        return model.name
    from workers.models import full_name

    return full_name(model.name)
