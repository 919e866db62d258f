"""The list of runs: each with its state and what tells it from others of its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.status.run_status import RunState, lease_owners, live_drivers, state_of
from harness.store import Reader, Run

_TOTALS = """
SELECT run_id, sum(done), sum(leased), sum(waiting), sum(failed) FROM progress_view GROUP BY run_id
"""

_UNRESOLVED = "SELECT DISTINCT run_id FROM instances WHERE state <> 'known'"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run, its state, and the counts of its jobs; `waiting` includes blocked jobs."""

    run: Run
    state: RunState
    done: int = 0
    leased: int = 0
    waiting: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.done + self.leased + self.waiting + self.failed

    def as_record(self) -> dict[str, Any]:
        """Plain data, to be written as JSON."""
        run = self.run
        return {
            "id": run.id,
            "name": run.name,
            "label": run.label,
            "state": self.state.value,
            "created_at": run.created_at.isoformat(),
            "started_at": run.started_at.isoformat(),
            "configuration": run.configuration_hash,
            "files": [asdict(entry) for entry in run.inputs],
            "tags": list(run.tags),
            **{name: getattr(self, name) for name in ("done", "leased", "waiting", "failed", "total")},
        }


def list_runs(reader: Reader) -> list[RunSummary]:
    """All runs, the latest started first."""
    with reader.query(_TOTALS) as answer:
        totals = {run_id: [int(count) for count in counts] for run_id, *counts in answer.rows}
    with reader.query(_UNRESOLVED) as answer:
        unresolved = {run_id for (run_id,) in answer.rows}
    return [_summary(reader, run, totals.get(run.id, []), unresolved) for run in reader.runs()]


def _summary(reader: Reader, run: Run, totals: Sequence[int], unresolved: set[int]) -> RunSummary:
    summary = RunSummary(run, RunState.EMPTY, *totals)
    counts = {name: getattr(summary, name) for name in ("leased", "waiting", "failed", "total")}
    if counts["waiting"] and counts["failed"]:
        counts["waiting"] -= len(reader.blocked(run.id))
    owners = lease_owners(reader, run) if counts["leased"] else []
    state = state_of(counts, owners, live_drivers(reader, run), is_resolved=run.id not in unresolved)
    return replace(summary, state=state)
