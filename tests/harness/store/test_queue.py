"""The queue: who gets which job when, and what becomes of leases that are lost."""

from __future__ import annotations

import pickle
import time
from datetime import timedelta

import pytest

from bat.errors import InvalidInputError
from harness.jobs import JobKind
from harness.store import AttemptOutcome, JobState, Lease, RetryPolicy, Store, open_store
from tests.harness.store.examples import add, claim_one, let_expire, score, score_job


def outcomes(store: Store) -> list[tuple[int, str, str | None]]:
    with store.query("SELECT number, outcome, error FROM attempts ORDER BY job_key, number") as answer:
        return list(answer.rows)


def state_of(store: Store, lease: Lease) -> JobState:
    return store.find_jobs([lease.job_id])[lease.job_id].state


def test_jobs_come_in_their_order_and_once(store: Store) -> None:
    jobs = [score_job(number) for number in range(5)]
    add(store, *jobs, order=[1, 0, 1, 0, 2])
    first = store.claim("a", 3, 600.0)
    second = store.claim("b", 3, 600.0)
    taken = [lease.job_id for lease in (*first, *second)]
    assert taken == [jobs[number].id for number in (1, 3, 0, 2, 4)]
    assert store.claim("a", 3, 600.0) == []
    assert {lease.owner for lease in first} == {"a"}
    assert {lease.attempt for lease in (*first, *second)} == {1}
    assert first[0].kind is JobKind.SCORE
    assert first[0].spec == {"number": 1, "model": None}
    assert first[0].adjustment is None
    assert pickle.loads(pickle.dumps(first)) == first


def test_a_later_run_brings_shared_jobs_forward(store: Store) -> None:
    jobs = [score_job(number) for number in range(3)]
    add(store, *jobs, order=5)
    add(store, jobs[2], name="urgent", order=1)
    add(store, jobs[2], name="patient", order=9)
    assert claim_one(store).job_id == jobs[2].id


def test_a_driver_may_claim_for_one_run_only(store: Store) -> None:
    add(store, score_job(1), score_job(2))
    other = add(store, score_job(2), score_job(3), name="other")
    assert [lease.spec["number"] for lease in store.claim("a", 9, 600.0, run_id=other)] == [2, 3]
    assert [lease.spec["number"] for lease in store.claim("a", 9, 600.0)] == [1]


def test_jobs_of_the_model_at_hand_come_first(store: Store) -> None:
    large = "gpt2-xl float16"
    models = ["gpt2", large, None, "gpt2", large]
    add(store, *(score_job(number, model=model) for number, model in enumerate(models)))
    claimed = [lease.spec["number"] for lease in store.claim("a", 3, 600.0, prefer_model=large)]
    assert claimed == [1, 4, 0]
    rest = [lease.spec["number"] for lease in store.claim("a", 9, 600.0, prefer_model=large)]
    assert rest == [2, 3]


def test_a_job_waits_for_all_it_needs(store: Store) -> None:
    first, second = score_job(1), score_job(2)
    last = score_job(3, (first.id, second.id))
    add(store, last, first, second)
    leases = store.claim("a", 9, 600.0)
    assert [lease.job_id for lease in leases] == [first.id, second.id]
    assert store.complete(leases[0], score())
    assert store.claim("a", 9, 600.0) == []
    assert store.complete(leases[1], score())
    assert claim_one(store).job_id == last.id


def test_a_lease_ends_by_the_clock_of_the_database(store: Store) -> None:
    add(store, score_job(1))
    lease = claim_one(store, lease_seconds=0.2)
    assert store.claim("b", 1, 600.0) == []
    time.sleep(0.3)
    (again,) = store.claim("b", 1, 600.0)
    assert (again.job_id, again.attempt, again.owner) == (lease.job_id, 2, "b")
    assert again.expires_at - lease.expires_at > timedelta(seconds=500)


