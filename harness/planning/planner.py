"""The plan of a sweep: every job that can be planned now, and the parameters that are unresolved.

Results decide some parameters, so a plan grows: it is made again when results have arrived, and jobs that
were planned before have the same ids. Making a plan reads the store and writes nothing; `enqueue` stores it.

    enqueue -> make_plan -> human_jobs, setting_jobs    which ask each kind in harness.jobs for its jobs
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bat.errors import InvalidInputError
from harness.config.expansion import (
    MeasureInstance,
    MethodInstance,
    Resolved,
    Setting,
    expand,
    measurements,
)
from harness.config.schema import SweepConfig
from harness.jobs import (
    FeaturizeGenerated,
    FeaturizeHuman,
    Generate,
    HumanLikelihood,
    ImportTexts,
    JobSpec,
    MeasureHumanText,
    ScoreGenerated,
    ScoreHuman,
    TextsJob,
)
from harness.planning.materials import Materials, ModelCard
from harness.planning.resolve import Resolver, find_candidates
from harness.store import Instance, InstanceKind, InstanceState, Reader, Resolution, Store
from workers.corpora import Split
from workers.prefixes import PrefixSet

AnyJob = JobSpec[Any]


@dataclass(frozen=True)
class HumanJobs:
    """Jobs about the human text of a stage, which all settings of a model share."""

    prefix_set: PrefixSet
    features: tuple[FeaturizeHuman, ...]
    scores: tuple[AnyJob, ...]  # to compare the scores of generated texts with

    @property
    def jobs(self) -> tuple[AnyJob, ...]:
        """All jobs, in the order in which they should run."""
        return (*self.features, *self.scores)


@dataclass(frozen=True)
class SettingJobs:
    """The jobs of a setting with a seed."""

    texts: tuple[TextsJob, ...]
    from_texts: tuple[AnyJob, ...]  # what is computed from the texts, in the order in which it should run
    score: ScoreGenerated  # the one among these that decides between candidates

    @property
    def jobs(self) -> tuple[AnyJob, ...]:
        """All jobs, in the order in which they should run."""
        return (*self.texts, *self.from_texts)


@dataclass(frozen=True)
class PlannedSetting:
    """A method instance whose parameter is known, and its jobs."""

    instance: MethodInstance
    setting: Setting
    jobs: SettingJobs


@dataclass
class Plan:
    """Jobs by stage, in the order in which they should run, and what they are for."""

    jobs: list[tuple[int, AnyJob]] = field(default_factory=list)  # (position of the stage, job)
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


def enqueue(store: Store, run_id: int, materials: Materials) -> Plan:
    """Plan a sweep, and store what is new in the plan."""
    plan = make_plan(materials.config, materials, store, store.resolutions(run_id))
    _check_versions(store.instances(run_id), plan.instances)
    add_prefixes(store, materials, plan)
    jobs = (job.job for _, job in plan.jobs)
    stages = [position for position, _ in plan.jobs]
    store.add_plan(run_id, jobs, stages, plan.instances, plan.resolutions)
    return plan


def add_prefixes(store: Store, materials: Materials, plan: Plan) -> None:
    """Store the sets of prefixes of a plan's jobs that are not stored yet."""
    for (title, split), prefix_set_id in plan.prefix_sets.items():
        if not store.has_prefix_set(prefix_set_id):
            card = materials.card(materials.config.get_model(title))
            store.add_prefix_set(materials.prefix_rows(card, split))


