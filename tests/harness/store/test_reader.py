"""Questions to a store: progress, owners, failures, SQL; and that a reader changes nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from bat.errors import InvalidInputError
from harness.jobs import JobKind
from harness.store import JobState, Progress, Reader, Store, open_reader
from tests.harness.store import examples
from tests.harness.store.examples import add, claim_one, fill, let_expire, score, score_job


@pytest.fixture
def reader(address: str) -> Iterator[Reader]:
    with open_reader(address) as opened:
        yield opened


def test_a_reader_sees_what_was_committed(store: Store, reader: Reader) -> None:
    run_id = fill(store)
    ids = [job.id for job in examples.sample_jobs()]
    assert [run.id for run in reader.runs()] == [run_id]
    assert reader.done_ids(ids) == set(ids)
    assert len(reader.measurement(ids[:1])) == 12
    assert len(list(reader.generations(ids[1:3]))) == 8
    assert reader.features(ids[3:4]).shape == (4, 3)
    assert reader.scores(ids[4:])[0].name == "mauve"
    assert reader.results_hash(run_id) == store.results_hash(run_id)


def test_progress_by_kind(store: Store, reader: Reader) -> None:
    jobs = examples.sample_jobs()
    run_id = add(store, *jobs)
    store.add_prefix_set(examples.make_prefix_rows())
    assert [entry.kind for entry in reader.progress(run_id)] == list(JobKind)
    lease = claim_one(store)
    store.complete(lease, examples.result_of(lease))
    store.fail(claim_one(store), "error", retry=False)
    claim_one(store)
    found = {entry.kind: entry for entry in reader.progress(run_id)}
    assert found[JobKind.MEASURE] == Progress(JobKind.MEASURE, 0, 0, 0, 1, 0)
    assert found[JobKind.GENERATE] == Progress(JobKind.GENERATE, 0, 0, 1, 0, 1)
    assert reader.progress(run_id + 1) == []


def test_rates_are_of_what_was_done_lately(store: Store, reader: Reader) -> None:
    run_id = add(store, *(score_job(number) for number in range(4)))
    assert reader.rates(run_id) == []
    first, second, third, fourth = store.claim("a", 4, 600.0)
    store.complete_many([(first, score()), (second, score())])
    store.fail(third, "error")
    (rate,) = reader.rates(run_id, window_seconds=50.0)
    assert (rate.kind, rate.done, rate.jobs_per_second) == (JobKind.SCORE, 2, 0.04)
    assert 0 <= rate.seconds_per_attempt < 50
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE attempts SET ended_at = '2020-01-01 00:00:00'")
    assert reader.rates(run_id) == []
    assert fourth.attempt == 1


def test_owners_of_leases(store: Store, reader: Reader) -> None:
    run_id = add(store, *(score_job(number) for number in range(4)))
    leases = store.claim("b", 2, 600.0)
    other = claim_one(store, "a", 300.0)
    let_expire(store, leases[0])
    first, second = reader.owners(run_id)
    assert (first.owner, first.leases, first.expired) == ("a", 1, False)
    assert first.first_expires_at == other.expires_at
    assert (second.owner, second.leases, second.expired) == ("b", 2, True)
    assert second.oldest_started_at <= first.oldest_started_at
    assert reader.owners(run_id + 1) == []
    assert len(reader.owners()) == 2


def test_jobs_are_listed_in_their_order_by_kind_and_state(store: Store, reader: Reader) -> None:
    jobs = [score_job(number) for number in range(3)]
    run_id = add(store, *jobs, order=[2, 1, 0])
    lease = claim_one(store)
    listed = list(reader.jobs(run_id))
    assert [job.id for job in listed] == [job.id for job in jobs[::-1]]
    assert (listed[0].state, listed[0].owner, listed[0].spec) == (JobState.LEASED, "driver", lease.spec)
    assert [job.id for job in reader.jobs(run_id, state=JobState.WAITING)] == [jobs[1].id, jobs[0].id]
    assert list(reader.jobs(run_id, kind=JobKind.MEASURE)) == []
    assert reader.find_jobs([jobs[0].id, "0" * 64]).keys() == {jobs[0].id}


def test_questions_in_sql(store: Store, reader: Reader) -> None:
    fill(store)
    with reader.query("SELECT kind, count(*) AS n FROM jobs GROUP BY kind ORDER BY kind") as answer:
        assert answer.columns == ("kind", "n")
        assert list(answer.rows) == [("featurize", 1), ("generate", 2), ("measure", 1), ("score", 1)]
    with reader.query("SELECT 'at 12:30 :x 50%' AS text WHERE 'a%b' LIKE 'a\\%b' ESCAPE '\\'") as answer:
        assert list(answer.rows) == [("at 12:30 :x 50%",)]
    with reader.query("SELECT kind FROM jobs WHERE kind = :kind", {"kind": "measure"}) as answer:
        assert list(answer.rows) == [("measure",)]


def test_bad_questions_get_one_sentence(store: Store, reader: Reader) -> None:
    fill(store)
    for sql, reason in (
        ("SELECT nothing FROM jobs", "nothing"),
        ("SELEC 1", "SELEC"),
        ("SELECT 1 / 0 FROM nowhere", "nowhere"),
        ("DELETE FROM attempts", "cannot answer this query"),
        ("DROP TABLE attempts", "cannot answer this query"),
        ("UPDATE jobs SET priority = 1", "cannot answer this query"),
    ):
        with pytest.raises(InvalidInputError, match=reason) as caught, reader.query(sql):
            pass
        assert "\n" not in str(caught.value)
    with reader.query("SELECT count(*), sum(priority) FROM attempts, jobs WHERE key = job_key") as answer:
        assert list(answer.rows) == [(5, 4)]


def test_even_a_driver_asks_without_changing_anything(store: Store) -> None:
    fill(store)
    with pytest.raises(InvalidInputError), store.query("DELETE FROM attempts"):
        pass
    # SQLite answers this one, PostgreSQL does not.
    with (
        contextlib.suppress(InvalidInputError),
        store.query("DELETE FROM attempts RETURNING number") as answer,
    ):
        assert len(list(answer.rows)) == 5
    with store.query("SELECT count(*) FROM attempts") as answer:
        assert list(answer.rows) == [(5,)]
