"""Whether a run is done, by a look at the database alone: neither models nor text are loaded for it."""

from __future__ import annotations

from typing import Any

from harness.config import run_identity
from harness.config.expansion import MethodInstance, expand
from harness.config.schema import SweepConfig
from harness.jobs import RESULT_VERSION
from harness.store import Reader


def stored_identity(config: SweepConfig) -> dict[str, Any]:
    """What tells runs apart in the store: everything results depend on, and what they are called."""
    return {**run_identity(config), "result_version": RESULT_VERSION}


def resolution_name(instance: MethodInstance) -> str:
    """What the parameter of a setting is called in the store, if it has to be found out."""
    return f"{instance.stage}: {instance.method} on {instance.model}: {instance.setting}"


def is_finished(config: SweepConfig, reader: Reader, run_id: int) -> bool:
    """Whether every job of the sweep is known and done.

    A plan's jobs are added in one transaction, before the parameters that it found out: once all of these are
    there, so are the jobs. That models or text may have changed since is not looked at.
    """
    progress = reader.progress(run_id)
    if not progress or any(one.done < one.total for one in progress):
        return False
    resolved = {resolution.parameter for resolution in reader.resolutions(run_id)}
    return all(
        instance.setting.is_resolved or resolution_name(instance) in resolved for instance in expand(config)
    )
