"""Planning a sweep and storing the plan: the jobs that are known now, and what they are for."""

from __future__ import annotations

from harness.planning.materials import Materials
from harness.planning.planner import Plan, make_plan
from harness.store import Store


def enqueue(store: Store, run_id: int, materials: Materials) -> Plan:
    """Plan a sweep, and store what is new in the plan."""
    plan = make_plan(materials.config, materials, store, store.resolutions(run_id))
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
