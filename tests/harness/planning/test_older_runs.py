"""Runs stored before instances were: what their jobs are for is worked out as a plan would have it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, text, update

from harness.planning.older_runs import fill_in_instances
from harness.store import Instance, Store
from harness.store.tables import InstanceJobRow, InstanceRow, RunJobRow
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep

SELECTION: dict[str, Any] = {
    "methods": [
        {"name": "tight", "rule": "eta", "parameter": {"best": {"among": [0.01, 0.1]}}},
        {"rule": "ba-eta", "parameter": {"match": {"method": "tight"}}, "constraints": 4},
        {"rule": "ancestral"},
    ],
    "generation": {"max_tokens": 6, "batch_size": 2, "seeds": [0, 1]},
    "stages": [
        {"name": "select", "split": "validation", "methods": ["tight"]},
        {"name": "measure", "kind": "measure"},
        {"name": "compare", "split": "test"},
    ],
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_quick_store(tmp_path / "r.db") as opened:
        yield opened


def forget_instances(store: Store) -> None:
    """Leave the tables as a migration from an older version does."""
    with store._database.writing() as connection:
        connection.execute(delete(InstanceJobRow))
        connection.execute(delete(InstanceRow))
        connection.execute(update(RunJobRow).values(stage=None))


def stages_of_jobs(store: Store) -> list[tuple[Any, ...]]:
    with store._database.reading() as connection:
        return [
            tuple(row) for row in connection.execute(text("SELECT job_key, stage FROM run_jobs ORDER BY 1"))
        ]


def comparable(instances: list[Instance]) -> list[tuple[Any, ...]]:
    return [(instance.name, instance.position, instance, sorted(instance.jobs)) for instance in instances]


@pytest.mark.parametrize("changes", [{}, SELECTION], ids=["match", "selection"])
def test_instances_are_those_of_a_plan(store: Store, text_corpus: Path, changes: dict[str, Any]) -> None:
    driver = make_driver(store, tiny_sweep(text_corpus, **changes), LocalPool)
    assert driver.run().complete
    planned, stages = store.instances(driver.run_id), stages_of_jobs(store)
    assert {instance.kind.value for instance in planned} == {"measure", "human", "generate"}
    forget_instances(store)
    assert fill_in_instances(store) == []
    assert comparable(store.instances(driver.run_id)) == comparable(planned)
    assert stages_of_jobs(store) == stages
    assert fill_in_instances(store) == []  # again changes nothing
    assert comparable(store.instances(driver.run_id)) == comparable(planned)


def test_what_is_not_resolved_yet_stays_open(store: Store, text_corpus: Path) -> None:
    driver = make_driver(store, tiny_sweep(text_corpus), LocalPool)
    driver._enqueue()
    planned = store.instances(driver.run_id)
    forget_instances(store)
    assert fill_in_instances(store) == []
    assert comparable(store.instances(driver.run_id)) == comparable(planned)


def test_a_run_that_cannot_be_read_is_named_and_the_others_are_filled_in(
    store: Store, text_corpus: Path
) -> None:
    store.add_run("broken", {"models": "none"}, {})
    driver = make_driver(store, tiny_sweep(text_corpus), LocalPool)
    driver._enqueue()
    forget_instances(store)
    (problem,) = fill_in_instances(store)
    assert problem.startswith("Run 'broken' (1): the purpose of its jobs could not be determined")
    assert store.instances(driver.run_id)
