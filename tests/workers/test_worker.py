"""Workers: one model at a time, the same answers as the functions below them, through Ray too."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import bat
from bat.errors import InvalidInputError
from workers import models
from workers.generation import GenerationSettings, generate
from workers.positions import TokenizedDocument, draw_positions
from workers.prefixes import Prefix
from workers.requests import FeaturizeRequest, GenerateRequest, MeasureRequest, ModelRequest, Worker
from workers.traces import encode_trace

FAKE = ModelRequest("fake:v=400,d=16")


def generate_request(model: ModelRequest = FAKE, rule: str = "ba-eta=0.1") -> GenerateRequest:
    generator = np.random.default_rng(1)
    shard = tuple(Prefix(f"p{k}", tuple(generator.integers(0, 250, 5).tolist()), ()) for k in range(4))
    return GenerateRequest(model, shard, GenerationSettings(bat.get_rule(rule), constraints=6, max_tokens=8))


def measure_request() -> MeasureRequest:
    generator = np.random.default_rng(2)
    documents = tuple(TokenizedDocument(f"d{k}", generator.integers(0, 250, 60)) for k in range(3))
    return MeasureRequest(FAKE, documents, draw_positions(documents, 6, 2), constraints=(4,))


REQUESTS = {
    "generate": generate_request(),
    "measure": measure_request(),
    "featurize": FeaturizeRequest(FAKE, ("one text", "another text"), max_tokens=16),
}


def content(value: object) -> object:
    """An answer's value as something that can be compared, without timings."""
    if isinstance(value, list):
        return [(one.prefix_id, one.text, one.stop_reason, encode_trace(one.trace)) for one in value]
    if isinstance(value, np.ndarray):
        return value.tobytes()
    columns = value.to_columns()  # type: ignore[attr-defined]
    return {name: column.tolist() for name, column in columns.items() if not name.startswith("seconds")}


def test_answers_are_those_of_the_plain_functions() -> None:
    request = generate_request()
    answer = Worker("cpu").answer(request)
    expected = generate(models.load(FAKE.name, "cpu"), request.prefixes, request.settings)
    assert content(answer.value) == content(expected)
    assert answer.model.vocabulary_size == 400
    assert answer.seconds > 0


@pytest.mark.parametrize("kind", REQUESTS)
def test_requests_and_answers_cross_process_borders(kind: str) -> None:
    request = pickle.loads(pickle.dumps(REQUESTS[kind]))
    answer = Worker("cpu").answer(request)
    copy = pickle.loads(pickle.dumps(answer))
    assert content(copy.value) == content(answer.value)
    assert copy.model == answer.model


def test_a_model_is_kept_until_another_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = []

    def load(name: str, *rest: object) -> models.LanguageModel:
        loads.append(name)
        return real(name, *rest)  # type: ignore[arg-type]

    real = models.load
    monkeypatch.setattr(models, "load", load)
    worker = Worker("cpu")
    for request in (*REQUESTS.values(), *REQUESTS.values()):
        worker.answer(request)
    assert loads == [FAKE.name]
    worker.answer(generate_request(ModelRequest("fake:v=300,d=16")))
    worker.answer(generate_request())
    assert loads == [FAKE.name, "fake:v=300,d=16", FAKE.name]


def test_what_is_no_request_is_invalid() -> None:
    with pytest.raises(InvalidInputError, match=r"a worker answers requests .* got 'hello'"):
        Worker("cpu").answer("hello")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    import ray

    ray.init(num_cpus=2, num_gpus=0, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.mark.xdist_group("ray")
@pytest.mark.filterwarnings("ignore")  # Ray's own, which differ from release to release
def test_actors_answer_as_plain_workers_do(cluster: None) -> None:
    import ray

    from workers.actors import start_worker

    actors = [start_worker(num_cpus=1) for _ in range(2)]
    asked = [
        (kind, request, actor.answer.remote(request))
        for actor in actors
        for kind, request in REQUESTS.items()
    ]
    plain = Worker("cpu", threads=1)
    for kind, request, waiting in asked:
        answer = ray.get(waiting, timeout=400)
        assert answer.model.device == "cpu", kind
        assert content(answer.value) == content(plain.answer(request).value), kind

    # A worker's error reaches the driver as what it was, and leaves the actor alive.
    broken = actors[0].answer.remote(generate_request(ModelRequest("fake:fail_at=1")))
    with pytest.raises(RuntimeError, match="forward pass"):
        ray.get(broken, timeout=400)
    assert ray.get(actors[0].answer.remote(REQUESTS["generate"]), timeout=400).value


def test_an_actor_needs_a_core() -> None:
    from workers.actors import start_worker

    with pytest.raises(InvalidInputError, match="num_cpus must be at least 1"):
        start_worker(num_cpus=0)


def test_an_actor_with_a_gpu_computes_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    from workers.actors import get_origin, start_worker

    seen: dict[str, object] = {}

    class Remote:
        def options(self, **options: object) -> Remote:
            seen.update(options)
            return self

        def remote(self, **arguments: object) -> str:
            seen.update(arguments)
            return "handle"

    monkeypatch.setattr(ray, "remote", lambda _: Remote())
    handle = start_worker(num_cpus=4, num_gpus=0.5, batches_in_flight=3, explain=repr, max_restarts=2)
    assert handle == "handle"
    assert seen.pop("explain") is repr
    assert seen.pop("driver") == get_origin()
    assert seen == {
        "num_cpus": 4,
        "num_gpus": 0.5,
        "max_restarts": 2,
        "device": "cuda",
        "threads": 4,
        "batches_in_flight": 3,
    }
