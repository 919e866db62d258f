"""The pool of Ray actors without Ray: what each kind of failure is, and what happens to the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from ray import exceptions as of_ray

from bat.errors import InvalidInputError
from harness import clashes
from harness.driver import ray_pool
from harness.driver.pool import Failure, FailureKind, Outcome
from harness.driver.ray_pool import ClusterError, RayPool, classify
from harness.scoring.request import ScoreRequest
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep, write_corpus
from workers.requests import FeaturizeRequest, GenerateRequest, ModelRequest, Request


def task_error(cause: Exception, traceback: str = "the worker's traceback") -> of_ray.RayTaskError:
    """How an exception inside a worker is sent."""
    return of_ray.RayTaskError("answer", traceback, cause, "ray::Worker", 1, "127.0.0.1")


def raised(cause: Exception) -> of_ray.RayTaskError:
    """What `ray.get` raises for it: an exception of both classes."""
    return task_error(cause).as_instanceof_cause()


class Unpicklable(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("not this one")


class Odd(of_ray.RayError):
    """One that a later release of Ray may bring."""


def test_an_error_inside_a_worker_keeps_its_kind() -> None:
    invalid = classify(raised(InvalidInputError("epsilon must lie in (0, 1); got 2.")))
    assert invalid == Failure(FailureKind.INVALID, "epsilon must lie in (0, 1); got 2.")
    for cause in (torch.OutOfMemoryError("CUDA out of memory"), MemoryError("no more")):
        assert classify(raised(cause)).kind is FailureKind.OUT_OF_MEMORY
    lost = classify(raised(torch.AcceleratorError("CUDA error: device lost")))
    assert lost.kind is FailureKind.DEVICE_LOST
    assert lost.text.endswith("CUDA error: device lost")
    error = classify(raised(RuntimeError("boom")))
    assert error.kind is FailureKind.ERROR
    assert error.text.splitlines()[0] == "RuntimeError: boom"
    assert "the worker's traceback" in error.text


def test_an_error_that_cannot_be_sent_is_still_the_workers_own() -> None:
    assert classify(task_error(Unpicklable("odd"))).kind is FailureKind.ERROR


@pytest.mark.parametrize(
    "error",
    [
        of_ray.ActorDiedError(),
        of_ray.ActorUnavailableError("it was restarted", None),
        of_ray.NodeDiedError("the machine is gone"),
        of_ray.WorkerCrashedError(),
        of_ray.ObjectLostError("ab" * 28, None, ""),
        of_ray.OwnerDiedError("ab" * 28, None, ""),
        of_ray.LocalRayletDiedError(),
        of_ray.GetTimeoutError("too late"),
        of_ray.RaySystemError("broken"),
        Odd("new"),
        raised(of_ray.ObjectLostError("ab" * 28, None, "")),  # a request that was lost on its way
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_befalls_a_worker_is_a_loss(error: Exception) -> None:
    failure = classify(error)
    assert failure.kind is FailureKind.WORKER_LOST
    assert failure.text


def test_a_worker_that_ray_ends_to_save_memory_ran_out_of_it() -> None:
    failure = classify(of_ray.OutOfMemoryError("1 worker was killed due to the node running low on memory"))
    assert failure.kind is FailureKind.OUT_OF_MEMORY
    assert "low on memory" in failure.text


def test_anything_else_is_an_error() -> None:
    assert classify(KeyError("x")) == Failure(FailureKind.ERROR, "KeyError: 'x'")


@dataclass
class FakeActor:
    """Stands for a handle: `location` and `answer` give references, which the test fulfils."""

    number: int
    asked: list[str] = field(default_factory=list)

    def _method(self, name: str) -> Any:
        def remote(*_: object) -> str:
            self.asked.append(f"{name}-{self.number}-{len(self.asked)}")
            return self.asked[-1]

        return type("Method", (), {"remote": staticmethod(remote)})

    @property
    def location(self) -> Any:
        return self._method("location")

    @property
    def answer(self) -> Any:
        return self._method("answer")


class FakeRay:
    """Knows what has come in for each reference."""

    def __init__(self) -> None:
        self.there: dict[str, object] = {}
        self.started: list[FakeActor] = []
        self.killed: list[FakeActor] = []
        self.connected = True

    def is_initialized(self) -> bool:
        return self.connected

    def start(self, *_: object, **options: object) -> FakeActor:
        assert options.pop("explain") is clashes.find_clash
        assert options == {"max_restarts": 0, "max_task_retries": 0}
        self.started.append(FakeActor(len(self.started)))
        return self.started[-1]

    def wait(self, references: list[str], num_returns: int, timeout: float) -> tuple[list[str], list[str]]:
        ready = [one for one in references if one in self.there][:num_returns]
        return ready, [one for one in references if one not in ready]

    def get(self, reference: str) -> object:
        found = self.there[reference]
        if isinstance(found, Exception):
            raise found
        return found

    def kill(self, actor: FakeActor, no_restart: bool) -> None:
        assert no_restart
        self.killed.append(actor)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setattr(ray_pool, "start_worker", fake.start)
    monkeypatch.setattr(ray_pool, "ray", fake)
    return fake


MODEL = ModelRequest("fake:")
REQUEST: Request[Any] = FeaturizeRequest(MODEL, ("text",))


def names(pool: RayPool) -> list[str]:
    return [vacancy.worker for vacancy in pool.vacancies()]


def test_requests_go_to_workers_that_have_started(fake: FakeRay) -> None:
    pool = RayPool(2)
    assert pool.vacancies() == []
    assert pool.wait(0) == []
    fake.there["location-1-0"] = "host:2"
    assert pool.wait(0) == []
    assert names(pool) == ["worker-1", "worker-1"]
    fake.there["location-0-0"] = "host:1"
    pool.wait(0)
    assert names(pool) == ["worker-0", "worker-1"] * 2
    pool.submit("worker-0", "ticket", REQUEST)
    assert names(pool) == ["worker-1", "worker-0", "worker-1"]  # idle ones first
    assert [vacancy.model for vacancy in pool.vacancies()] == [None, MODEL, None]
    fake.there["answer-0-1"] = "answer"
    [outcome] = pool.wait(0)
    assert (outcome.ticket, outcome.worker, outcome.result) == ("ticket", "worker-0", "answer")


@pytest.fixture
def busy(fake: FakeRay) -> RayPool:
    """One worker with two requests, and an idle one."""
    pool = RayPool(2)
    fake.there |= {"location-0-0": "host:1", "location-1-0": "host:2"}
    pool.wait(0)
    pool.submit("worker-0", "first", REQUEST)
    pool.submit("worker-0", "second", REQUEST)
    return pool


def kinds(pool: RayPool) -> dict[str, object]:
    results = {outcome.ticket: outcome.result for outcome in pool.wait(0)}
    return {ticket: getattr(result, "kind", result) for ticket, result in results.items()}


DIED = of_ray.ActorDiedError()


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ({1: DIED, 2: DIED}, {"first": FailureKind.WORKER_LOST, "second": FailureKind.NOT_BEGUN}),
        ({1: DIED}, {"first": FailureKind.WORKER_LOST, "second": FailureKind.NOT_BEGUN}),
        # The error of the second may be there before that of the first, which is the one that ran.
        ({2: DIED}, {"first": FailureKind.WORKER_LOST, "second": FailureKind.NOT_BEGUN}),
        ({1: "answer", 2: DIED}, {"first": "answer", "second": FailureKind.WORKER_LOST}),
        (
            {1: of_ray.OutOfMemoryError("low on memory")},
            {"first": FailureKind.OUT_OF_MEMORY, "second": FailureKind.NOT_BEGUN},
        ),
        (  # an error of its own, but whatever the process does next on the device fails, too
            {1: raised(torch.AcceleratorError("CUDA error: unspecified launch failure"))},
            {"first": FailureKind.DEVICE_LOST, "second": FailureKind.NOT_BEGUN},
        ),
    ],
)
def test_a_worker_that_is_gone_is_replaced_and_gives_everything_back(
    there: dict[int, object], expected: dict[str, object], fake: FakeRay, busy: RayPool
) -> None:
    fake.there |= {f"answer-0-{number}": result for number, result in there.items()}
    assert kinds(busy) == expected
    assert fake.killed == fake.started[:1]
    assert len(fake.started) == 3
    assert names(busy) == ["worker-1", "worker-1"]  # the new one has not started
    fake.there["location-2-0"] = "elsewhere:1"
    busy.wait(0)
    assert [vacancy.model for vacancy in busy.vacancies()] == [None] * 4  # nor has it a model at hand


def test_an_error_leaves_its_worker_alive(fake: FakeRay, busy: RayPool) -> None:
    fake.there["answer-0-1"] = raised(RuntimeError("boom"))
    assert kinds(busy) == {"first": FailureKind.ERROR}
    fake.there["answer-0-2"] = "answer"
    assert kinds(busy) == {"second": "answer"}
    assert (fake.killed, len(fake.started)) == ([], 2)


def test_a_score_leaves_the_model_at_hand(fake: FakeRay, busy: RayPool) -> None:
    fake.there |= {"answer-0-1": "answer", "answer-0-2": "answer"}
    busy.wait(0)
    busy.submit("worker-0", "score", ScoreRequest(None, (), None))  # type: ignore[arg-type]
    assert {vacancy.model for vacancy in busy.vacancies() if vacancy.worker == "worker-0"} == {MODEL}


def test_a_cluster_on_which_nothing_starts_is_given_up(fake: FakeRay) -> None:
    pool = RayPool(2)

    def fail() -> None:
        missing = "ModuleNotFoundError: No module named 'harness'"
        broken = task_error(RuntimeError("no import"), f"Traceback of many lines\n{missing}")
        fake.there |= {f"location-{actor.number}-0": of_ray.ActorDiedError(broken) for actor in fake.started}

    for _ in range(2):
        fail()
        assert pool.wait(0) == []
    fail()
    with pytest.raises(ClusterError, match="No module named 'harness'") as found:
        pool.wait(0)
    assert "Traceback" not in str(found.value)
    assert "--ship-code" in str(found.value)
    assert len(fake.started) == 6  # three times each


def test_a_start_that_fails_now_and_then_is_forgiven(fake: FakeRay) -> None:
    pool = RayPool(1)
    for number in range(2):
        fake.there[f"location-{number}-0"] = DIED
        pool.wait(0)
    fake.there["location-2-0"] = "host:1"
    pool.wait(0)
    assert names(pool) == ["worker-0"] * 2
    pool.submit("worker-0", "ticket", REQUEST)
    fake.there["answer-2-1"] = DIED
    assert kinds(pool) == {"ticket": FailureKind.WORKER_LOST}
    fake.there["location-3-0"] = DIED  # the first in a row again
    pool.wait(0)
    assert len(fake.started) == 5


def test_waiting_for_room_is_said_now_and_then(fake: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    clock: Callable[[], float] = lambda: now  # noqa: E731
    monkeypatch.setattr(ray_pool.time, "monotonic", clock)
    said: list[str] = []
    pool = RayPool(1, note=said.append)
    for second in range(100):
        now = float(second)
        pool.wait(0)
    assert said == ["No worker has started yet: waiting for room in the cluster."] * 3
    fake.there["location-0-0"] = "host:1"
    now = 200.0
    pool.wait(0)
    assert len(said) == 3


def test_a_lost_cluster_is_not_replaced_by_one_on_this_machine(fake: FakeRay, busy: RayPool) -> None:
    fake.there["answer-0-1"] = ConnectionError("Client is shutting down")
    fake.connected = False
    with pytest.raises(ConnectionError, match="lost"):
        busy.wait(0)
    busy.close()
    assert (fake.killed, len(fake.started)) == ([], 2)


def test_closing_lets_all_workers_go(fake: FakeRay, busy: RayPool) -> None:
    busy.close()
    assert fake.killed == fake.started
    assert busy.vacancies() == []


class Deadly(LocalPool):
    """One worker, which some requests kill. What waits behind them has not begun."""

    def wait(self, seconds: float) -> list[Outcome]:
        [(ticket, request), *behind] = self._out["w0"] or [("", None)]
        if not isinstance(request, GenerateRequest) or request.settings.rule.name != "ba-eta":
            return super().wait(seconds)
        self._out["w0"].clear()
        results = [Failure(FailureKind.WORKER_LOST, "it died")]
        results += [Failure(FailureKind.NOT_BEGUN, "not its turn")] * len(behind)
        tickets = [ticket, *(other for other, _ in behind)]
        return [Outcome(ticket, "w0", result) for ticket, result in zip(tickets, results, strict=True)]


def test_a_job_that_kills_its_workers_takes_no_other_with_it(tmp_path: Path) -> None:
    # Both ba-eta jobs kill; human features and eta's jobs stand behind them in the queue now and then.
    methods = [{"rule": "ba-eta", "parameter": 0.05, "constraints": 4}, {"rule": "eta", "parameter": 0.01}]
    config = tiny_sweep(
        write_corpus(tmp_path / "corpus"), methods=methods, stages=[{"name": "compare", "split": "test"}]
    )
    with open_quick_store(tmp_path / "r.db") as store:
        driver = make_driver(store, config, Deadly)
        summary = driver.run()
        failed = store.failed(driver.run_id)
        with store.query("SELECT count(*) FROM attempts WHERE outcome = 'released'") as found:
            [(released,)] = found.rows
    assert [job.spec["rule"] for job in failed] == ["ba-eta", "ba-eta"]
    assert (summary.failed, summary.failed_attempts) == (2, 6)
    assert released > 0
    assert summary.blocked == 3  # their features and the score
