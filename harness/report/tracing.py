"""From a cell of a table back to the jobs whose results it was computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean
from harness.jobs import JobKind
from harness.report.building import build_tables
from harness.report.parts import Cell, Missing, Table
from harness.report.tables import TABLES
from harness.store import Reader, Run, StoredJob

_Item = TypeVar("_Item")

# From the number back: scores first, then what they were computed from.
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


def trace_cell(
    reader: Reader, runs: Sequence[Run], table: str, row: str, column: str, judged: Sequence[Table] = ()
) -> TracedCell:
    """Find a cell by its table, row and column; a unique beginning of each name is enough.

    `judged` are the tables that come from people.
    """
    sources, parts = build_tables(reader, runs)
    tables = [*(part for part in parts if isinstance(part, Table)), *judged]
    if table in TABLES and not any(part.name.startswith(table) for part in tables):
        missing = next((part for part in TABLES[table](sources) if isinstance(part, Missing)), None)
        if missing is None:
            raise InvalidInputError(f"there is no table {table} here: the runs have no data for it.")
        raise InvalidInputError(
            f"there is no table {table} here: {missing.why}. Compute it with: {missing.command}"
        )
    chosen = _choose("table", table, tables, lambda candidate: candidate.name)
    chosen_row = _choose(f"row of {chosen.name}", row, chosen.rows, lambda candidate: candidate.label)
    heading = _choose(f"column of {chosen.name}", column, chosen.columns[1:], str)
    cell = chosen_row.cells[chosen.columns[1:].index(heading)]
    return trace_jobs(reader, chosen.name, chosen_row.label, heading, cell)


def trace_jobs(reader: Reader, table: str, row: str, column: str, cell: Cell) -> TracedCell:
    """The jobs behind a cell that was found already."""
    steps = [_step(job) for job in _jobs_behind(reader, cell.jobs)]
    return TracedCell(table, row, column, cell.text, cell.value, cell.how, tuple(steps))


def _choose(kind: str, name: str, items: Iterable[_Item], label: Callable[[_Item], str]) -> _Item:
    by_label: dict[str, _Item] = {}
    for item in items:
        by_label.setdefault(label(item), item)
    if name in by_label:
        return by_label[name]
    matching = [text for text in by_label if text.lower().startswith(name.lower())]
    if len(matching) == 1:
        return by_label[matching[0]]
    listed = ", ".join(map(repr, matching or by_label)) or "nothing"
    if matching:
        raise InvalidInputError(f"{name!r} is the beginning of several: {listed} ({kind}). Give more of it.")
    raise InvalidInputError(f"{name!r} is none of: {listed} ({kind}).{did_you_mean(name, by_label)}")


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
        words += f"; ran differently from the plan: {dict(job.adjustment)}"
    return Step(job.kind.value, job.id, words)
