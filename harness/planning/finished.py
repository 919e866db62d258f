"""Whether a run is done, by a look at the database alone: neither models nor text are loaded for it."""

from __future__ import annotations

from typing import Any

from harness.config import run_identity
from harness.config.schema import SweepConfig
from harness.jobs import RESULT_VERSION
from harness.store import InstanceState, Reader


def stored_identity(config: SweepConfig) -> dict[str, Any]:
    """What tells runs apart in the store: everything results depend on, and what they are called."""
    return {**run_identity(config), "result_version": RESULT_VERSION}


def is_finished(reader: Reader, run_id: int) -> bool:
    """Whether every job of a run is known and done.

    A plan is stored in one transaction, with all instances of its sweep: when none of them is open, all jobs
    are there. Whether models or text have changed since is not checked.
    """
    instances = reader.instances(run_id, with_jobs=False)
    known = all(instance.state is InstanceState.KNOWN for instance in instances)
    return bool(instances) and known and all(kind.done == kind.total for kind in reader.progress(run_id))
