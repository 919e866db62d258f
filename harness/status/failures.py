"""Why jobs of a run failed, in a few lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from harness.jobs import JobKind
from harness.store import Reader
from harness.words import without_colours

# From the failed jobs, which an index lists, rather than from all jobs of the run, as jobs_view would.
_FAILED = """
SELECT jobs.id, jobs.kind, attempts.error
FROM jobs
LEFT JOIN attempts ON attempts.job_key = jobs.key AND attempts.number = jobs.attempt
WHERE jobs.state = 'failed'
  AND EXISTS (SELECT 1 FROM run_jobs WHERE run_jobs.run_id = :run_id AND run_jobs.job_key = jobs.key)
ORDER BY jobs.kind, jobs.id
LIMIT :count OFFSET :first
"""
_ALL = 2**62  # more jobs than there are

# The driver puts the kind of failure before the traceback.
_KIND = re.compile(r"[a-z ]+: ")
_EXCEPTION = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b")


@dataclass(frozen=True, slots=True)
class FailedJobError:
    """A failed job, and the error of its latest attempt."""

    job_id: str
    kind: JobKind
    error: str

    @property
    def summary(self) -> str:
        """The error in one line."""
        return summarize_error(self.error)


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Jobs that failed for the same reason."""

    error: str  # in one line
    count: int
    kinds: tuple[JobKind, ...]
    job_id: str  # one of them


def find_failed(reader: Reader, run_id: int, first: int = 0, count: int = _ALL) -> list[FailedJobError]:
    """The failed jobs of a run, with their errors: all, or so many from one of them on."""
    with reader.query(_FAILED, {"run_id": run_id, "first": first, "count": count}) as answer:
        return [FailedJobError(job, JobKind(kind), error or "") for job, kind, error in answer.rows]


def group_errors(failed: Iterable[FailedJobError]) -> list[ErrorGroup]:
    """Group jobs that failed for the same reason, the most frequent reason first."""
    by_error: dict[str, list[FailedJobError]] = {}
    for job in failed:
        by_error.setdefault(job.summary, []).append(job)
    groups = [
        ErrorGroup(error, len(jobs), tuple(dict.fromkeys(job.kind for job in jobs)), jobs[0].job_id)
        for error, jobs in by_error.items()
    ]
    return sorted(groups, key=lambda group: (-group.count, group.error))


def summarize_error(error: str) -> str:
    """An error in one line: its first line, or the exception line of a traceback."""
    lines = [line.rstrip() for line in without_colours(error).splitlines() if line.strip()]
    if not lines:
        return "no error was recorded"
    is_traceback = "Traceback" in lines[0] or "ray::" in lines[0]
    if len(lines) == 1 or not is_traceback:
        return lines[0].strip()
    raised = [line for line in lines[1:] if _EXCEPTION.match(line)]
    kind = _KIND.match(lines[0])
    return f"{kind[0] if kind else ''}{(raised or lines)[-1].strip()}"
