"""The time that a run has left: its open jobs, each group of jobs at its own pace, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from harness.store import JobGroup, Rate, Reader, Run
from harness.words import duration

# Rates are measured over the shortest of these windows in which enough jobs ended.
_WINDOWS_SECONDS = (60.0, 600.0, 3_600.0, 6 * 3_600.0)
_ENOUGH_JOBS = 20


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
    """The seconds left, and whether they are a lower bound, because nothing is known of some group of jobs.
    None without recent rates, or while nothing is leased.

    An attempt lasts from the claim of a job to its result, so as many run at a time as there are leases.
    """
    if not (rates and leased):
        return None, False
    seconds = {rate.group: rate.seconds_per_attempt for rate in rates}
    groups = [group for group, count in open_jobs.items() if count]
    if any(group not in seconds for group in groups):
        seconds = reader.mean_seconds() | seconds  # this run, or another one, may have done such jobs before
    work = sum(open_jobs[group] * seconds[group] for group in groups if group in seconds)
    return work / leased, any(group not in seconds for group in groups)


def say_time_left(seconds: float, is_least: bool) -> str:
    """The time left in words."""
    return f"{'at least' if is_least else 'about'} {duration(seconds)} left"
