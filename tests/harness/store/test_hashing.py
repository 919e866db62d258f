"""The hash of results: the same however they were made, another when they differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.jobs import FeatureRows, Job, JobKind
from harness.store import Store, open_store
from harness.store.hashing import results_hash
from tests.harness.store import examples
from tests.harness.store.examples import CONFIG, VERSIONS, claim_one, fill, let_expire, result_of


def fill_with_trouble(store: Store) -> int:
    """Reach the same results one job at a time, after errors and losses, beside another run."""
    examples.add(store, examples.score_job(1), name="somebody else's")
    run_id = store.add_run("demo", CONFIG, {"torch": "another"})
    store.add_prefix_set(examples.make_prefix_rows())
    jobs = examples.sample_jobs()
    store.add_jobs(run_id, jobs[:2])
    store.add_jobs(run_id, jobs)
    trouble = 0
    while leases := store.claim(f"driver {trouble}", 1, 600.0, run_id):
        (lease,) = leases
        trouble += 1
        if lease.attempt == 1 and trouble % 2:
            store.fail(lease, "error")
        elif lease.attempt == 1:
            let_expire(store, lease)
        elif lease.attempt == 2:
            store.release([lease])
        else:
            assert store.complete(lease, result_of(lease))
    return fill(store)  # nothing is left but the resolution


def test_the_way_to_the_results_does_not_matter(
    store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run_id = fill_with_trouble(store)
    # Nor does the backend.
    other = tmp_path_factory.mktemp("other") / "results.db"
    with open_store(f"sqlite:///{other}") as plain:
        assert store.results_hash(run_id) == plain.results_hash(fill(plain))


def test_runs_that_share_jobs_share_results(store: Store) -> None:
    first = fill(store)
    second = fill(store, name="again")
    assert store.results_hash(first) == store.results_hash(second)


def hash_after(store: Store, run_id: int, change: str) -> str:
    """The hash that a change would give, which is undone at once."""
    with store._database.writing() as connection, connection.begin_nested() as undone:
        assert connection.exec_driver_sql(change).rowcount > 0
        found = results_hash(connection, run_id)
        undone.rollback()
    return found


def test_any_difference_shows(store: Store) -> None:
    run_id = fill(store)
    hashes = [store.results_hash(run_id)]
    for change in (
        "UPDATE measurements SET token = token + 1 WHERE item = 3",
        "UPDATE measurement_thresholds SET upper = upper * 1.0000001 WHERE item = 3 AND constraints = 20",
        "UPDATE generations SET text = 'another' WHERE item = 2",
        'UPDATE generations SET random_key = \'[1,"demo","0",0]\' WHERE item = 2',
        "UPDATE token_traces SET trace = (SELECT trace FROM token_traces ORDER BY job_key LIMIT 1)",
        "DELETE FROM token_traces WHERE item = 3",
        "DELETE FROM features WHERE item = 3",
        "UPDATE scores SET low = NULL",
        "UPDATE jobs SET state = 'failed' WHERE kind = 'score'",
        "UPDATE resolutions SET value = '0.025'",
        "DELETE FROM resolution_jobs",
    ):
        hashes.append(hash_after(store, run_id, change))
    assert len(set(hashes)) == len(hashes)
    assert store.results_hash(run_id) == hashes[0]


def test_times_and_attempts_do_not_show(store: Store) -> None:
    run_id = fill(store)
    before = store.results_hash(run_id)
    for change in (
        "UPDATE measurement_thresholds SET seconds = 99",
        "UPDATE generations SET solver_seconds = 99",
        "UPDATE attempts SET owner = 'another', number = number + 1",
        "UPDATE attempts SET time_use = '{\"forward\": 1.0}'",
        "UPDATE jobs SET attempt = attempt + 1, priority = 3",
        "UPDATE runs SET versions = '{}'",
    ):
        assert hash_after(store, run_id, change) == before


def test_only_what_is_done_counts(store: Store) -> None:
    run_id = store.add_run("demo", CONFIG, VERSIONS)
    empty = store.results_hash(run_id)
    job = examples.sample_jobs()[0]
    store.add_jobs(run_id, [job])
    lease = claim_one(store)
    assert store.results_hash(run_id) == empty
    store.complete(lease, result_of(lease))
    assert store.results_hash(run_id) != empty


def test_the_shape_of_features_counts(tmp_path: Path) -> None:
    # Two texts of three numbers and three of two are the same bytes.
    hashes = set()
    for shape in ((2, 3), (3, 2)):
        with open_store(f"sqlite:///{tmp_path / str(shape[0])}") as store:
            run_id = examples.add(store, Job(JobKind.FEATURIZE, {}))
            assert store.complete(claim_one(store), FeatureRows(np.ones(shape, np.float32)))
            hashes.add(store.results_hash(run_id))
    assert len(hashes) == 2
