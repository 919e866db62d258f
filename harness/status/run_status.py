"""How a run stands: counts by stage, rates, who works, what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from harness.jobs import JobKind
from harness.status.failures import ErrorGroup, find_failed, group_errors
from harness.store import (
    DriverPresence,
    Instance,
    InstanceState,
    JobState,
    LeaseOwner,
    Rate,
    Reader,
    Resolution,
    Run,
    WorkerActivity,
)
from harness.store.owners import is_gone

# Rates are taken over the shortest of these that saw enough jobs end.
_WINDOWS_SECONDS = (60.0, 600.0, 3_600.0, 6 * 3_600.0)
_ENOUGH_JOBS = 20

# A driver that was heard of so lately is taken to be there. It is silent while it plans, which may mean to
# load models and to read a corpus.
_SECONDS_PRESENT = 600.0

_COUNTS = """
WITH RECURSIVE blocked(key) AS (
    SELECT job_needs.job_key FROM job_needs JOIN jobs ON jobs.key = job_needs.needed_key
    WHERE jobs.state = 'failed'
    UNION
    SELECT job_needs.job_key FROM job_needs JOIN blocked ON blocked.key = job_needs.needed_key
)
SELECT run_jobs.stage, jobs.kind, jobs.state,
       jobs.state = 'waiting' AND jobs.key IN (SELECT key FROM blocked) AS is_blocked, count(*)
FROM run_jobs
JOIN jobs ON jobs.key = run_jobs.job_key
WHERE run_jobs.run_id = :run_id
GROUP BY 1, 2, 3, 4
"""

_TOTALS = """
SELECT run_id, sum(done), sum(leased), sum(waiting), sum(failed) FROM progress_view GROUP BY run_id
"""

_MEAN_SECONDS = "SELECT kind, avg(seconds) FROM attempts_view WHERE outcome = 'done' GROUP BY kind"


class RunState(StrEnum):
    """Where a run stands as a whole."""

    EMPTY = "empty"  # nothing is planned
    RUNNING = "running"
    SILENT = "silent"  # jobs are leased, and their driver has not renewed the leases
    WAITING = "waiting"  # no job is leased, and a driver is there: it plans, starts workers, or has to wait
    STOPPED = "stopped"  # jobs are left that nobody works on
    FAILED = "failed"  # all that is left was set aside or waits for that
    UNRESOLVED = "unresolved"  # all jobs are done, and parameters are still to be found out
    DONE = "done"


@dataclass(frozen=True, slots=True)
class StageCounts:
    """The jobs of one kind in one stage. Unlike the store's, `waiting` leaves out what is blocked."""

    stage: str | None
    kind: JobKind
    done: int = 0
    leased: int = 0
    waiting: int = 0
    blocked: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.done + self.leased + self.waiting + self.blocked + self.failed

    @property
    def open(self) -> int:
        """Jobs that can still be done without anybody's help."""
        return self.leased + self.waiting