def _check_versions(stored: Iterable[Instance], planned: Iterable[Instance]) -> None:
    """Raise if something that a sweep does not state has changed since it was planned first.

    That is a model or dataset of the hub without a revision, a package, or how this version does a kind of
    job. Kinds of jobs that are new are welcome. Local files are part of what
    identifies a run.
    """
    before = {instance.name: instance for instance in stored}
    for instance in planned:
        earlier = before.get(instance.name)
        if earlier is None:
            continue
        for role in dict.fromkeys(role for role, _ in instance.jobs):
            ids = earlier.job_ids(role)
            if ids and not set(ids) & set(instance.job_ids(role)):
                raise InvalidInputError(
                    "a run must have one version of its models, text, plug-ins and of bat-harness; the jobs "
                    f"for the {role} of {instance.name!r} are not those that were planned first, so one of "
                    "them has changed. Pin the revision that was used, or run the new version under another "
                    "name, with --set name=NAME."
                )


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
        self.config, self.materials = config, materials
        self.stage_position = {stage.name: position for position, stage in enumerate(config.stages)}
        self.result = Plan()
        self.job_ids: set[str] = set()
        self.measure_jobs: dict[str, list[MeasureHumanText]] = {}  # by model
        self.resolver = Resolver(reader, known, self.measure_jobs)
        self.human: dict[tuple[str, str], HumanJobs] = {}  # (stage, model)
        self.positions: dict[str, int] = {}  # of instances, by name

    def plan(self) -> Plan:
        for measured in measurements(self.config):
            self._plan_measurement(measured)
        for instance in expand(self.config):
            self._position(human_name(instance))  # before its settings, and the same in every plan
            self._plan_setting(instance)
        self.result.instances.sort(key=lambda instance: instance.position)
        self.result.resolutions = self.resolver.new
        self.result.unresolvable = self.resolver.unresolvable
        return self.result

    def _plan_measurement(self, measured: MeasureInstance) -> None:
        card = self._card(measured.model)
        for constraints in self.config.measurement.constraints:
            _check_constraints(card, constraints, "measurement.constraints")
        jobs = MeasureHumanText.plan(self.config, card.identity, self.materials.human_text(card))
        self.measure_jobs[measured.model] = jobs
        self._add_jobs(measured.stage, jobs)
        self._add_instance(InstanceKind.MEASURE, measured, measurement_name(measured), jobs)

    def _plan_setting(self, instance: MethodInstance) -> None:
        setting = self.resolver.resolve(instance, self.result.settings)
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
        in_order: list[AnyJob] = [*own.texts, *human.features, *own.from_texts, *human.scores]
        self._add_jobs(instance.stage, in_order)
        prefix_set = human.prefix_set.human_fingerprint
        if is_first:
            self.result.prefix_sets[instance.model, instance.split] = prefix_set
            self._add_instance(
                InstanceKind.HUMAN, instance, human_name(instance), human.jobs, prefix_set=prefix_set
            )
        planned = PlannedSetting(instance, setting, own)
        self.result.settings.append(planned)
        self._add_setting(instance, planned, prefix_set=prefix_set)

    def _add_setting(
        self, instance: MethodInstance, planned: PlannedSetting | None, prefix_set: str | None = None
    ) -> None:
        problem = None if planned is not None else self.resolver.unresolvable.get(instance.resolution_name)
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
            temperature=instance.setting.temperature_columns[0],
            temperature_order=instance.setting.temperature_columns[1],
            state=state,
            problem=problem,
            resolution=None if literal else instance.resolution_name,
            prefix_set=prefix_set,
        )

    def _deciding(self, instance: MethodInstance) -> frozenset[str]:
        ids: set[str] = set()
        if instance.setting.needs_measurement:
            ids |= {job.id for job in self.measure_jobs.get(instance.model, [])}
        candidates = find_candidates(instance, self.result.settings)
        if candidates is not None:
            ids |= {job.id for _, scores in candidates.by_value for job in scores}
        return frozenset(ids)

    def _add_jobs(self, stage: str, jobs: Sequence[AnyJob]) -> None:
        for job in jobs:
            if job.id not in self.job_ids:
                self.job_ids.add(job.id)
                self.result.jobs.append((self.stage_position[stage], job))

    def _add_instance(
        self,
        kind: InstanceKind,
        source: MethodInstance | MeasureInstance,
        name: str,
        jobs: Sequence[AnyJob],
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


def measurement_name(measured: MeasureInstance) -> str:
    """The name of the instance of human text that a model measures."""
    return f"{measured.stage}: human text on {measured.model}"


def human_name(instance: MethodInstance) -> str:
    """The name of the instance of human continuations that a setting is compared with."""
    return f"{instance.stage}: human continuations for {instance.model}"


def _check_constraints(card: ModelCard, constraints: int, key: str) -> None:
    """Raise now what every job would raise later."""
    rank = min(card.info.hidden_size, card.info.vocabulary_size)
    if constraints > rank:
        raise InvalidInputError(
            f"{key} must be at most the rank of the model's output matrix, {rank} for {card.info.name}; got "
            f"{constraints}. Use fewer, or leave this model out."
        )


def human_jobs(materials: Materials, card: ModelCard, split: Split) -> HumanJobs:
    """Plan the jobs about the human continuations of the prefixes of one half."""
    config = materials.config
    prefix_set = materials.prefix_set(card, split)
    reader = materials.card(config.features).identity
    statistics = set(config.scoring.statistics) - {"sampling"}  # people do not sample
    scores: list[AnyJob] = []
    if statistics:
        likelihood = (
            HumanLikelihood.plan(config, card.identity, prefix_set) if "perplexity" in statistics else []
        )
        scores = [*likelihood, ScoreHuman.plan(config, card.identity, prefix_set, likelihood)]
    return HumanJobs(prefix_set, tuple(FeaturizeHuman.plan(config, reader, prefix_set)), tuple(scores))


def setting_jobs(
    materials: Materials, card: ModelCard, human: HumanJobs, instance: MethodInstance, setting: Setting
) -> SettingJobs:
    """Plan the jobs of an instance; `setting` is its setting with a known parameter.

    A kind of job that adds to the results of every setting is planned here, and goes into `from_texts`.
    """
    config = materials.config
    reader = materials.card(config.features).identity
    texts: Sequence[TextsJob]
    if instance.seed is None:
        file = materials.imported_file(card, instance.split, config.get_import(instance.method))
        texts = ImportTexts.plan(config, card.identity, human.prefix_set, file)
    else:
        texts = Generate.plan(config, card.identity, human.prefix_set, setting, instance.seed)
    featurize = FeaturizeGenerated.plan(config, reader, texts)
    score = ScoreGenerated.plan(config, human.features, texts, featurize)
    return SettingJobs(tuple(texts), (*featurize, score), score)
