"""The status of a run: counts by stage, rates, drivers and workers, errors, and all of it in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from harness.jobs import JobKind
from harness.status.failures import ErrorGroup, find_failed, group_errors
from harness.status.time_left import estimate, recent_rates, say_time_left
from harness.store import (
    DriverPresence,
    Instance,
    InstanceState,
    JobGroup,
    JobState,
    LeaseOwner,
    Rate,
    Reader,
    Resolution,
    Run,
    WorkerActivity,
)
from harness.store.owners import is_gone
from harness.words import counted, duration
from workers.time_use import TimeUse

# A driver that reported this recently counts as alive. It does not report while it plans, which may include
# loading models and reading a corpus.
_SECONDS_PRESENT = 600.0

_COUNTS = """
WITH RECURSIVE blocked(key) AS (
    SELECT job_needs.job_key FROM job_needs JOIN jobs ON jobs.key = job_needs.needed_key
    WHERE jobs.state = 'failed'
    UNION
    SELECT job_needs.job_key FROM job_needs JOIN blocked ON blocked.key = job_needs.needed_key
)
SELECT run_jobs.stage, jobs.kind, jobs.model, jobs.constraints, jobs.state,
       jobs.state = 'waiting' AND jobs.key IN (SELECT key FROM blocked) AS is_blocked, count(*)
FROM run_jobs
JOIN jobs ON jobs.key = run_jobs.job_key
WHERE run_jobs.run_id = :run_id
GROUP BY 1, 2, 3, 4, 5, 6
"""

_TIME_USE = """
SELECT jobs.kind, sum(CAST(attempts.time_use ->> 'forward' AS double precision)),
       sum(CAST(attempts.time_use ->> 'propose' AS double precision)),
       sum(CAST(attempts.time_use ->> 'settle' AS double precision)),
       sum(CAST(attempts.time_use ->> 'waiting' AS double precision)),
       max(CAST(attempts.time_use ->> 'batches_in_flight' AS integer))
FROM run_jobs
JOIN jobs ON jobs.key = run_jobs.job_key
JOIN attempts ON attempts.job_key = jobs.key AND attempts.outcome = 'done'
WHERE run_jobs.run_id = :run_id AND attempts.time_use IS NOT NULL
GROUP BY jobs.kind
"""


class RunState(StrEnum):
    """The state of a run as a whole."""

    EMPTY = "empty"  # nothing is planned
    RUNNING = "running"
    SILENT = "silent"  # jobs are leased, but their drivers no longer renew the leases
    WAITING = "waiting"  # no job is leased, but a driver is alive: it plans, starts workers, or waits
    STOPPED = "stopped"  # jobs are left, and no driver is running
    FAILED = "failed"  # all jobs that are left have failed or need failed ones
    UNRESOLVED = "unresolved"  # all jobs are done, but parameters are unresolved
    DONE = "done"


@dataclass(frozen=True, slots=True)
class StageCounts:
    """Counts of the jobs of one kind in one stage. Unlike in Progress, `waiting` excludes blocked jobs."""

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
        """Jobs that can still be done without intervention."""
        return self.leased + self.waiting


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of a run."""

    run: Run
    stages: tuple[StageCounts, ...]
    rates: tuple[Rate, ...]
    rates_over_seconds: float  # the window of the rates and of the workers' counts
    workers: tuple[WorkerActivity, ...]  # of drivers that are alive
    seconds_left: float | None  # for the jobs planned so far; None when there is no estimate
    seconds_left_is_least: bool  # it excludes jobs of a group of which none was ever done
    owners: tuple[LeaseOwner, ...]
    drivers: tuple[DriverPresence, ...]  # that are alive, the most recently seen first
    errors: tuple[ErrorGroup, ...]  # the most frequent first
    resolutions: tuple[Resolution, ...]
    open_parameters: tuple[str, ...]  # that wait for results, by their names in resolutions
    unresolvable: tuple[tuple[str, str], ...]  # parameters that cannot be resolved, and why
    time_use: tuple[tuple[JobKind, TimeUse], ...] = ()  # of the done jobs of a kind; none from older workers

    def __str__(self) -> str:
        return say(self)

    def count(self, state: str) -> int:
        """The number of jobs that are done, leased, waiting, blocked or failed; or the total."""
        return sum(getattr(counts, state) for counts in self.stages)

    @property
    def state(self) -> RunState:
        return state_of(
            {name: self.count(name) for name in ("leased", "waiting", "failed", "total")},
            self.owners,
            self.drivers,
            is_resolved=not (self.open_parameters or self.unresolvable),
        )