def test_what_an_old_attempt_brings_is_dropped(store: Store) -> None:
    add(store, score_job(1))
    old = claim_one(store, "same driver")
    let_expire(store, old)
    new = claim_one(store, "same driver")
    assert store.complete(old, score(0.1)) is False
    assert store.fail(old, "too late") is None
    assert store.renew([old], 600.0) == []
    assert store.release([old]) == 0
    assert state_of(store, new) is JobState.LEASED
    # Both at once, in either order: the one that is ours is kept.
    assert store.complete_many([(new, score(0.2)), (old, score(0.1))]) == [True, False]
    assert [entry.value for entry in store.scores([new.job_id])] == [0.2]
    assert store.complete(new, score(0.3)) is False
    assert [entry.value for entry in store.scores([new.job_id])] == [0.2]
    assert outcomes(store) == [(1, "lost", "the lease ran out"), (2, "done", None)]


def test_a_late_result_is_welcome_while_nobody_else_began(store: Store) -> None:
    add(store, score_job(1))
    lease = claim_one(store)
    let_expire(store, lease)
    assert store.complete(lease, score()) is True


def test_leases_are_renewed_while_they_are_ours(store: Store) -> None:
    add(store, score_job(1), score_job(2))
    kept, lost = store.claim("a", 2, 600.0)
    let_expire(store, kept, lost)
    (renewed,) = store.renew([kept], 900.0)
    assert (renewed.job_id, renewed.attempt) == (kept.job_id, kept.attempt)
    assert renewed.expires_at > kept.expires_at
    assert claim_one(store, "b").job_id == lost.job_id
    assert [lease.job_id for lease in store.renew([kept, lost], 600.0)] == [kept.job_id]


def test_giving_back_counts_for_nothing(store: Store) -> None:
    add(store, score_job(1))
    for _ in range(10):
        lease = claim_one(store)
        assert store.release([lease]) == 1
    assert store.complete(lease, score()) is False
    job = store.find_jobs([lease.job_id])[lease.job_id]
    assert (job.state, job.attempt, job.failures, job.losses, job.owner) == (JobState.WAITING, 10, 0, 0, None)
    assert {outcome for _, outcome, _ in outcomes(store)} == {"released"}


def test_a_job_that_fails_is_tried_again_and_then_set_aside(store: Store) -> None:
    run_id = add(store, score_job(1), score_job(2, (score_job(1).id,)))
    for attempt in range(1, 4):
        lease = claim_one(store)
        assert (lease.attempt, lease.failures) == (attempt, attempt - 1)
        expected = JobState.WAITING if attempt < 3 else JobState.FAILED
        assert store.fail(lease, f"error {attempt}\nwith\x00 a second line") is expected
    assert store.claim("a", 9, 600.0) == []
    (failed,) = store.failed(run_id)
    assert failed.error == "error 3\nwith\ufffd a second line"
    assert (failed.attempts, failed.failures, failed.blocks, failed.owner) == (3, 3, 1, "driver")
    assert str(outcomes(store)[0][2]).startswith("error 1")


def test_an_error_that_will_not_go_away_is_not_tried_again(store: Store) -> None:
    add(store, score_job(1))
    assert store.fail(claim_one(store), "no such model", retry=False) is JobState.FAILED
    assert store.claim("a", 9, 600.0) == []


def test_a_job_that_failed_waits_longer_each_time(address: str) -> None:
    policy = RetryPolicy(max_failures=9, first_wait_seconds=0.2, longest_wait_seconds=0.3)
    with open_store(address, retry=policy) as store:
        add(store, score_job(1))
        store.fail(claim_one(store), "error")
        assert store.claim("a", 1, 600.0) == []
        time.sleep(0.3)
        assert claim_one(store).attempt == 2
    assert [RetryPolicy().wait_seconds(failures) for failures in (1, 2, 3, 9, 10_000)] == [2, 4, 8, 300, 300]


