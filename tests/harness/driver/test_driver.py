"""The driver: the same results however the work is done, and a clear account of what was not."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.driver.driver import Driver
from harness.driver.pool import REQUESTS_PER_WORKER, Outcome, is_invalid_input
from harness.driver.stopping import Stop
from harness.jobs import JobKind, JobSpec, ScoreGenerated, ScoreHuman
from harness.jobs.score import SCORE_VERSION
from harness.planning import resolve
from harness.planning.planner import Plan
from harness.planning.work import later_jobs
from harness.store import JobState, Lease, Store
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep, write_corpus
from workers.generation import Generation, StopReason
from workers.requests import Answer, GenerateRequest, Request, Worker
from workers.traces import Trace


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("text") / "corpus")


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of the results when one worker does everything in order."""
    with open_quick_store(tmp_path_factory.mktemp("expected") / "r.db") as store:
        driver = make_driver(store, tiny_sweep(corpus), LocalPool)
        assert driver.run().complete
        return store.results_hash(driver.run_id)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_quick_store(tmp_path / "r.db")


def first_token(trace: Trace) -> Trace:
    """The trace as if the text had ended with its first token."""
    kept = {name: getattr(trace, name)[:1] for name in Trace.__slots__ if name != "rejected_tokens"}
    return Trace(**kept, rejected_tokens=trace.rejected_tokens[: int(trace.rejections[0])])


def counts(driver: Driver) -> dict[JobKind, tuple[int, int]]:
    return {one.kind: (one.done, one.total) for one in driver.store.progress(driver.run_id)}


def test_runs_a_sweep_from_human_text_to_scores(store: Store, corpus: Path) -> None:
    driver = make_driver(store, tiny_sweep(corpus), LocalPool)
    summary = driver.run()
    assert summary.complete
    found = counts(driver)
    assert found == {
        JobKind.MEASURE: (4, 4),  # for rejection rates, and for the perplexity of human text
        JobKind.GENERATE: (4, 4),
        JobKind.FEATURIZE: (6, 6),
        JobKind.SCORE: (3, 3),
    }
    assert summary.done == 17
    [resolution] = store.resolutions(driver.run_id)
    assert "ba-eta rejecting as much as eta=0.01" in resolution.parameter
    assert 0 < resolution.value < 1
    assert len(resolution.job_ids) == 2
    assert resolution.detail["low"] <= resolution.value <= resolution.detail["high"]
    assert resolution.detail["reference"] == "eta=0.01"
    rates = resolution.detail["rate"], resolution.detail["reference_rate"]
    assert rates[0] == pytest.approx(rates[1], abs=1 / 12)
    assert resolution.how.endswith("no parameter comes nearer") == (abs(rates[0] - rates[1]) >= 0.005)
    generated = list(store.jobs(driver.run_id, JobKind.GENERATE))
    assert {job.spec["rule"] for job in generated} == {"eta", "ba-eta"}
    assert {job.spec["parameter"] for job in generated} == {0.01, resolution.value}
    scores = store.scores([job.id for job in store.jobs(driver.run_id, JobKind.SCORE)])
    assert [0 < (score.value or 0) <= 1 for score in scores if score.name == "mauve"] == [True, True]
    perplexities = [score.value or 0 for score in scores if score.name == "perplexity"]
    assert len(perplexities) == 3  # two methods and people
    assert min(perplexities) > 1
    assert sum(score.name == "programs" for score in scores) == 2  # people do not sample


def test_a_second_run_has_nothing_to_do_and_starts_no_workers(store: Store, corpus: Path) -> None:
    config = tiny_sweep(corpus)
    assert make_driver(store, config, LocalPool).run().done == 17

    def no_pool() -> LocalPool:
        raise AssertionError("workers were started")

    again = make_driver(store, config, no_pool).run()
    assert (again.done, again.complete) == (0, True)


