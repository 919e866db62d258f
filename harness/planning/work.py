"""How much work a sweep is: its jobs counted by stage, in units that take about equally long.

Jobs that cannot be named yet, because results will decide their parameter, are counted like the others: how
many there will be, and how large, is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.jobs import Job, JobKind, canonical_json
from harness.planning.instances import instance_jobs, stand_in
from harness.planning.materials import Materials
from harness.planning.planner import Plan

# What sampling needs on average, by the demo model at parameters that reject as much as the paper's choices.
PROGRAMS_PER_TOKEN = 0.25
UNIT_NAMES = {
    JobKind.MEASURE: "human tokens",
    JobKind.GENERATE: "tokens",
    JobKind.FEATURIZE: "texts",
    JobKind.SCORE: "scores",
}
CONTINUATIONS = "continuations"


@dataclass(frozen=True, slots=True)
class Pace:
    """What jobs have in common whose units take equally long."""

    kind: JobKind
    model: str  # its title in the sweep; none for scores, which are computed without one
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Work:
    """The jobs of one stage that go at one pace."""

    stage: str
    kind: JobKind
    model: str
    detail: str
    jobs: int
    done: int
    later: int  # of the jobs, those whose parameter results will decide
    units: int  # of jobs that are not done, at most: texts may end early, documents have less to ask about
    programs: int  # linear programs in these, estimated for basis-aware generation
    seconds: float | None  # on one worker; None without a calibration


StagedJobs = list[tuple[int, Job]]  # with the place of their stage


def later_jobs(materials: Materials, plan: Plan) -> StagedJobs:
    """Jobs like those that a plan will have once all parameters are known: as many and as large.

    Where a parameter turns out to be one that is run anyway, there will be fewer.
    """
    config = materials.config
    places = {stage.name: place for place, stage in enumerate(config.stages)}
    known = {job.id for _, job in plan.jobs}
    seen: set[tuple[object, ...]] = set()
    found: StagedJobs = []
    for instance in plan.awaiting:
        # What is asked for twice, in two stages say, is run once.
        same = (instance.model, instance.split, instance.setting, instance.seed)
        if same in seen:
            continue
        seen.add(same)
        card = materials.card(config.get_model(instance.model))
        jobs = instance_jobs(materials, card, instance, stand_in(instance.setting))
        new = [job for job in jobs.shared if job.id not in known]
        known.update(job.id for job in new)
        # Instances that differ in their parameter alone have the same jobs here, which count each time.
        found += [(places[instance.stage], job) for job in (*jobs.own, *new)]
    return found


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
    groups: dict[tuple[int, Pace], tuple[list[Job], list[Job]]] = {}
    for jobs, group in ((plan.jobs, 0), (later, 1)):
        for place, job in jobs:
            groups.setdefault((place, pace_of(job)), ([], []))[group].append(job)
    work = []
    kinds = list(JobKind)
    in_order = sorted(groups.items(), key=lambda entry: (entry[0][0], kinds.index(entry[0][1].kind)))
    for (place, pace), (named, following) in in_order:
        left = [job for job in named if job.id not in done] + following
        units = sum(map(count_units, left))
        rate = (rates or {}).get(pace)
        work.append(
            Work(
                stage=config.stages[place].name,
                kind=pace.kind,
                model=pace.model,
                detail=pace.detail,
                jobs=len(named) + len(following),
                done=len(named) + len(following) - len(left),
                later=len(following),
                units=units,
                programs=round(sum(map(_count_programs, left))),
                seconds=None if rate is None else rate * units,
            )
        )
    return work


class Paces:
    """Tells the pace of a job."""

    def __init__(self, materials: Materials) -> None:
        config = materials.config
        # The features' model may be one of the others, or go by the name of one and be in another precision.
        self._titles = {canonical_json(materials.card(config.features).identity): config.features.model}
        for model in config.models:
            self._titles[canonical_json(materials.card(model).identity)] = model.title

    def __call__(self, job: Job) -> Pace:
        if job.kind is JobKind.SCORE:
            return Pace(job.kind, "")
        return Pace(job.kind, self._titles[canonical_json(job.spec["model"])], _detail(job))


def _detail(job: Job) -> str:
    if job.kind is JobKind.MEASURE and "prefixes" in job.spec:
        return CONTINUATIONS  # they are short, and take no programs
    constraints = job.spec.get("constraints")
    return "" if constraints is None else f"c={constraints}"


def count_units(job: Job) -> int:
    """The size of a job."""
    spec = job.spec
    match job.kind:
        case JobKind.MEASURE if "prefixes" in spec:
            return int((spec["prefixes"]["stop"] - spec["prefixes"]["start"]) * spec["tokens_per_text"])
        case JobKind.MEASURE:
            return len(spec["documents"]) * int(spec["positions"]["per_document"])
        case JobKind.GENERATE:
            return int((spec["prefixes"]["stop"] - spec["prefixes"]["start"]) * spec["max_tokens"])
        case JobKind.FEATURIZE:
            return int(spec["texts"]["stop"] - spec["texts"]["start"])
        case JobKind.SCORE:
            return len(spec.get("mauve", {}).get("kmeans_seeds", ())) + len(spec["statistics"])


def _count_programs(job: Job) -> float:
    if job.kind is JobKind.MEASURE:
        return float(count_units(job) * len(job.spec.get("basis_sizes", ())))
    if job.kind is JobKind.GENERATE and job.spec.get("constraints"):
        return PROGRAMS_PER_TOKEN * count_units(job)
    return 0.0


def totals(work: Iterable[Work]) -> dict[str, float]:
    """Sums over all work, for machines."""
    items = list(work)
    return {
        "jobs": sum(one.jobs for one in items),
        "done": sum(one.done for one in items),
        "later": sum(one.later for one in items),
        "programs": sum(one.programs for one in items),
        "seconds": sum(one.seconds or 0.0 for one in items),
        "uncalibrated": sum(one.seconds is None and one.jobs > one.done for one in items),
    }
