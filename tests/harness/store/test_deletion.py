"""Deleting runs: what no other run uses goes, a few jobs at a time, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select

from harness.store import Deletion, Store, deletion
from harness.store.checks import check_database
from harness.store.tables import Base
from tests.harness.store import examples


def rows(store: Store) -> dict[str, int]:
    with store._database.reading() as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in Base.metadata.sorted_tables
        }


def delete(store: Store, run_id: int) -> int:
    jobs = 0
    while batch := store.delete_jobs_of(run_id):
        jobs += batch
    store.delete_run(run_id)
    return jobs


def check(store: Store) -> None:
    assert [finding for finding in check_database(store) if finding.violations] == []


def test_the_only_run_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "_BATCH", 2)
    run_id = examples.fill(store)
    store.add_tags(run_id, ["paper"])
    store.beat("driver", run_id, "working")
    store.leave("driver")
    assert store.count_deletion(run_id) == Deletion(jobs=5, done=5, texts=8, shared=0)
    assert store.delete_jobs_of(run_id) == 2
    check(store)  # as a kill would leave it
    assert store.count_deletion(run_id).jobs == 3
    assert delete(store, run_id) == 3
    assert {name: count for name, count in rows(store).items() if count} == {}


def test_what_another_run_uses_stays(store: Store) -> None:
    examples.fill(store, name="other")
    kept = rows(store)
    hashed = store.results_hash(store.get_run("other").id)
    run_id = examples.fill(store)  # shares every job
    own = examples.score_job(1, (examples.sample_jobs()[0].id,))
    store.add_jobs(run_id, [own])
    assert store.count_deletion(run_id) == Deletion(jobs=1, done=0, texts=0, shared=5)
    assert delete(store, run_id) == 1
    assert rows(store) == kept
    assert store.results_hash(store.get_run("other").id) == hashed
    check(store)


def test_what_a_job_or_a_parameter_of_another_run_needs_stays(store: Store) -> None:
    run_id = examples.add(store, *(examples.score_job(number) for number in range(3)), name="first")
    needed, deciding, own = (examples.score_job(number).id for number in range(3))
    other = examples.add(store, examples.score_job(7, (needed,)), name="second")
    store.add_resolution(other, examples.Resolution("p", {}, "so", 1, (deciding,)))
    assert delete(store, run_id) == 1
    assert set(store.find_jobs([needed, deciding, own])) == {needed, deciding}
    check(store)


def test_a_late_result_of_a_deleted_job_is_dropped(store: Store) -> None:
    run_id = examples.add(store, examples.score_job(1))
    lease: Any = examples.claim_one(store)
    delete(store, run_id)
    assert store.complete(lease, examples.result_of(lease)) is False
    assert store.renew([lease], 600.0) == []