def test_an_adjustment_reaches_the_next_attempt_and_stays_with_the_result(store: Store) -> None:
    add(store, score_job(1))
    store.fail(claim_one(store), "out of memory", adjustment={"batch_size": 16})
    store.fail(claim_one(store), "a hiccup")
    lease = claim_one(store)
    assert lease.adjustment == {"batch_size": 16}
    assert store.complete(lease, score())
    assert store.find_jobs([lease.job_id])[lease.job_id].adjustment == {"batch_size": 16}


def test_an_error_that_is_answered_with_an_adjustment_counts_for_nothing(store: Store) -> None:
    add(store, score_job(1))
    for size in (32, 16, 8, 4, 2, 1):
        lease = claim_one(store)
        assert lease.failures == 0
        state = store.fail(lease, "out of memory", adjustment={"batch_size": size})
        assert state is JobState.WAITING
    assert store.fail(claim_one(store), "out of memory", retry=False) is JobState.FAILED


def test_losses_have_a_limit_of_their_own(store: Store) -> None:
    run_id = add(store, score_job(1))
    for loss in range(1, 5):
        lease = claim_one(store)
        assert (lease.attempt, lease.failures) == (loss, 0)
        let_expire(store, lease)
    assert store.claim("a", 1, 600.0) == []
    (failed,) = store.failed(run_id)
    assert (failed.failures, failed.losses, failed.error) == (0, 4, "the lease ran out")


def test_leases_of_the_dead_are_taken_back_at_once(store: Store) -> None:
    add(store, score_job(1), score_job(2))
    dead, alive = claim_one(store, "dead"), claim_one(store, "alive")
    assert store.take_back("dead") == 1
    assert store.take_back("dead") == 0
    assert state_of(store, dead) is JobState.WAITING
    assert state_of(store, alive) is JobState.LEASED
    assert outcomes(store)[0] == (1, AttemptOutcome.LOST, "the owner of the lease is gone")


def test_failed_jobs_are_reset_by_filter(store: Store) -> None:
    jobs = [score_job(number) for number in range(4)]
    run_id = add(store, *jobs)
    other = add(store, jobs[0], name="other")
    for number, lease in enumerate(store.claim("a", 9, 600.0)):
        store.fail(lease, f"100%_error {number}", retry=False)
    assert store.retry_failed(kind=JobKind.MEASURE) == 0
    assert store.retry_failed(error_contains="00_error") == 0  # no pattern
    assert store.retry_failed(run_id=other) == 1
    assert store.retry_failed(job_ids=[jobs[1].id]) == 1
    assert store.retry_failed(run_id=run_id, kind=JobKind.SCORE, error_contains="%_error 2") == 1
    again = store.claim("a", 9, 600.0)
    assert [lease.job_id for lease in again] == [job.id for job in jobs[:3]]
    assert [(lease.attempt, lease.failures) for lease in again] == [(2, 0)] * 3
    assert store.retry_failed() == 1


def test_what_waits_for_a_failed_job_is_told(store: Store) -> None:
    first, free = score_job(1), score_job(2)
    second = score_job(3, (first.id, free.id))
    third = score_job(4, (second.id,))
    run_id = add(store, first, free, second, third)
    store.fail(claim_one(store), "error", retry=False)
    assert store.blocked(run_id) == [second.id, third.id]
    (progress,) = store.progress(run_id)
    assert (progress.waiting, progress.blocked, progress.failed, progress.open) == (3, 2, 1, 1)
    assert store.failed()[0].blocks == 2
    assert store.retry_failed() == 1
    assert store.blocked(run_id) == []