@pytest.mark.parametrize("workers", [1, 4])
def test_what_results_decide_is_planned_while_other_jobs_are_open(
    workers: int, store: Store, corpus: Path
) -> None:
    open_jobs: list[int] = []
    driver = make_driver(
        store,
        tiny_sweep(corpus),
        lambda: LocalPool(workers),
        note=lambda text: open_jobs.append(sum(one.open for one in store.progress(1))),
    )
    assert driver.run().complete
    # All 12 jobs that could be named at first are planned, and the two that decide are done early. With more
    # workers, some may bring other answers before.
    assert open_jobs[0] >= 12 + 5 - 2 - REQUESTS_PER_WORKER * workers
    assert len(open_jobs) == 1


def test_two_drivers_together_find_out_what_is_decided(store: Store, corpus: Path) -> None:
    driver = make_driver(store, tiny_sweep(corpus), LocalPool)
    driver._enqueue()
    first, second = store.claim("another", 2, 60.0)
    assert {first.kind, second.kind} == {JobKind.MEASURE}  # the two that decide
    worker = Worker("cpu", threads=1)
    measured = [worker.answer(lease.parse().request(driver.inputs)) for lease in (first, second)]
    assert store.complete(first, first.parse().rows(measured[0].value))
    store.release([second])
    (ours,) = store.claim(driver.owner, 1, 60.0)
    driver.leases["ours"] = ours
    driver._write([Outcome("ours", "w0", measured[1])])
    assert driver._decided