def state_of(
    counts: Mapping[str, int],  # `waiting` without blocked jobs
    owners: Sequence[LeaseOwner],
    drivers: Sequence[DriverPresence],
    *,
    is_resolved: bool,
) -> RunState:
    """The state of a run as a whole, from its numbers of jobs and its drivers."""
    if not counts["total"]:
        return RunState.WAITING if drivers else RunState.EMPTY
    if counts["leased"]:
        # No owners: the leases were given back between two queries.
        is_silent = bool(owners) and all(owner.expired for owner in owners)
        return RunState.SILENT if is_silent else RunState.RUNNING
    if counts["waiting"]:
        return RunState.WAITING if drivers else RunState.STOPPED
    if counts["failed"]:
        return RunState.FAILED
    return RunState.DONE if is_resolved else RunState.UNRESOLVED


def gather(reader: Reader, run: Run) -> RunStatus:
    """Read the status of a run."""
    instances = reader.instances(run.id, with_jobs=False)
    counts = _count(reader, run)
    owners = lease_owners(reader, run)
    rates: list[Rate] = []
    workers: list[WorkerActivity] = []
    window = 0.0
    # The rates of drivers that have stopped say nothing about the time left.
    if not all(owner.expired for owner in owners):
        rates, window = recent_rates(reader, run)
        workers = reader.workers(run.id, window)
    seconds_left, is_least = estimate(reader, _open_jobs(counts), _live_leases(owners), rates)
    return RunStatus(
        run=run,
        stages=tuple(_by_stage(counts, instances)),
        rates=tuple(rates),
        rates_over_seconds=window,
        workers=tuple(workers),
        seconds_left=seconds_left,
        seconds_left_is_least=is_least,
        owners=tuple(owners),
        drivers=tuple(live_drivers(reader, run)),
        errors=tuple(group_errors(find_failed(reader, run.id))),
        resolutions=tuple(reader.resolutions(run.id)),
        open_parameters=tuple(_parameters(instances, InstanceState.OPEN)),
        unresolvable=tuple(_parameters(instances, InstanceState.UNRESOLVABLE).items()),
        time_use=tuple(_time_use(reader, run)),
    )


def estimate_time_left(reader: Reader, run: Run) -> tuple[float | None, bool]:
    """The seconds left for the jobs planned so far, at recent rates, or None if there are no rates yet; and
    whether jobs of unknown duration are left out."""
    leased = _live_leases(lease_owners(reader, run))
    return estimate(reader, _open_jobs(_count(reader, run)), leased, recent_rates(reader, run)[0])


def _time_use(reader: Reader, run: Run) -> list[tuple[JobKind, TimeUse]]:
    with reader.query(_TIME_USE, {"run_id": run.id}) as answer:
        found = {JobKind(kind): TimeUse(*sums) for kind, *sums in answer.rows}
    return [(kind, found[kind]) for kind in JobKind if kind in found]


def lease_owners(reader: Reader, run: Run) -> list[LeaseOwner]:
    """The drivers that hold leases of a run. Leases of a driver that is dead count as expired."""
    return [
        replace(owner, expired=owner.expired or is_gone(owner.owner, reader.address))
        for owner in reader.owners(run.id)
    ]


def live_drivers(reader: Reader, run: Run) -> list[DriverPresence]:
    """The drivers of a run that have reported lately and are not known to be dead."""
    now = datetime.now(UTC)
    return [
        driver
        for driver in reader.drivers(run.id)
        if (now - driver.seen_at).total_seconds() < _SECONDS_PRESENT
        and not is_gone(driver.owner, reader.address)
    ]


