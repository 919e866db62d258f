"""Bringing the results of one database into another."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import URL

from bat.errors import InvalidInputError
from harness.store import open_reader, open_store
from harness.store.addresses import file_of, parse_address
from harness.store.merging import MergeCounts, StepProgress, merge


@dataclass(frozen=True, slots=True)
class MergeOutcome:
    """What a merge brought into a database, and what it left."""

    source: str
    target: str  # addresses
    counts: MergeCounts

    def as_record(self) -> dict[str, Any]:
        """Plain data, to be written as JSON."""
        return {"source": self.source, "target": self.target, **asdict(self.counts)}


def merge_databases(
    source: str | os.PathLike[str],
    into: str | os.PathLike[str],
    *,
    progress: StepProgress | None = None,
) -> MergeOutcome:
    """Bring the runs and results of a database into another one, which is created if needed.

    Results that are in both are kept once. If two results of a job differ, the target's is kept and the job
    is named in the outcome. Call it again if it is interrupted; sweeps may be running on both databases.
    """
    addresses = parse_address(source), parse_address(into)
    if _is_same(*addresses):
        raise InvalidInputError(
            f"a database must be merged into another one; got {into} for both. Name another target."
        )
    with open_reader(source) as reader, open_store(into) as store:
        counts = merge(reader, store, progress or _silent)
        return MergeOutcome(reader.address, store.address, counts)


def _is_same(first: URL, second: URL) -> bool:
    if {first.get_backend_name(), second.get_backend_name()} == {"sqlite"}:
        files = file_of(first), file_of(second)
        return all(file.exists() for file in files) and os.path.samefile(*files)
    return first.set(drivername="", username=None, password=None) == second.set(
        drivername="", username=None, password=None
    )


def _silent(title: str, total: int) -> Callable[[int], None]:
    return lambda done: None
