"""Which run a sweep belongs to, and whether it is done, from the database alone: no model is loaded, and no
text but local files that have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config import run_identity
from harness.config.schema import SweepConfig
from harness.jobs import RESULT_VERSION, canonical_json
from harness.planning.local_inputs import read_inputs
from harness.store import InstanceState, LocalInput, Reader, Run
from harness.store.runs import with_values


def stored_identity(config: SweepConfig) -> dict[str, Any]:
    """What identifies a run in the store: everything its results depend on, and its names."""
    return {**run_identity(config), "result_version": RESULT_VERSION}


@dataclass(frozen=True)
class SweepStart:
    """A sweep as it is now, and the run it belongs to.

    Local files whose content has changed make it another run: results that were computed from other text or
    with another model are other results, and a run has one of each. Jobs that do not depend on what changed
    have the same ids in both runs, so they are done once.
    """

    identity: Mapping[str, Any]
    inputs: tuple[LocalInput, ...]
    run: Run | None  # the run to resume
    earlier: Run | None  # without one: the latest run of this sweep on other files
    later: bool  # whether another run of this name was started after the one to resume

    @property
    def changes(self) -> tuple[str, ...]:
        """What has changed since the earlier run, in sentences."""
        return tuple(_changes(self.inputs, self.earlier)) if self.earlier is not None else ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The files that are gone, in sentences."""
        return tuple(
            f"The {entry.noun} {entry.path} is gone; its revision at the latest start was {entry.revision}."
            for entry in self.inputs
            if not Path(entry.path).exists()
        )


def find_start(reader: Reader, config: SweepConfig) -> SweepStart:
    """Find the run of a sweep whose local files are as they are now."""
    identity = stored_identity(config)
    runs = reader.runs()
    inputs = read_inputs(config, [entry for run in runs for entry in run.inputs])
    run_id = reader.find_run_id(config.name, identity, inputs)
    of_name = [run for run in runs if run.name == config.name]
    resumed = next((run for run in of_name if run.id == run_id), None)
    earlier = None
    if resumed is None and inputs:
        same_sweep = _without_files(identity, inputs)
        earlier = next((run for run in of_name if _without_files(run.config, inputs) == same_sweep), None)
    later = resumed is not None and of_name[0] != resumed
    return SweepStart(identity, inputs, resumed, earlier, later)


def _without_files(config: Mapping[str, Any], inputs: tuple[LocalInput, ...]) -> str | None:
    """A configuration whatever local files it names; None if it has no such keys."""
    try:
        return canonical_json(with_values(config, dict.fromkeys(entry.key for entry in inputs)))
    except (LookupError, TypeError):
        return None


def _changes(inputs: tuple[LocalInput, ...], earlier: Run) -> Iterator[str]:
    before = {entry.key: entry for entry in earlier.inputs}
    for now in inputs:
        then = before.get(now.key)
        if then is None:
            yield (
                f"The {now.noun} {now.path} is at revision {now.revision}; run {earlier.label}, of an older "
                "version, did not record which one it read."
            )
        elif then.revision != now.revision:
            place = now.path if then.path == now.path else f"{then.path}, now {now.path},"
            yield (
                f"The {now.noun} {place} has changed since run {earlier.label}: its revision was "
                f"{then.revision}, and is now {now.revision}."
            )


def is_finished(reader: Reader, run_id: int) -> bool:
    """Whether every job of a run is planned and done.

    A plan is stored in one transaction, with all instances of its sweep. So if no instance is open, all jobs
    are stored. These are the jobs of the version that planned them: a finished run stays what it was, even if
    a newer version of bat-harness has more kinds of jobs, until it is planned again (--replan).
    """
    instances = reader.instances(run_id, with_jobs=False)
    resolved = all(instance.state is InstanceState.KNOWN for instance in instances)
    return bool(instances) and resolved and reader.all_done(run_id)
