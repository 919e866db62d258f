"""From a plan to rows of the store: the jobs of a sweep that can be named now, and what they are for."""

from __future__ import annotations

from harness.planning.materials import Materials
from harness.planning.planner import Plan, make_plan
from harness.store import Store


def enqueue(store: Store, run_id: int, materials: Materials) -> Plan:
    """Plan, and put into the store what is not there yet."""
    plan = make_plan(materials.config, materials, store, store.resolutions(run_id))
    add_prefixes(store, materials, plan)
    jobs = [job.job for _, job in plan.jobs]
    stages = [position for position, _ in plan.jobs]
    store.add_plan(run_id, jobs, stages, plan.instances, plan.resolutions)
    return plan


def add_prefixes(store: Store, materials: Materials, plan: Plan) -> None:
    """Put the prefixes that a plan's jobs continue into the store; texts are made only of new ones."""
    for (title, split), prefix_set_id in plan.prefix_sets.items():
        if not store.has_prefix_set(prefix_set_id):
            card = materials.card(materials.config.get_model(title))
            store.add_prefix_set(materials.prefix_rows(card, split))
