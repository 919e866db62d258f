"""Planning a sweep and storing the plan: the jobs that are known now, and what they are for."""

from __future__ import annotations

from collections.abc import Iterable

from bat.errors import InvalidInputError
from harness.planning.materials import Materials
from harness.planning.planner import Plan, make_plan
from harness.store import Instance, Store


def enqueue(store: Store, run_id: int, materials: Materials) -> Plan:
    """Plan a sweep, and store what is new in the plan."""
    plan = make_plan(materials.config, materials, store, store.resolutions(run_id))
    _check_versions(store.instances(run_id), plan.instances)
    add_prefixes(store, materials, plan)
    jobs = (job.job for _, job in plan.jobs)
    stages = [position for position, _ in plan.jobs]
    store.add_plan(run_id, jobs, stages, plan.instances, plan.resolutions)
    return plan


def add_prefixes(store: Store, materials: Materials, plan: Plan) -> None:
    """Store the sets of prefixes of a plan's jobs that are not stored yet."""
    for (title, split), prefix_set_id in plan.prefix_sets.items():
        if not store.has_prefix_set(prefix_set_id):
            card = materials.card(materials.config.get_model(title))
            store.add_prefix_set(materials.prefix_rows(card, split))


def _check_versions(stored: Iterable[Instance], planned: Iterable[Instance]) -> None:
    """Raise if something that a sweep does not state has changed since it was planned first.

    That is a model or dataset of the hub without a revision, or a package. Local files are part of what
    identifies a run.
    """
    before = {instance.name: instance for instance in stored}
    for instance in planned:
        earlier = before.get(instance.name)
        for role in dict.fromkeys(role for role, _ in instance.jobs if earlier is not None):
            assert earlier is not None
            ids = earlier.job_ids(role)
            if ids and not set(ids) & set(instance.job_ids(role)):
                raise InvalidInputError(
                    "a run must have one version of its models, text and plug-ins; the jobs for the "
                    f"{role} of {instance.name!r} are not those that were planned first, so one of them has "
                    "changed. Pin the revision that was used, or run the new version under another name, "
                    "with --set name=NAME."
                )
