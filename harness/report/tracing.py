"""From a cell of a table back to the jobs whose results it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean
from harness.jobs import JobKind
from harness.report.building import build_tables
from harness.report.parts import Missing, Table
from harness.report.tables import TABLES
from harness.store import Reader, Run, StoredJob

_Item = TypeVar("_Item")

# What was done first comes last: the number, then what it was computed from.
_ORDER = (JobKind.SCORE, JobKind.FEATURIZE, JobKind.GENERATE, JobKind.MEASURE)


@dataclass(frozen=True, slots=True)
class Step:
    """A job that a number comes from."""

    kind: str
    job: str
    words: str


@dataclass(frozen=True, slots=True)
class TracedCell:
    """A cell, and the jobs behind it, from the last to the first."""

    table: str
    row: str
    column: str
    text: str
    value: float | None
    how: str
    steps: tuple[Step, ...]

    def as_record(self) -> dict[str, Any]:
        """Plain values, for machines."""
        return asdict(self)


def trace_cell(reader: Reader, runs: Sequence[Run], table: str, row: str, column: str) -> TracedCell:
    """Find a cell by the names on its table; the beginning of a name will do where it is the only one."""
    sources, parts = build_tables(reader, runs)
    tables = [part for part in parts if isinstance(part, Table)]
    if table in TABLES and not any(one.name.startswith(table) for one in tables):
        missing = next((part for part in TABLES[table](sources) if isinstance(part, Missing)), None)
        if missing is None:
            raise InvalidInputError(f"there is no {table} here: the runs have no data for it.")
        raise InvalidInputError(f"there is no {table} here: {missing.why}. Make it with: {missing.command}")
    found = _choose("table", table, tables, lambda one: one.name)
    line = _choose(f"row of {found.name}", row, found.rows, lambda one: one.label)
    heading = _choose(f"column of {found.name}", column, found.columns[1:], str)
    cell = line.cells[found.columns[1:].index(heading)]
    steps = [_step(job) for job in _jobs_behind(reader, cell.jobs)]
    return TracedCell(found.name, line.label, heading, cell.text, cell.value, cell.how, tuple(steps))


def _choose(kind: str, name: str, items: Iterable[_Item], label: Callable[[_Item], str]) -> _Item:
    known = list(items)
    labels = [label(item) for item in known]
    if name in labels:
        return known[labels.index(name)]
    begun = [item for item in known if label(item).lower().startswith(name.lower())]
    if len(begun) == 1:
        return begun[0]
    guess = "" if begun else did_you_mean(name, labels)
    problem = "is the beginning of several" if begun else "is none"
    listed = ", ".join(repr(one) for one in (map(label, begun) if begun else labels)) or "nothing"
    raise InvalidInputError(f"{name!r} {problem} of: {listed} ({kind}).{guess}")


def _jobs_behind(reader: Reader, job_ids: Sequence[str]) -> list[StoredJob]:
    """The jobs, and those whose results they read, each once."""
    jobs: dict[str, StoredJob] = {}
    waiting = list(dict.fromkeys(job_ids))
    while waiting:
        jobs |= reader.find_jobs(waiting)
        waiting = sorted(reader.needs(waiting) - jobs.keys())
    return sorted(jobs.values(), key=lambda job: _ORDER.index(job.kind))


def _step(job: StoredJob) -> Step:
    words = job.parse().describe()
    if job.adjustment:
        words += f"; done differently from the plan: {dict(job.adjustment)}"
    return Step(job.kind.value, job.id, words)
