"""The time that a run has left: its open jobs, each group of jobs at its own pace, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from harness.jobs import JobKind
from harness.store import JobGroup, Rate, Reader, Run
from harness.words import duration

# Rates are measured over the shortest of these windows in which enough jobs ended.
_WINDOWS_SECONDS = (60.0, 600.0, 3_600.0, 6 * 3_600.0)
_ENOUGH_JOBS = 20

# Of all runs: a group of which this run has done nothing lately may be known from earlier ones.
_MEAN_SECONDS = """
SELECT jobs.kind, jobs.model, jobs.constraints, avg(attempts_view.seconds)
FROM attempts_view
JOIN jobs ON jobs.id = attempts_view.job
WHERE attempts_view.outcome = 'done'
GROUP BY 1, 2, 3
"""


def recent_rates(reader: Reader, run: Run) -> tuple[list[Rate], float]:
    """Recent rates, and the seconds over which they were measured."""
    # Before the latest start, the run may have had other workers or none.
    since_start = max(1.0, (datetime.now(UTC) - run.started_at).total_seconds())
    for window in _WINDOWS_SECONDS:
        seconds = min(window, since_start)
        rates = reader.rates(run.id, seconds)
        if sum(rate.done for rate in rates) >= _ENOUGH_JOBS or window >= since_start:
            break
    return rates, seconds


def estimate(
    reader: Reader, open_jobs: Mapping[JobGroup, int], leased: int, rates: Sequence[Rate]
) -> tuple[float | None, bool]:
    """The seconds left, and whether it will be more: the work left, in seconds of attempts, over the attempts
    that run at a time. None without rates.

    An attempt lasts from the claim of a job to its result, so as many run at a time as there are leases; if a
    driver holds fewer just now, as many as attempts per second times seconds per attempt. Jobs of a group of
    which none was ever done are left out, and then it will be more.
    """
    if not rates:
        return None, False
    at_a_time = max(leased, sum(rate.jobs_per_second * rate.seconds_per_attempt for rate in rates))
    if not at_a_time:
        return None, False
    seconds = {rate.group: rate.seconds_per_attempt for rate in rates}
    groups = [group for group, count in open_jobs.items() if count]
    if any(group not in seconds for group in groups):
        with reader.query(_MEAN_SECONDS) as answer:
            means = {JobGroup(JobKind(kind), *group): float(mean) for kind, *group, mean in answer.rows}
        seconds = means | seconds
    work = sum(open_jobs[group] * seconds[group] for group in groups if group in seconds)
    return work / at_a_time, any(group not in seconds for group in groups)


def say_time_left(seconds: float, is_least: bool) -> str:
    """The time left in words."""
    return f"{'at least' if is_least else 'about'} {duration(seconds)} left"
