"""The amount of work in a sweep: its jobs by stage, in units that take about equally long.

Jobs that cannot be planned yet, because results will decide their parameter, are counted too: their number
and size are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.config.expansion import BestOf, MethodInstance, Setting
from harness.jobs import JobKind, JobSpec
from harness.planning.materials import Materials
from harness.planning.planner import Plan, human_jobs, setting_jobs
from workers.rejection import default_parameters


@dataclass(frozen=True, slots=True)
class Pace:
    """What jobs whose units take equally long have in common."""

    kind: JobKind
    model: str  # its title in the sweep; empty for work without a model
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """The jobs of a stage with the same pace."""

    stage: str
    kind: JobKind
    model: str
    detail: str
    jobs: int
    done: int
    later: int  # jobs among these whose parameter results will decide
    units: int  # of jobs that are not done, at most: texts can end early, and documents can be short
    unit_name: str
    programs: int  # linear programs in these units, estimated for basis-aware generation
    seconds: float | None  # on one worker; None without a calibration


StagedJobs = list[tuple[int, JobSpec[Any]]]  # with the position of their stage


def later_jobs(materials: Materials, plan: Plan) -> StagedJobs:
    """Jobs of the number and size that a plan will add once all parameters are resolved.

    There will be fewer if a parameter turns out to be one that is run anyway.
    """
    config = materials.config
    positions = {stage.name: position for position, stage in enumerate(config.stages)}
    planned_ids = {job.id for _, job in plan.jobs}
    seen: set[tuple[object, ...]] = set()
    later: StagedJobs = []
    for instance in plan.awaiting:
        # Instances that are the same in two stages are run once.
        same = (instance.model, instance.split, instance.setting, instance.seed)
        if same in seen:
            continue
        seen.add(same)
        card = materials.card(config.get_model(instance.model))
        human = human_jobs(materials, card, instance.split)
        own = setting_jobs(materials, card, human, instance, _stand_in(instance))
        new = [job for job in human.jobs if job.id not in planned_ids]
        planned_ids.update(job.id for job in new)
        # Instances that differ only in their parameter have the same jobs here, so these count repeatedly.
        later += [(positions[instance.stage], job) for job in (*own.jobs, *new)]
    return later


def _stand_in(instance: MethodInstance) -> Setting:
    """The setting with some valid parameter. Its jobs have the number and size of the real ones, but other
    ids."""
    setting = instance.setting
    match setting.parameter:
        case BestOf(candidates=(first, *_)) if first is not None:
            return setting.at(first)
    return setting.at(float(default_parameters(setting.rule)[0]))


def count_work(
    materials: Materials,
    plan: Plan,
    later: StagedJobs,
    done: set[str],
    rates: Mapping[Pace, float] | None = None,
) -> list[Work]:
    """Count the work of a sweep, its stages in order; `rates` are seconds per unit."""
    config = materials.config
    pace_of = Paces(materials)
    groups: dict[tuple[int, Pace], tuple[list[JobSpec[Any]], list[JobSpec[Any]]]] = {}
    for jobs, group in ((plan.jobs, 0), (later, 1)):
        for position, job in jobs:
            groups.setdefault((position, pace_of(job)), ([], []))[group].append(job)
    work = []
    kinds = list(JobKind)
    in_order = sorted(groups.items(), key=lambda entry: (entry[0][0], kinds.index(entry[0][1].kind)))
    for (position, pace), (planned, unplanned) in in_order:
        left = [job for job in planned if job.id not in done] + unplanned
        units = sum(job.units for job in left)
        rate = (rates or {}).get(pace)
        work.append(
            Work(
                stage=config.stages[position].name,
                kind=pace.kind,
                model=pace.model,
                detail=pace.detail,
                jobs=len(planned) + len(unplanned),
                done=len(planned) + len(unplanned) - len(left),
                later=len(unplanned),
                units=units,
                unit_name=(planned or unplanned)[0].unit_name,
                programs=round(sum(job.programs for job in left)),
                seconds=None if rate is None else rate * units,
            )
        )
    return work


class Paces:
    """Determines the pace of a job."""

    def __init__(self, materials: Materials) -> None:
        config = materials.config
        # The model of features can be one of the others, or have the name of one and another precision.
        self._titles = {materials.card(config.features).identity: config.features.model}
        for model in config.models:
            self._titles[materials.card(model).identity] = model.title

    def __call__(self, job: JobSpec[Any]) -> Pace:
        model = job.working_model
        title = "" if model is None else self._titles.get(model, model.label)
        return Pace(job.kind, title, job.pace)


def totals(work: Iterable[Work]) -> dict[str, float]:
    """Sums over all work, for JSON."""
    items = list(work)
    return {
        "jobs": sum(item.jobs for item in items),
        "done": sum(item.done for item in items),
        "later": sum(item.later for item in items),
        "programs": sum(item.programs for item in items),
        "seconds": sum(item.seconds or 0.0 for item in items),
        "uncalibrated": sum(item.seconds is None and item.jobs > item.done for item in items),
    }
