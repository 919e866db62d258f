"""Plans: what is there already stays as it is, and what cannot be run is declined."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bat.errors import InvalidInputError
from harness.jobs import Job, JobKind
from harness.store import JobState, Resolution, Store, StoreError
from tests.harness.jobs import specs
from tests.harness.store import examples
from tests.harness.store.examples import CONFIG, VERSIONS, add, score_job


def test_a_run_started_again_is_the_same_run(store: Store) -> None:
    first = store.add_run("demo", CONFIG, VERSIONS)
    again = store.add_run("demo", {"seed": 0.0, "models": ["gpt2"]}, {"torch": "2.14"})
    other = store.add_run("demo", {**CONFIG, "seed": 1}, VERSIONS)
    assert first == again != other
    found = store.get_run(first)
    assert found.name == "demo"
    assert found.config == CONFIG
    assert found.versions == {"torch": "2.14"}
    assert found.created_at <= found.started_at
    assert found.started_at.utcoffset() is not None


def test_a_name_stands_for_the_run_started_last(store: Store) -> None:
    first = store.add_run("demo", CONFIG, VERSIONS)
    second = store.add_run("demo", {**CONFIG, "seed": 1}, VERSIONS)
    assert store.get_run("demo").id == second
    assert [run.id for run in store.runs()] == [second, first]
    assert store.find_run("dmeo") is None
    with pytest.raises(InvalidInputError, match=r"no run 'dmeo' .* Its runs: 'demo'\."):
        store.get_run("dmeo")


def test_jobs_are_added_once_and_runs_share_them(store: Store) -> None:
    jobs = [score_job(number) for number in range(3)]
    run_id = store.add_run("first", CONFIG, VERSIONS)
    assert store.add_jobs(run_id, [*jobs, jobs[0]]) == 3
    assert store.add_jobs(run_id, jobs) == 0
    other = store.add_run("second", CONFIG, VERSIONS)
    assert store.add_jobs(other, [jobs[1], score_job(7)]) == 1
    assert [job.id for job in store.jobs(run_id)] == [job.id for job in jobs]
    assert {job.id for job in store.jobs(other)} == {jobs[1].id, score_job(7).id}
    with store.query("SELECT count(*) FROM jobs") as answer:
        assert list(answer.rows) == [(4,)]


def test_a_done_job_stays_done_when_another_run_asks_for_it(store: Store) -> None:
    add(store, score_job(1))
    store.complete(examples.claim_one(store), examples.score())
    other = add(store, score_job(1), name="other")
    assert store.claim("driver", 5, 600.0) == []
    assert store.progress(other)[0].done == 1


def test_thousands_of_jobs_with_needs(store: Store) -> None:
    shards = [score_job(number, model=f"m{number % 4}") for number in range(2500)]
    last = score_job(-1, tuple(job.id for job in shards))
    run_id = add(store, *shards, last)
    (progress,) = store.progress(run_id)
    assert (progress.total, progress.waiting, progress.open) == (2501, 2501, 2501)
    assert len(store.find_jobs(job.id for job in shards)) == 2500
    assert store.done_ids(job.id for job in shards) == set()
    leases = store.claim("driver", 3000, 600.0)
    assert [lease.job_id for lease in leases] == [job.id for job in shards]
    assert len(store.renew(leases, 600.0)) == 2500
    assert all(store.complete_many([(lease, examples.score()) for lease in leases]))
    assert [lease.job_id for lease in store.claim("driver", 3000, 600.0)] == [last.id]


def test_jobs_must_be_planned_with_what_they_need(store: Store) -> None:
    need = score_job(1)
    with pytest.raises(InvalidInputError, match=f"needs {need.id}, which is not"):
        add(store, score_job(2, (need.id,)))
    run_id = add(store, score_job(2, (need.id,)), need)
    assert store.progress(run_id)[0].total == 2
    assert store.add_jobs(run_id, [score_job(3, (need.id,))]) == 1


def test_jobs_that_need_each_other_are_invalid(store: Store) -> None:
    first, second = score_job(1), score_job(2)
    circle = [Job(JobKind.SCORE, first.spec, (second.id,)), Job(JobKind.SCORE, second.spec, (first.id,))]
    with pytest.raises(InvalidInputError, match="cycle"):
        add(store, *circle)
    assert store.progress(store.get_run("demo").id) == []  # nothing of the batch was kept


def test_order_and_run_are_checked(store: Store) -> None:
    with pytest.raises(InvalidInputError, match="no run 99"):
        store.add_jobs(99, [score_job(1)])
    run_id = store.add_run("demo", CONFIG, VERSIONS)
    with pytest.raises(InvalidInputError, match="a number for each job"):
        store.add_jobs(run_id, [score_job(1)], [1, 2])


def test_prefix_sets_come_back_as_they_were(store: Store) -> None:
    rows = examples.make_prefix_rows(5)
    assert not store.has_prefix_set(rows.id)
    store.add_prefix_set(rows)
    store.add_prefix_set(rows)
    assert store.has_prefix_set(rows.id)
    assert store.prefixes(rows.id) == list(rows.entries)
    assert store.prefixes(rows.id, 1, 3) == list(rows.entries[1:3])
    assert [entry.to_prefix() for entry in rows.entries] == list(examples.make_prefix_set(5).prefixes)
    with pytest.raises(InvalidInputError, match="not in this database"):
        store.prefixes("0" * 64)


def test_a_resolution_is_kept_with_the_jobs_that_decided_it(store: Store) -> None:
    jobs = [score_job(number) for number in range(3)]
    run_id = add(store, *jobs)
    asked = {"best": {"metric": "mauve", "split": "validation"}}
    deciding, detail = (jobs[0].id, jobs[2].id), {"averages": [[0.002, 0.91], [0.004, 0.9]]}
    decided = Resolution("methods[0].parameter", asked, "highest mauve of 3", 0.002, deciding, detail)
    store.add_resolution(run_id, decided)
    store.add_resolution(run_id, decided)
    assert store.resolutions(run_id) == [decided]
    with pytest.raises(InvalidInputError, match=r"is already 0\.002, got 0\.003"):
        store.add_resolution(run_id, Resolution(decided.parameter, asked, "", 0.003, ()))
    with pytest.raises(InvalidInputError, match="the jobs of a resolution must be planned"):
        store.add_resolution(run_id, Resolution("another", asked, "", 1, ("0" * 64,)))
    assert store.resolutions(run_id) == [decided]


def test_labels_become_columns(store: Store) -> None:
    half = replace(specs.MODEL, dtype="float16")
    aware = specs.generate("ba-eta", 0.02, model=half)
    writer = specs.generate()
    needed = (writer, specs.featurize_human(), specs.featurize_generated())
    other = store.add_run("other", CONFIG, VERSIONS)
    store.add_jobs(other, [spec.job for spec in needed])
    add(store, aware.job, specs.measure().job, specs.score_generated().job)
    columns = "kind, model, corpus, rule, parameter, constraints"
    with store.query(f"SELECT {columns} FROM jobs_view WHERE run = 'demo' ORDER BY kind") as answer:
        assert list(answer.rows) == [
            ("generate", "gpt2 float16", None, "ba-eta", 0.02, 20),
            ("measure", "gpt2", "news test", None, None, None),
            ("score", None, None, None, None, None),
        ]


def test_the_database_itself_rejects_what_the_code_should_never_write(store: Store) -> None:
    add(store, score_job(1))
    for change in ("state = 'finished'", "state = 'leased'", "owner = NULL, kind = 'dance'"):
        with pytest.raises(StoreError, match="reported an error"), store._database.writing() as connection:
            connection.exec_driver_sql(f"UPDATE jobs SET {change}")
    with pytest.raises(StoreError, match="reported an error"), store._database.writing() as connection:
        connection.exec_driver_sql("INSERT INTO scores (job_key, name) VALUES (12345, 'mauve')")
    assert store.find_jobs([score_job(1).id])[score_job(1).id].state is JobState.WAITING
