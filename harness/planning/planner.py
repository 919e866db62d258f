"""The plan of a sweep: every job that can be named now, and what is still to be found out.

Some parameters follow from results, so a plan grows: it is made again whenever results have come in, and a
job that was named before is named again with the same id. A plan reads the store and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bat.errors import BatError, InvalidInputError
from harness.config.expansion import (
    BestOf,
    EqualRate,
    MethodInstance,
    Resolved,
    Setting,
    expand,
    measurements,
)
from harness.config.schema import Model, SweepConfig
from harness.jobs import Job
from harness.planning import specs
from harness.planning.finished import resolution_name
from harness.planning.instances import InstanceJobs, instance_jobs
from harness.planning.materials import Materials, ModelCard
from harness.planning.resolve import Candidates, Evidence
from harness.store import Reader, Resolution
from workers.corpora import Split


@dataclass(frozen=True)
class PlannedInstance:
    """A method instance whose parameter is known, and its jobs."""

    instance: MethodInstance
    setting: Setting
    jobs: InstanceJobs


@dataclass
class Plan:
    """Jobs in the order in which they should be done, by stage."""

    jobs: list[tuple[int, Job]] = field(default_factory=list)  # (stage, job)
    instances: list[PlannedInstance] = field(default_factory=list)
    unresolved: list[MethodInstance] = field(default_factory=list)
    # Ids of the jobs whose results decide a parameter of those, all together.
    deciding: set[frozenset[str]] = field(default_factory=set)
    # Why a parameter of those cannot be found out, by the name of its resolution.
    refused: dict[str, str] = field(default_factory=dict)
    resolutions: list[Resolution] = field(default_factory=list)
    prefix_sets: dict[tuple[str, Split], str] = field(default_factory=dict)  # (model, split) -> id

    @property
    def awaiting(self) -> list[MethodInstance]:
        """Those whose parameter results may still decide."""
        return [one for one in self.unresolved if resolution_name(one) not in self.refused]

    @property
    def complete(self) -> bool:
        """Whether every job of the sweep is named."""
        return not self.unresolved


def make_plan(
    config: SweepConfig,
    materials: Materials,
    reader: Reader | None = None,
    known: Sequence[Resolution] = (),
) -> Plan:
    """Name every job that can be named; without a store, only those whose parameters are written down.

    `known` are parameters that were found out before, and are not looked for again.
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
        self.models = {model.title: model for model in config.models}
        self.stage_order = {stage.name: place for place, stage in enumerate(config.stages)}
        self.found = Plan()
        self.named: set[str] = set()
        self.evidence: dict[str, Evidence] = {}
        self.measure_jobs: dict[str, list[Job]] = {}

    def plan(self) -> Plan:
        for wanted in measurements(self.config):
            card = self._card(wanted.model)
            for size in self.config.measurement.basis_sizes:
                _check_size(card, size, "measurement.basis_sizes")
            jobs = specs.measure_jobs(self.config, card, self.materials.human_text(card))
            self.measure_jobs[wanted.model] = jobs
            self._add(wanted.stage, jobs)
        for instance in expand(self.config):
            self._plan_instance(instance)
        return self.found

    def _plan_instance(self, instance: MethodInstance) -> None:
        setting = self._resolve(instance)
        if setting is None:
            self.found.unresolved.append(instance)
            self.found.deciding.add(self._deciding(instance))
            return
        if setting.constraints is not None:
            _check_size(self._card(instance.model), setting.constraints, f"constraints of {instance.method}")
        jobs = instance_jobs(self.materials, self._card(instance.model), instance, setting)
        self.found.prefix_sets[instance.model, instance.split] = jobs.prefix_set.human_fingerprint
        self._add(instance.stage, jobs.in_order)
        self.found.instances.append(PlannedInstance(instance, setting, jobs))

    def _resolve(self, instance: MethodInstance) -> Setting | None:
        setting = instance.setting
        if isinstance(setting.parameter, Resolved):
            return setting
        name = resolution_name(instance)
        before = self.resolved.get(name)
        if before is not None and before.asked == setting.as_dict():
            return setting.at(before.value)
        if self.reader is None:
            return None
        evidence = self.evidence.setdefault(
            instance.model, Evidence(self.reader, self.measure_jobs.get(instance.model, []))
        )
        try:
            found = evidence.resolve(name, setting, self._candidates(instance))
        except BatError as error:  # a rate that is out of the rule's reach, say; the others can go on
            self.found.refused[name] = str(error)
            return None
        if found is None:
            return None
        known, resolutions = found
        for resolution in resolutions:
            if resolution.parameter not in self.resolved:
                self.resolved[resolution.parameter] = resolution
                self.found.resolutions.append(resolution)
        return known

    def _deciding(self, instance: MethodInstance) -> frozenset[str]:
        jobs = list(self.measure_jobs.get(instance.model, [])) if instance.setting.needs_measurement else []
        candidates = self._candidates(instance)
        if candidates is not None:
            jobs += [job for _, scores in candidates.by_value for job in scores]
        return frozenset(job.id for job in jobs)

    def _candidates(self, instance: MethodInstance) -> Candidates | None:
        """The scores that decide a selection; stages come in order, so these were planned before."""
        selection = _selection(instance.setting)
        if selection is None:
            return None
        rule, best = selection
        by_value = []
        for value in best.candidates:
            jobs = tuple(
                planned.jobs.score
                for planned in self.found.instances
                if planned.instance.stage == best.stage
                and planned.instance.model == instance.model
                and planned.setting.rule == rule.rule
                and planned.setting.constraints == rule.constraints
                and planned.setting.parameter == Resolved(value)
            )
            if not jobs:
                return None
            by_value.append((value, jobs))
        return Candidates(tuple(by_value))

    def _add(self, stage: str, jobs: Sequence[Job]) -> None:
        order = self.stage_order[stage]
        for job in jobs:
            if job.id not in self.named:
                self.named.add(job.id)
                self.found.jobs.append((order, job))

    def _card(self, title: str) -> ModelCard:
        model: Model = self.models[title]
        return self.materials.card(model)


def _check_size(card: ModelCard, size: int, what: str) -> None:
    """Refuse now what every job would refuse later."""
    most = min(card.info.hidden_size, card.info.vocabulary_size)
    if size > most:
        raise InvalidInputError(
            f"{what} must be at most the rank of the model's output matrix, {most} for {card.info.name}; got "
            f"{size}. Use fewer, or leave this model out."
        )


def _selection(setting: Setting) -> tuple[Setting, BestOf] | None:
    """The setting, this one or the one it is to equal, whose parameter is a selection's winner."""
    match setting.parameter:
        case BestOf() as best:
            return setting, best
        case EqualRate(reference=reference):
            return _selection(reference)
    return None