def test_it_is_noted_who_does_what(store: Store) -> None:
    run_id = add(store, *(score_job(number) for number in range(6)))
    first, _, second = store.claim("a", 3, 600.0, run_id, workers=["node:1", "node:2", "node:1"])
    store.complete(first, score())
    (failed,) = store.claim("a", 1, 600.0, run_id, workers=["node:3"])
    store.fail(failed, "error", retry=False)
    store.claim("a", 1, 600.0, run_id)  # by nobody in particular
    with store.query("SELECT worker FROM attempts_view ORDER BY number, started_at, job") as answer:
        assert sorted(str(worker) for (worker,) in answer.rows) == [
            "None",
            "node:1",
            "node:1",
            "node:2",
            "node:3",
        ]
    one, two, three = store.workers(run_id)
    assert (one.worker, one.owner, one.kind, one.behind) == ("node:1", "a", JobKind.SCORE, 0)
    assert (one.done, two.done, three.done) == (1, 0, 0)
    assert (one.failed, two.failed, three.failed) == (0, 0, 1)
    assert (three.kind, three.since) == (None, None)
    # It came to its second job when the first was done, not when it was handed both.
    assert one.since is not None
    assert two.since is not None
    assert one.since >= two.since
    assert store.workers(add(store, name="another run")) == []
    store.release([second])
    assert [worker.kind for worker in store.workers(run_id)] == [None, JobKind.SCORE, None]
    time.sleep(0.05)
    assert [worker.worker for worker in store.workers(run_id, window_seconds=0.02)] == ["node:2"]


def test_a_worker_is_at_its_job_since_it_ended_the_one_before(store: Store) -> None:
    run_id = add(store, score_job(1), score_job(2))
    first, _ = store.claim("a", 2, 600.0, run_id, workers=["node:1", "node:1"])
    time.sleep(0.2)
    store.complete(first, score())
    (worker,) = store.workers(run_id)
    assert worker.since is not None
    time.sleep(0.2)
    # Also when that lies before the last seconds, in which nothing was done.
    (later,) = store.workers(run_id, window_seconds=0.1)
    assert (later.done, later.since) == (0, worker.since)
    assert worker.since - first.expires_at + timedelta(seconds=600) > timedelta(seconds=0.15)


def test_workers_of_a_driver_that_is_gone_are_at_nothing(store: Store) -> None:
    run_id = add(store, score_job(1), score_job(2))
    (gone,) = store.claim("dead", 1, 600.0, run_id, workers=["node:1"])
    store.claim("alive", 1, 600.0, run_id, workers=["node:2"])
    let_expire(store, gone)
    assert [worker.worker for worker in store.workers(run_id)] == ["node:2"]


def test_what_a_worker_has_not_come_to_waits_behind(store: Store) -> None:
    run_id = add(store, score_job(1), score_job(2), score_job(3))
    store.claim("a", 2, 600.0, run_id, workers=["node:1", "node:2"])
    store.claim("a", 1, 600.0, run_id, workers=["node:1"])
    assert [(one.worker, one.behind) for one in store.workers(run_id)] == [("node:1", 1), ("node:2", 0)]


def test_unusable_leases_are_invalid(store: Store) -> None:
    for seconds in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidInputError, match="lease_seconds"):
            store.claim("a", 1, seconds)
    with pytest.raises(InvalidInputError, match="lease_seconds"):
        store.renew([], 0.0)
    with pytest.raises(InvalidInputError, match="owner"):
        store.claim("", 1, 600.0)
    with pytest.raises(InvalidInputError, match="each of 3 leases, or none; got 2"):
        store.claim("a", 3, 600.0, workers=["node:1", "node:2"])
    with pytest.raises(InvalidInputError, match="max_failures"):
        RetryPolicy(max_failures=0)
    with pytest.raises(InvalidInputError, match="first_wait_seconds"):
        RetryPolicy(first_wait_seconds=float("nan"))


def test_nothing_to_do_is_no_error(store: Store) -> None:
    assert store.claim("a", 5, 600.0) == []
    assert store.renew([], 600.0) == []
    assert store.release([]) == 0
    assert store.complete_many([]) == []
