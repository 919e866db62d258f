"""The plan of a sweep: every job that can be planned now, and the parameters that are unresolved.

Results decide some parameters, so a plan grows: it is made again when results have arrived, and jobs that
were planned before have the same ids. Planning reads the store and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bat.errors import BatError, InvalidInputError
from harness.config.expansion import (
    BestOf,
    EqualRate,
    MeasureInstance,
    MethodInstance,
    Resolved,
    Setting,
    expand,
    measurements,
)
from harness.config.schema import SweepConfig
from harness.jobs import JobSpec, MeasureHumanText, ScoreHuman
from harness.planning.instances import HumanJobs, SettingJobs, human_jobs, setting_jobs
from harness.planning.materials import Materials, ModelCard
from harness.planning.resolve import Candidates, Evidence
from harness.scoring.facts import Better
from harness.store import Instance, InstanceKind, InstanceState, Reader, Resolution
from workers.corpora import Split


@dataclass(frozen=True)
class PlannedSetting:
    """A method instance whose parameter is known, and its jobs."""

    instance: MethodInstance
    setting: Setting
    jobs: SettingJobs


@dataclass
class Plan:
    """Jobs by stage, in the order in which they should run, and what they are for."""

    jobs: list[tuple[int, JobSpec[Any]]] = field(default_factory=list)  # (position of the stage, job)
    instances: list[Instance] = field(default_factory=list)
    settings: list[PlannedSetting] = field(default_factory=list)
    unresolved: list[MethodInstance] = field(default_factory=list)
    # For each unresolved parameter, the ids of all jobs whose results decide it.
    deciding: set[frozenset[str]] = field(default_factory=set)
    # Why an unresolved parameter cannot be resolved, by the name of its resolution.
    unresolvable: dict[str, str] = field(default_factory=dict)
    resolutions: list[Resolution] = field(default_factory=list)
    prefix_sets: dict[tuple[str, Split], str] = field(default_factory=dict)  # (model, split) -> id

    @property
    def awaiting(self) -> list[MethodInstance]:
        """Instances whose parameter may still be resolved by results."""
        return [instance for instance in self.unresolved if instance.resolution_name not in self.unresolvable]

    @property
    def complete(self) -> bool:
        """Whether every job of the sweep is planned."""
        return not self.unresolved


def make_plan(
    config: SweepConfig,
    materials: Materials,
    reader: Reader | None = None,
    known: Sequence[Resolution] = (),
) -> Plan:
    """Plan every job that can be planned; without a store, only those whose parameters are given as numbers.

    `known` are parameters that were resolved before, and are not resolved again.
    """
    return _Planner(config, materials, reader, known).plan()


class _Planner:
    def __init__(
        self,
        config: SweepConfig,
        materials: Materials,
        reader: Reader | None,
        known: Sequence[Resolution],
    ) -> None:
        self.config, self.materials, self.reader = config, materials, reader
        self.resolved = {resolution.parameter: resolution for resolution in known}
        self.stage_position = {stage.name: position for position, stage in enumerate(config.stages)}
        self.result = Plan()
        self.job_ids: set[str] = set()
        self.evidence: dict[str, Evidence] = {}
        self.measure_jobs: dict[str, list[MeasureHumanText]] = {}
        self.human: dict[tuple[str, str], HumanJobs] = {}  # (stage, model)
        self.positions: dict[str, int] = {}  # of instances, by name

    def plan(self) -> Plan:
        for measured in measurements(self.config):
            self._plan_measurement(measured)
        for instance in expand(self.config):
            self._position(_human_name(instance))  # before its settings, and the same in every plan
            self._plan_setting(instance)
        self.result.instances.sort(key=lambda instance: instance.position)
        return self.result

    def _plan_measurement(self, measured: MeasureInstance) -> None:
        card = self._card(measured.model)
        for constraints in self.config.measurement.constraints:
            _check_constraints(card, constraints, "measurement.constraints")
        jobs = MeasureHumanText.plan(self.config, card.identity, self.materials.human_text(card))
        self.measure_jobs[measured.model] = jobs
        self._add_jobs(measured.stage, jobs)
        name = f"{measured.stage}: human text on {measured.model}"
        self._add_instance(InstanceKind.MEASURE, measured, name, jobs)

    def _plan_setting(self, instance: MethodInstance) -> None:
        setting = self._resolve(instance)
        if setting is None:
            self.result.unresolved.append(instance)
            self.result.deciding.add(self._deciding(instance))
            self._add_setting(instance, None)
            return
        card = self._card(instance.model)
        if setting.constraints is not None:
            _check_constraints(card, setting.constraints, f"constraints of {instance.method}")
        key = (instance.stage, instance.model)
        is_first = key not in self.human
        if is_first:
            self.human[key] = human_jobs(self.materials, card, instance.split)
        human = self.human[key]
        own = setting_jobs(self.materials, card, human, instance, setting)
        in_order: list[JobSpec[Any]] = [
            *own.generate,
            *human.features,
            *human.prefix_features,
            *own.featurize,
            own.score,
            *human.scores,
        ]
        self._add_jobs(instance.stage, in_order)
        prefix_set = human.prefix_set.human_fingerprint
        if is_first:
            self.result.prefix_sets[instance.model, instance.split] = prefix_set
            self._add_instance(
                InstanceKind.HUMAN, instance, _human_name(instance), human.jobs, prefix_set=prefix_set
            )
        planned = PlannedSetting(instance, setting, own)
        self.result.settings.append(planned)
        self._add_setting(instance, planned, prefix_set=prefix_set)

    def _add_setting(
        self, instance: MethodInstance, planned: PlannedSetting | None, prefix_set: str | None = None
    ) -> None:
        problem = None if planned is not None else self.result.unresolvable.get(instance.resolution_name)
        state = InstanceState.KNOWN
        if planned is None:
            state = InstanceState.OPEN if problem is None else InstanceState.UNRESOLVABLE
        literal = isinstance(instance.setting.parameter, Resolved)
        self._add_instance(
            InstanceKind.GENERATE,
            instance,
            instance.name,
            () if planned is None else planned.jobs.jobs,
            method=instance.method,
            seed=instance.seed,
            asked=instance.setting.as_dict(),
            rule=instance.setting.rule,
            parameter=None if planned is None else planned.setting.known_parameter,
            constraints=instance.setting.constraints,
            state=state,
            problem=problem,
            resolution=None if literal else instance.resolution_name,
            prefix_set=prefix_set,
        )

    def _resolve(self, instance: MethodInstance) -> Setting | None:
        setting = instance.setting
        if isinstance(setting.parameter, Resolved):
            return setting
        name = instance.resolution_name
        before = self.resolved.get(name)
        if before is not None and before.asked == setting.as_dict():
            return setting.at(before.value)
        if self.reader is None:
            return None
        evidence = self.evidence.setdefault(
            instance.model, Evidence(self.reader, self.measure_jobs.get(instance.model, []))
        )
        try:
            answer = evidence.resolve(name, setting, self._candidates(instance))
        except BatError as error:  # such as a rate that the rule cannot reach; other settings can be run
            self.result.unresolvable[name] = str(error)
            return None
        if answer is None:
            return None
        resolved, resolutions = answer
        for resolution in resolutions:
            if resolution.parameter not in self.resolved:
                self.resolved[resolution.parameter] = resolution
                self.result.resolutions.append(resolution)
        return resolved

    def _deciding(self, instance: MethodInstance) -> frozenset[str]:
        ids: set[str] = set()
        if instance.setting.needs_measurement:
            ids |= {job.id for job in self.measure_jobs.get(instance.model, [])}
        candidates = self._candidates(instance)
        if candidates is not None:
            ids |= set(candidates.ids)
        return frozenset(ids)

    def _candidates(self, instance: MethodInstance) -> Candidates | None:
        """The scores that decide a selection. Stages are planned in order, so these are planned already."""
        selection = _selection(instance.setting)
        if selection is None:
            return None
        selected, best = selection
        by_value = []
        for value in best.candidates:
            jobs = tuple(
                planned.jobs.score
                for planned in self.result.settings
                if planned.instance.stage == best.stage
                and planned.instance.model == instance.model
                and planned.setting.rule == selected.rule
                and planned.setting.constraints == selected.constraints
                and planned.setting.parameter == Resolved(value)
            )
            if not jobs:
                return None
            by_value.append((value, jobs))
        if best.better is not Better.HUMAN:
            return Candidates(tuple(by_value))
        scores = self.human[best.stage, instance.model].scores
        human = next((job for job in scores if isinstance(job, ScoreHuman)), None)
        return None if human is None else Candidates(tuple(by_value), human)

    def _add_jobs(self, stage: str, jobs: Sequence[JobSpec[Any]]) -> None:
        for job in jobs:
            if job.id not in self.job_ids:
                self.job_ids.add(job.id)
                self.result.jobs.append((self.stage_position[stage], job))

    def _add_instance(
        self,
        kind: InstanceKind,
        source: MethodInstance | MeasureInstance,
        name: str,
        jobs: Sequence[JobSpec[Any]],
        **values: Any,
    ) -> None:
        self.result.instances.append(
            Instance(
                name=name,
                position=self._position(name),
                kind=kind,
                stage=source.stage,
                stage_position=self.stage_position[source.stage],
                split=source.split,
                model=source.model,
                jobs=tuple((job.role, job.id) for job in jobs),
                **values,
            )
        )

    def _position(self, name: str) -> int:
        """The position of an instance in the sweep, assigned when it is first requested."""
        return self.positions.setdefault(name, len(self.positions))

    def _card(self, title: str) -> ModelCard:
        return self.materials.card(self.config.get_model(title))


def _human_name(instance: MethodInstance) -> str:
    return f"{instance.stage}: human continuations for {instance.model}"


def _check_constraints(card: ModelCard, constraints: int, key: str) -> None:
    """Raise now what every job would raise later."""
    rank = min(card.info.hidden_size, card.info.vocabulary_size)
    if constraints > rank:
        raise InvalidInputError(
            f"{key} must be at most the rank of the model's output matrix, {rank} for {card.info.name}; got "
            f"{constraints}. Use fewer, or leave this model out."
        )


def _selection(setting: Setting) -> tuple[Setting, BestOf] | None:
    """The setting, this one or the one it must equal, whose parameter is the best of a selection."""
    match setting.parameter:
        case BestOf() as best:
            return setting, best
        case EqualRate(reference=reference):
            return _selection(reference)
    return None