def test_a_parameter_that_cannot_be_resolved_is_reported_and_the_rest_is_done(
    store: Store, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise InvalidInputError("the rate must lie in [0, 0.5].")

    monkeypatch.setattr(resolve, "parameter_at_rate", fail)
    methods = [{"rule": "eta", "parameter": 0.01}, {"rule": "top-k", "parameter": {"hrr": 0.9}}]
    notes: list[str] = []
    driver = make_driver(store, tiny_sweep(corpus, methods=methods), LocalPool, note=notes.append)
    summary = driver.run()
    assert not summary.complete
    assert (summary.failed, summary.unresolved) == (0, [])
    [reason] = summary.unresolvable
    name = "compare: top-k on fake: top-k rejecting 90%"
    assert reason == f"{name}: the rate must lie in [0, 0.5]."
    assert notes == [f"{name} cannot be resolved: the rate must lie in [0, 0.5]."]
    assert all(done == total for done, total in counts(driver).values())
    assert summary.done == 12
    again = make_driver(store, tiny_sweep(corpus, methods=methods), LocalPool)
    assert again.run().unresolvable == [reason]
    plan = again._enqueue()
    assert (len(plan.unresolved), plan.awaiting, later_jobs(again.materials, plan)) == (1, [], [])


def test_planning_for_longer_than_a_lease_loses_none(
    store: Store, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = make_driver(store, tiny_sweep(corpus), lambda: LocalPool(4))
    driver.lease_seconds = 0.4
    plan = driver._enqueue
    slow = [0.0, 0.8]  # the first plan, and the one while jobs are out

    def plan_slowly() -> Plan:
        time.sleep(slow.pop(0) if slow else 0.0)
        return plan()

    monkeypatch.setattr(driver, "_enqueue", plan_slowly)
    summary = driver.run()
    assert slow == []
    assert (summary.complete, summary.late) == (True, 0)
    with store.query("SELECT count(*) FROM attempts WHERE outcome = 'lost'") as answer:
        assert list(answer.rows) == [(0,)]


def test_who_did_what_is_kept(store: Store, corpus: Path) -> None:
    make_driver(store, tiny_sweep(corpus), lambda: LocalPool(2)).run()
    with store.query("SELECT DISTINCT worker FROM attempts ORDER BY worker") as answer:
        assert list(answer.rows) == [("here:w0",), ("here:w1",)]


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_any_number_of_workers_in_any_order_gives_the_same_bits(
    workers: int, seed: int, store: Store, corpus: Path, expected: str
) -> None:
    driver = make_driver(store, tiny_sweep(corpus), lambda: LocalPool(workers, seed))
    assert driver.run().complete
    assert store.results_hash(driver.run_id) == expected


@pytest.mark.parametrize("seed", range(5))
def test_workers_that_die_cost_only_time(seed: int, store: Store, corpus: Path, expected: str) -> None:
    chance = np.random.default_rng(seed)
    driver = make_driver(
        store, tiny_sweep(corpus), lambda: LocalPool(4, seed, lose=lambda: chance.random() < 0.15)
    )
    store.retry = type(store.retry)(max_failures=50, first_wait_seconds=0.0)
    summary = driver.run()
    assert summary.complete
    assert store.results_hash(driver.run_id) == expected


def test_two_sweeps_share_their_jobs(store: Store, corpus: Path) -> None:
    assert make_driver(store, tiny_sweep(corpus), LocalPool).run().done == 17
    wider = tiny_sweep(
        corpus,
        name="wider",
        methods=[{"rule": "eta", "parameter": [0.01, 0.02]}],
        stages=[{"name": "other", "split": "test"}],
    )
    driver = make_driver(store, wider, LocalPool)
    summary = driver.run()
    assert summary.complete
    # Only eta = 0.02 is new: two shards, their features, one score.
    assert summary.done == 5


def test_running_out_of_memory_halves_the_batch_and_says_so(store: Store, corpus: Path) -> None:
    config = tiny_sweep(corpus, model="fake:v=300,d=8,oom_above=1")
    driver = make_driver(store, config, LocalPool)
    store.retry = type(store.retry)(max_failures=5, first_wait_seconds=0.0)
    summary = driver.run()
    assert summary.complete
    jobs = list(store.jobs(driver.run_id))
    assert {job.kind: job.adjustment for job in jobs} == {
        JobKind.MEASURE: {"batch_size": 1},
        JobKind.GENERATE: {"batch_size": 1},
        JobKind.FEATURIZE: None,  # that model is another
        JobKind.SCORE: None,
    }
    # Eight documents at once, four, two; as many human continuations; two prefixes at once.
    assert summary.failed_attempts == 2 * 3 + 2 * 3 + 4 * 1


def test_a_device_that_vanishes_costs_an_attempt_and_keeps_its_reason(
    store: Store, corpus: Path, expected: str
) -> None:
    """The model loses its device in the middle of a text; a worker that loads it again finishes the job."""
    config = tiny_sweep(corpus, model="fake:v=300,d=8,lost_at=12")
    driver = make_driver(store, config, LocalPool)
    store.retry = type(store.retry)(max_failures=50, first_wait_seconds=0.0)
    summary = driver.run()
    assert summary.complete
    assert summary.failed_attempts == 1
    with store.query("SELECT error FROM attempts WHERE error IS NOT NULL") as answer:
        [(error,)] = answer.rows
    assert error.startswith("device lost: ")
    assert "loses its device at forward pass 12" in error
    assert store.results_hash(driver.run_id) == expected


def test_what_workers_spend_their_time_on_is_kept_beside_results(store: Store, corpus: Path) -> None:
    driver = make_driver(store, tiny_sweep(corpus), LocalPool)
    assert driver.run().complete
    columns = "forward_seconds > 0, settle_seconds > 0, waiting_seconds >= 0, batches_in_flight"
    with store.query(f"SELECT DISTINCT kind, {columns} FROM attempts_view ORDER BY kind") as answer:
        found = {kind: tuple(values) for kind, *values in answer.rows}
    timed = (1, 1, 1, 1)
    assert found == {
        "featurize": (None,) * 4,
        "generate": timed,
        "measure": timed,
        "score": (None,) * 4,
    }
    generated = [job.id for job in store.jobs(driver.run_id) if job.kind is JobKind.GENERATE]
    total = store.time_use(generated)
    assert total is not None
    assert 0.0 <= total.waiting_share < 1.0


def test_memory_that_is_never_enough_ends_the_job(store: Store, corpus: Path) -> None:
    driver = make_driver(store, tiny_sweep(corpus, model="fake:v=300,d=8,oom_above=0"), LocalPool)
    summary = driver.run()
    failed = store.failed(driver.run_id)
    assert {(job.kind, job.attempts) for job in failed} == {
        (JobKind.MEASURE, 4),  # eight documents, four, two, one: however few attempts are allowed
        (JobKind.GENERATE, 2),  # two prefixes, one
    }
    assert summary.failed == len(failed) == 6
    assert all("out of memory" in (job.error or "") for job in failed)
    assert summary.unresolved == ["compare: ba-eta on fake: ba-eta rejecting as much as eta=0.01 (c=4)"]


def test_a_poisoned_shard_is_set_aside_and_the_sweep_goes_on(
    store: Store, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Worker.answer

    def poisoned(self: Worker, request: object) -> Answer[Any]:
        settings = getattr(request, "settings", None)
        if settings is not None and settings.rule.name == "ba-eta":
            raise RuntimeError("poison")
        return real(self, request)  # type: ignore[arg-type]

    monkeypatch.setattr(Worker, "answer", poisoned)
    driver = make_driver(store, tiny_sweep(corpus), LocalPool)
    summary = driver.run()
    assert summary.failed == 2
    assert summary.blocked == 3  # their features and the score
    assert summary.failed_attempts == 6
    assert not summary.complete
    assert counts(driver)[JobKind.SCORE] == (2, 3)
    # The fault mended, the same command finishes the rest.
    monkeypatch.undo()
    assert store.retry_failed(driver.run_id) == 2
    assert make_driver(store, tiny_sweep(corpus), LocalPool).run().complete


def test_left_in_the_middle_of_a_claim_nothing_stays_leased(
    store: Store, text_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = make_driver(store, tiny_sweep(text_corpus), LocalPool)

    def leave(lease: object) -> JobSpec[Any]:
        raise KeyboardInterrupt

    # The jobs are claimed, and the driver has written down none of them yet.
    monkeypatch.setattr(Lease, "parse", leave)
    with pytest.raises(KeyboardInterrupt):
        driver.run()
    assert store.owners() == []
    monkeypatch.undo()
    assert make_driver(store, tiny_sweep(text_corpus), LocalPool).run().complete


def test_texts_that_end_at_once_are_scored_as_empty(
    store: Store, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Worker.answer

    def ends_at_once(self: Worker, request: Request[Any]) -> Answer[Any]:
        answer = real(self, request)
        if isinstance(request, GenerateRequest) and request.settings.rule.name == "eta":
            assert isinstance(answer, Answer)
            one_token = [
                replace(made, text="", stop_reason=StopReason.END, trace=first_token(made.trace))
                for made in answer.value
                if isinstance(made, Generation)
            ]
            return replace(answer, value=one_token)
        return answer

    monkeypatch.setattr(Worker, "answer", ends_at_once)
    # Without their prefixes the texts have no words at all.
    features = {"model": "fake:v=300,d=8", "max_tokens": 16, "include_prefix": False}
    config = tiny_sweep(corpus, features=features)
    driver = make_driver(store, config, LocalPool)
    summary = driver.run()
    scores = store.scores([job.id for job in store.jobs(driver.run_id, JobKind.SCORE, JobState.DONE)])
    assert [score.value for score in scores if score.name == "empty"].count(1.0) == 1
    assert summary.complete


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("invalid: epsilon must lie in (0, 1); got 2.", True),
        ("refused: epsilon must lie in (0, 1); got 2.", True),  # as older versions stored it
        ("error: RuntimeError: invalid: no", False),
        ("", False),
    ],
)
def test_stored_errors_of_invalid_input_are_recognized(error: str, expected: bool) -> None:
    assert is_invalid_input(error) is expected


def test_stopping_gives_back_what_nobody_began(store: Store, corpus: Path, expected: str) -> None:
    stop = Stop()
    pool = LocalPool(2)
    pool._after_answer = lambda: setattr(stop, "requested", pool.answered >= 3)
    driver = make_driver(store, tiny_sweep(corpus), lambda: pool, stop=stop)
    summary = driver.run()
    assert summary.stopped
    assert not summary.complete
    assert pool.closed
    assert store.owners(driver.run_id) == []  # no lease is left to run out
    again = make_driver(store, tiny_sweep(corpus), LocalPool)
    assert again.run().complete
    assert store.results_hash(again.run_id) == expected


def test_leaving_at_once_gives_leases_back(store: Store, corpus: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    driver = make_driver(store, tiny_sweep(corpus), lambda: LocalPool(2, after_answer=interrupt))
    with pytest.raises(KeyboardInterrupt):
        driver.run()
    assert store.owners(driver.run_id) == []
    assert make_driver(store, tiny_sweep(corpus), LocalPool).run().complete


def test_a_worker_with_other_weights_is_invalid(store: Store, corpus: Path) -> None:
    driver = make_driver(store, tiny_sweep(corpus), LocalPool)
    materials = driver.materials
    card = materials.card(materials.config.models[0])
    other = materials.card(tiny_sweep(corpus, model="fake:v=300,d=8,seed=3").models[0])
    # The plan was made with another model than workers of that name will load.
    materials._cards[card.request] = type(card)(card.request, other.info, card.tokenizer)
    object.__setattr__(other.info, "name", card.info.name)
    summary = driver.run()
    assert summary.failed > 0
    assert any("must be the same on all machines" in (job.error or "") for job in store.failed(driver.run_id))


def test_a_parameter_is_chosen_by_the_score_and_direction_that_the_sweep_names(
    store: Store, corpus: Path
) -> None:
    def best(**by: str) -> dict[str, Any]:
        return {"best": {"among": [0.01, 0.3, 0.6], **by}}

    methods = [
        {"name": "longest", "rule": "min-p", "parameter": best(metric="entropy", better="higher")},
        {"name": "closest", "rule": "min-p", "parameter": best(metric="entropy")},
        {"name": "unknown", "rule": "min-p", "parameter": best(metric="entrpy", better="higher")},
    ]
    stages = [{"name": "select", "split": "validation"}, {"name": "compare", "split": "test"}]
    scoring = {
        "mauve": {"kmeans_seeds": [25], "kmeans_redo": 1},
        "resamples": 4,
        "statistics": ["entropy", "coherence"],
    }
    driver = make_driver(
        store, tiny_sweep(corpus, methods=methods, stages=stages, scoring=scoring), LocalPool
    )
    summary = driver.run()
    [problem] = summary.unresolvable
    assert "must be one of" in problem
    assert "got 'entrpy'. Did you mean 'entropy'?" in problem
    resolutions = {one.parameter: one for one in store.resolutions(driver.run_id)}
    longest, closest = (
        next(one for name, one in resolutions.items() if f" {method} " in name)
        for method in ("longest", "closest")
    )
    averages = dict(longest.detail["averages"])
    assert averages[longest.value] == max(averages.values())
    assert longest.how.startswith("the highest entropy on validation")
    assert "closest to that of human text" in closest.how
    # Human text has a coherence, too: that of its continuations with the same prefixes.
    specs = store.parsed_jobs(closest.job_ids)
    [human_job] = [job for job, spec in specs.items() if isinstance(spec, ScoreHuman)]
    human = {score.name: score.value for score in store.scores([human_job])}
    assert set(human) == {"coherence", "entropy"}
    distances = {value: abs(average - human["entropy"]) for value, average in averages.items()}
    assert distances[closest.value] == min(distances.values())


@pytest.mark.parametrize(
    ("version", "of_today_alone"), [(None, {"mauve-star", "forward"}), (2, {"forward"}), (3, {"forward"})]
)
def test_an_older_run_is_resumed_with_the_scores_of_today(
    store: Store,
    corpus: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: int | None,
    of_today_alone: set[str],
) -> None:
    plan_of_today = ScoreGenerated.plan.__func__  # type: ignore[attr-defined]

    def older(cls: type[ScoreGenerated], *arguments: Any) -> ScoreGenerated:
        return dataclasses.replace(plan_of_today(cls, *arguments), version=version)

    monkeypatch.setattr(ScoreGenerated, "plan", classmethod(older))
    driver = make_driver(store, tiny_sweep(corpus), LocalPool)
    assert driver.run().complete
    before = driver.run_id
    monkeypatch.undo()
    again = make_driver(store, tiny_sweep(corpus), LocalPool)
    assert again.run_id == before
    assert again.run().done == 2  # the scores of both methods
    specs = store.parsed_jobs(job.id for job in store.jobs(before)).values()
    versions = [spec.version for spec in specs if isinstance(spec, ScoreGenerated)]
    assert Counter(versions) == {SCORE_VERSION: 2, version: 2}
    stored = {
        spec.version: {
            name for score in store.scores([spec.id]) for name in (score.name, *(score.detail or {}))
        }
        for spec in specs
        if isinstance(spec, ScoreGenerated)
    }
    assert of_today_alone <= stored[SCORE_VERSION]
    assert not of_today_alone & stored[version]
