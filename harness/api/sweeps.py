"""Load, check and plan sweeps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from harness.api.runs import Database, reading
from harness.config import SweepConfig, load_config, parse_config
from harness.planning.finished import find_start
from harness.store import NoStoreError, Reader

if TYPE_CHECKING:  # these import transformers
    import pandas as pd

    from harness.planning.materials import Materials
    from harness.planning.planner import Plan
    from harness.planning.work import Work

# A sweep, its file, or its contents.
Sweep = SweepConfig | str | os.PathLike[str] | Mapping[str, Any]

# Called with the title and the size of each long step; returns a function to call with the amount done.
StepProgress = Callable[[str, int], Callable[[int], None]]


def load_sweep(sweep: Sweep, overrides: str | Iterable[str] = ()) -> SweepConfig:
    """Load a sweep from a YAML file, or from a mapping with the same keys, and check it.

    `overrides` change values, as `--set` does: "prefixes.count=100". An invalid sweep raises ConfigError,
    which names the line and what to write instead.
    """
    if isinstance(overrides, str):
        overrides = [overrides]
    if isinstance(sweep, Mapping):
        return parse_config(sweep, overrides)
    if isinstance(sweep, SweepConfig):
        changes = tuple(overrides)
        written = sweep.model_dump(mode="json", exclude_unset=True)
        return parse_config(written, changes) if changes else sweep
    return load_config(sweep, overrides).config


@dataclass(frozen=True)
class SweepPlan:
    """The jobs of a sweep, and how much work is left."""

    work: tuple[Work, ...]  # by stage, kind of job and model
    unresolved: tuple[str, ...]  # settings whose parameter results will decide, one for each seed
    unresolvable: Mapping[str, str]  # parameters that results cannot decide, and why
    calibrated: bool  # whether times were estimated
    changes: tuple[str, ...] = ()  # local files that changed since the latest run, in sentences

    @property
    def jobs(self) -> int:
        """All jobs of the sweep, including those whose parameter is not resolved yet."""
        return sum(row.jobs for row in self.work)

    @property
    def done(self) -> int:
        """Jobs that are done."""
        return sum(row.done for row in self.work)

    @property
    def later(self) -> int:
        """Jobs that will be planned once results have resolved their parameters."""
        return sum(row.later for row in self.work)

    @property
    def seconds(self) -> float | None:
        """Estimated time of the work left, on one worker like this machine; None without calibration."""
        return sum(row.seconds or 0.0 for row in self.work) if self.calibrated else None

    def to_frame(self) -> pd.DataFrame:
        """A DataFrame with a row for each stage, kind of job and model."""
        import pandas as pd

        columns = list(self.work[0].__slots__) if self.work else None
        return pd.DataFrame([asdict(row) | {"kind": row.kind.value} for row in self.work], columns=columns)

    def as_record(self) -> dict[str, Any]:
        """Plain data, to be written as JSON."""
        from harness.planning.work import totals

        return {
            "work": [asdict(row) for row in self.work],
            "totals": totals(self.work),
            "unresolved": list(self.unresolved),
            "unresolvable": dict(self.unresolvable),
            "changes": list(self.changes),
        }


def plan_sweep(
    sweep: Sweep,
    db: Database | None = None,
    *,
    calibrate: bool = False,
    progress: StepProgress | None = None,
) -> SweepPlan:
    """Count the jobs of a sweep, and the work that is left. Runs no job and writes nothing.

    With a database, jobs that are done there are counted as done. With `calibrate`, a little of each kind of
    work is run on this machine to estimate the time.
    """
    from harness.planning.materials import Materials
    from harness.planning.work import count_work, later_jobs

    config = load_sweep(sweep)
    begin = progress or _silent
    materials = Materials(config)
    planned = begin("Planning", 1)
    plan, done, changes = _make_plan(config, materials, db)
    later = later_jobs(materials, plan)
    planned(1)
    rates = {}
    if calibrate:
        from harness.planning.calibration import calibrate as measure_rates

        jobs = [job for _, job in (*plan.jobs, *later) if job.id not in done]
        rates = measure_rates(materials, jobs, partial(begin, "Calibrating"))
    return SweepPlan(
        work=tuple(count_work(materials, plan, later, done, rates)),
        unresolved=tuple(str(instance.setting) for instance in plan.awaiting),
        unresolvable=plan.unresolvable,
        calibrated=calibrate,
        changes=changes,
    )


_Planned = tuple["Plan", set[str], tuple[str, ...]]


def _make_plan(config: SweepConfig, materials: Materials, db: Database | None) -> _Planned:
    """The plan as far as results in the database resolve it, the ids of jobs that are done there, and what
    has changed since the latest run."""
    from harness.planning.planner import make_plan

    if db is None:
        return make_plan(config, materials), set(), ()
    try:
        with reading(db) as reader:
            return _plan_from(reader, config, materials)
    except NoStoreError:  # a run would create it
        return make_plan(config, materials), set(), ()


def _plan_from(reader: Reader, config: SweepConfig, materials: Materials) -> _Planned:
    from harness.planning.planner import make_plan

    start = find_start(reader, config)
    resolutions = reader.resolutions(start.run.id) if start.run is not None else []
    plan = make_plan(config, materials, reader, resolutions)
    changes = start.changes
    if start.earlier is not None and changes:
        changes = (*changes, f"`run` will start a new run; {start.earlier.label} keeps its results.")
    return plan, reader.done_ids([job.id for _, job in plan.jobs]), changes


def _silent(title: str, total: int) -> Callable[[int], None]:
    return lambda done: None