def _count(reader: Reader, run: Run) -> dict[tuple[int, JobGroup], Counter[str]]:
    """The jobs in each state, of which `blocked` is one, by the position of their stage and their group."""
    counts: dict[tuple[int, JobGroup], Counter[str]] = {}
    with reader.query(_COUNTS, {"run_id": run.id}) as answer:
        for stage, kind, model, constraints, state, is_blocked, count in answer.rows:
            key = (-1 if stage is None else stage, JobGroup(JobKind(kind), model, constraints))
            counts.setdefault(key, Counter())["blocked" if is_blocked else JobState(state).value] += count
    return counts


def _open_jobs(counts: Mapping[tuple[int, JobGroup], Counter[str]]) -> Counter[JobGroup]:
    """The jobs of each group that can still be done."""
    open_jobs: Counter[JobGroup] = Counter()
    for (_, group), states in counts.items():
        open_jobs[group] += states["waiting"] + states["leased"]
    return open_jobs


def _live_leases(owners: Sequence[LeaseOwner]) -> int:
    return sum(owner.leases for owner in owners if not owner.expired)


def _by_stage(
    counts: Mapping[tuple[int, JobGroup], Counter[str]], instances: Sequence[Instance]
) -> list[StageCounts]:
    names = {instance.stage_position: instance.stage for instance in instances}
    by_stage: dict[tuple[int, JobKind], Counter[str]] = {}
    for (stage, group), states in counts.items():
        by_stage.setdefault((stage, group.kind), Counter()).update(states)
    kinds = list(JobKind)
    in_order = sorted(by_stage.items(), key=lambda entry: (entry[0][0], kinds.index(entry[0][1])))
    return [StageCounts(names.get(stage), kind, **states) for (stage, kind), states in in_order]


def _parameters(instances: Sequence[Instance], state: InstanceState) -> dict[str, str]:
    """The parameters in a state, each once for all seeds, and why they cannot be resolved."""
    return {
        instance.resolution or instance.name: instance.problem or ""
        for instance in instances
        if instance.state is state
    }


def say(status: RunStatus) -> str:
    """The whole status in a few sentences, with what to do next."""
    done, total = status.count("done"), status.count("total")
    # Rounded down, so that 100% means that all jobs are done.
    numbers = f"{done:,} of {counted(total, 'job')} done ({100 * done // max(total, 1)}%)"
    first = _SENTENCES[status.state].format(numbers=numbers, total=counted(total, "job"))
    if status.state is RunState.RUNNING and status.seconds_left is not None:
        first = f"{first[:-1]}, {say_time_left(status.seconds_left, status.seconds_left_is_least)}."
    if status.state is RunState.WAITING:
        driver = status.drivers[0]
        age = duration((datetime.now(UTC) - driver.seen_at).total_seconds())
        first += f" A driver is {driver.doing}, last seen {age} ago."
    sentences = [first]
    failed, blocked = status.count("failed"), status.count("blocked")
    if failed:
        cause = "it" if failed == 1 else "them"
        effect = f", {counted(blocked, 'job')} blocked by {cause}" if blocked else ""
        sentences.append(f"{counted(failed, 'job')} failed{effect}.")
    if status.state is RunState.FAILED:
        sentences.append("Fix the cause, run bat-harness retry, and run the same command again to resume.")
    if status.open_parameters and status.stages:
        parameters = counted(len(status.open_parameters), "parameter")
        sentences.append(f"{parameters} unresolved, such as that of {status.open_parameters[0]}.")
    for name, problem in status.unresolvable:
        sentences.append(f"The parameter of {name} cannot be resolved: {problem}")
    return " ".join(sentences)


_RESUME = "Run the same command again to resume."
_SENTENCES = {
    RunState.EMPTY: "Nothing is planned yet.",
    RunState.RUNNING: "Running: {numbers}.",
    RunState.WAITING: "Waiting: {numbers}, none running.",
    RunState.SILENT: "Silent: {numbers}, and the driver that holds the leases is gone. " + _RESUME,
    RunState.STOPPED: "Stopped: {numbers}. " + _RESUME,
    RunState.FAILED: "Failed: {numbers}, and no other job can run.",
    RunState.UNRESOLVED: "Not finished: all {total} planned so far are done. Run the same command again to "
    "resume, or to see why it cannot continue.",
    RunState.DONE: "Done: all {total}.",
}
