"""Whether a run is done, from the database alone: no model and no text is loaded."""

from __future__ import annotations

from typing import Any

from harness.config import run_identity
from harness.config.schema import SweepConfig
from harness.jobs import RESULT_VERSION
from harness.store import InstanceState, Reader


def stored_identity(config: SweepConfig) -> dict[str, Any]:
    """What identifies a run in the store: everything its results depend on, and its names."""
    return {**run_identity(config), "result_version": RESULT_VERSION}


def is_finished(reader: Reader, run_id: int) -> bool:
    """Whether every job of a run is planned and done.

    A plan is stored in one transaction, with all instances of its sweep. So if no instance is open, all jobs
    are stored. Changes to models or text since then are not detected.
    """
    instances = reader.instances(run_id, with_jobs=False)
    resolved = all(instance.state is InstanceState.KNOWN for instance in instances)
    return bool(instances) and resolved and reader.all_done(run_id)