@dataclass(frozen=True, slots=True)
class RunStatus:
    """How a run stands."""

    run: Run
    stages: tuple[StageCounts, ...]
    rates: tuple[Rate, ...]
    rates_over_seconds: float  # what the rates, and the counts of the workers, are taken over
    workers: tuple[WorkerActivity, ...]  # of the drivers that are alive
    seconds_left: float | None  # for the jobs planned so far; None when nothing tells
    seconds_left_is_least: bool  # there are jobs of a kind that has never been done
    owners: tuple[LeaseOwner, ...]
    drivers: tuple[DriverPresence, ...]  # that are there, the last to be heard of first
    errors: tuple[ErrorGroup, ...]  # the most frequent first
    resolutions: tuple[Resolution, ...]
    open_parameters: tuple[str, ...]  # that results have still to decide, by their names in resolutions
    unresolvable: tuple[tuple[str, str], ...]  # parameters that results do not settle, and why

    def __str__(self) -> str:
        from harness.status.verdict import say

        return say(self)

    def count(self, state: str) -> int:
        """Jobs of the whole run that are done, leased, waiting, blocked or failed; or their total."""
        return sum(getattr(counts, state) for counts in self.stages)

    @property
    def state(self) -> RunState:
        if not self.stages:
            return RunState.WAITING if self.drivers else RunState.EMPTY
        if self.count("leased"):
            # Whoever gave a lease back between two questions was not silent.
            is_silent = bool(self.owners) and all(owner.expired for owner in self.owners)
            return RunState.SILENT if is_silent else RunState.RUNNING
        if self.count("waiting"):
            return RunState.WAITING if self.drivers else RunState.STOPPED
        if self.count("failed"):
            return RunState.FAILED
        return RunState.UNRESOLVED if self.open_parameters or self.unresolvable else RunState.DONE


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run and how many jobs it has; `waiting` counts those that are blocked too."""

    run: Run
    done: int = 0
    leased: int = 0
    waiting: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.done + self.leased + self.waiting + self.failed


def list_runs(reader: Reader) -> list[RunSummary]:
    """All runs, the one started last first."""
    with reader.query(_TOTALS) as answer:
        totals = {run_id: [int(count) for count in counts] for run_id, *counts in answer.rows}
    return [RunSummary(run, *totals.get(run.id, ())) for run in reader.runs()]


def gather(reader: Reader, run: Run) -> RunStatus:
    """Ask a store how a run stands."""
    instances = reader.instances(run.id, with_jobs=False)
    stages = _count_stages(reader, run, instances)
    owners = [
        replace(owner, expired=owner.expired or is_gone(owner.owner, reader.address))
        for owner in reader.owners(run.id)
    ]
    rates: list[Rate] = []
    workers: list[WorkerActivity] = []
    window = 0.0
    # The pace of those who have stopped tells nothing about the time left.
    if not all(owner.expired for owner in owners):
        rates, window = _recent_rates(reader, run)
        workers = reader.workers(run.id, window)
    seconds_left, is_least = _estimate(reader, stages, rates)
    return RunStatus(
        run=run,
        stages=tuple(stages),
        rates=tuple(rates),
        rates_over_seconds=window,
        workers=tuple(workers),
        seconds_left=seconds_left,
        seconds_left_is_least=is_least,
        owners=tuple(owners),
        drivers=tuple(_drivers_there(reader, run)),
        errors=tuple(group_errors(find_failed(reader, run.id))),
        resolutions=tuple(reader.resolutions(run.id)),
        open_parameters=tuple(_parameters(instances, InstanceState.OPEN)),
        unresolvable=tuple(_parameters(instances, InstanceState.UNRESOLVABLE).items()),
    )


def _drivers_there(reader: Reader, run: Run) -> list[DriverPresence]:
    now = datetime.now(UTC)
    return [
        driver
        for driver in reader.drivers(run.id)
        if (now - driver.seen_at).total_seconds() < _SECONDS_PRESENT
        and not is_gone(driver.owner, reader.address)
    ]


def _count_stages(reader: Reader, run: Run, instances: Sequence[Instance]) -> list[StageCounts]:
    names = {instance.stage_position: instance.stage for instance in instances}
    counts: dict[tuple[int, JobKind], Counter[str]] = {}
    with reader.query(_COUNTS, {"run_id": run.id}) as answer:
        for stage, kind, state, is_blocked, count in answer.rows:
            state = "blocked" if is_blocked else JobState(state).value
            counts.setdefault((-1 if stage is None else stage, JobKind(kind)), Counter())[state] += count
    kinds = list(JobKind)
    in_order = sorted(counts.items(), key=lambda entry: (entry[0][0], kinds.index(entry[0][1])))
    return [StageCounts(names.get(stage), kind, **states) for (stage, kind), states in in_order]


def _recent_rates(reader: Reader, run: Run) -> tuple[list[Rate], float]:
    """What was done lately, and how many seconds that is."""
    # Before the latest start others may have worked, or nobody.
    since_start = max(1.0, (datetime.now(UTC) - run.started_at).total_seconds())
    for window in _WINDOWS_SECONDS:
        seconds = min(window, since_start)
        rates = reader.rates(run.id, seconds)
        if sum(rate.done for rate in rates) >= _ENOUGH_JOBS or window >= since_start:
            break
    return rates, seconds


def _estimate(
    reader: Reader, stages: Sequence[StageCounts], rates: Sequence[Rate]
) -> tuple[float | None, bool]:
    """Work left by the work that is done in a second; both in seconds of attempts.

    Attempts a second times seconds an attempt is how many attempts run at a time, however many workers there
    are and however long a request waits for one.
    """
    at_a_time = sum(rate.jobs_per_second * rate.seconds_per_attempt for rate in rates)
    if not at_a_time:
        return None, False
    seconds = {rate.kind: rate.seconds_per_attempt for rate in rates}
    left: Counter[JobKind] = Counter()
    for counts in stages:
        left[counts.kind] += counts.open
    needed = [kind for kind, count in left.items() if count]
    if any(kind not in seconds for kind in needed):
        with reader.query(_MEAN_SECONDS) as answer:
            seconds = {JobKind(kind): float(mean) for kind, mean in answer.rows} | seconds
    work = sum(left[kind] * seconds[kind] for kind in needed if kind in seconds)
    return work / at_a_time, any(kind not in seconds for kind in needed)


def _parameters(instances: Sequence[Instance], state: InstanceState) -> dict[str, str]:
    """The parameters in a state, each once for all seeds, and what keeps them from being resolved."""
    return {
        instance.resolution or instance.name: instance.problem or ""
        for instance in instances
        if instance.state is state
    }
