"""Batches in flight: the same bits however many there are, real overlap, and what goes wrong in mid-air."""

from __future__ import annotations

import threading
import time
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import bat
from bat import sampling
from bat.arrays import IntArray
from bat.lanes import Lane
from bat.rules import Rule
from bat.tensor_proposals import TensorDraft
from tests.workers.test_generation import bits, openings, settings
from workers import decoding, measurement, models
from workers.decoding import Decoder, ModelDecoder
from workers.devices import check_batches_in_flight
from workers.generation import generate
from workers.models import LanguageModel
from workers.plugin import RuleSampler
from workers.positions import TokenizedDocument, draw_positions
from workers.requests import GenerateRequest, MeasureRequest, ModelRequest, Worker
from workers.time_use import Clock

NAME = "fake:v=400,d=16,layers=2,context=64"


@pytest.fixture(scope="module")
def fake() -> LanguageModel:
    """A model whose texts end early and at different steps: a twelfth of its vocabulary ends a text."""
    loaded = models.load(NAME, device="cpu")
    return replace(loaded, info=replace(loaded.info, end_tokens=tuple(range(0, 400, 12))))


def test_any_number_in_flight_gives_the_same_bits(fake: LanguageModel) -> None:
    shard, chosen = openings(22, lengths=(5, 8, 3)), settings("ba-eta=0.1", max_tokens=20)
    one = generate(fake, shard, chosen, batches_in_flight=1)
    assert len({len(generation.trace) for generation in one}) > 5  # rows leave their batches at many steps
    for count in (2, 3, 50):  # more than there are batches is fine
        assert bits(generate(fake, shard, chosen, batches_in_flight=count)) == bits(one)


def test_a_slow_listener_does_not_take_a_batch_for_finished_before_its_last_step(fake: LanguageModel) -> None:
    """While the listener is told of a step, the next one is under way on another thread, and ends."""
    shard, chosen = openings(12), settings("eta=0.01", max_tokens=3)
    told: list[int] = []

    def listen(made: int) -> None:
        told.append(made)
        time.sleep(0.05)

    found = generate(fake, shard, chosen, batches_in_flight=2, progress=listen)
    assert bits(found) == bits(generate(fake, shard, chosen))
    assert told[-1] == sum(len(generation.trace) for generation in found)


class WatchedDecoder(ModelDecoder):
    """A decoder that tells what happens to it."""

    def __init__(self, fake: LanguageModel, ids: IntArray, steps: int, watch: Any) -> None:
        super().__init__(fake.model, ids, steps, Clock())
        self.watch = watch

    def step(self, *args: Any, **named: Any) -> Any:
        return self.watch(self, super().step(*args, **named))


def test_a_batch_settles_while_another_runs(fake: LanguageModel) -> None:
    """The first batch waits on the host until the device has run the second one."""
    launched = threading.Event()
    opened: list[Decoder] = []

    class Blocked:
        def __init__(self, draft: Any) -> None:
            self.draft = draft

        def collect(self) -> Any:
            assert launched.wait(60), "the second batch was not launched while the first one was on the host"
            return self.draft.collect()

    def watch(decoder: WatchedDecoder, draft: Any) -> Any:
        if decoder is opened[0]:
            return Blocked(draft)
        launched.set()
        return draft

    def make_decoder(ids: IntArray, steps: int) -> Decoder:
        opened.append(WatchedDecoder(fake, ids, steps, watch))
        return opened[-1]

    shard, chosen = openings(8), settings("ancestral")
    found = generate(fake, shard, chosen, batches_in_flight=2, make_decoder=make_decoder)
    assert bits(found) == bits(generate(fake, shard, chosen))
    assert len(opened) == 2


@pytest.mark.parametrize("room", [1, 2])
def test_memory_that_does_not_suffice_means_fewer_in_flight(fake: LanguageModel, room: int) -> None:
    """A device with memory for so many batches of keys and values: three do not fit, and all are written."""
    alive: weakref.WeakSet[Decoder] = weakref.WeakSet()
    most = 0

    def watch(decoder: WatchedDecoder, draft: Any) -> Any:
        nonlocal most
        if len(alive) > room:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        most = max(most, len(alive))
        return draft

    def make_decoder(ids: IntArray, steps: int) -> Decoder:
        decoder = WatchedDecoder(fake, ids, steps, watch)
        alive.add(decoder)
        return decoder

    shard, chosen, clock = openings(16), settings("ba-eta=0.1"), Clock()
    told: list[int] = []
    with pytest.warns(RuntimeWarning, match="batches in flight; continuing with") as said:
        found = generate(
            fake,
            shard,
            chosen,
            batches_in_flight=3,
            make_decoder=make_decoder,
            progress=told.append,
            clock=clock,
        )
    assert bits(found) == bits(generate(fake, shard, chosen))
    assert str(said[-1].message) == (
        f"Memory ran out with {room + 1} batches in flight; continuing with {room}."
    )
    assert most == room
    assert clock.batches_in_flight == room
    assert told[-1] == sum(len(generation.trace) for generation in found)


def test_memory_for_less_than_one_batch_is_an_error() -> None:
    model = models.load(f"{NAME},oom_above=3", device="cpu")
    with (
        pytest.warns(RuntimeWarning, match="continuing with 1"),
        pytest.raises(torch.OutOfMemoryError, match="no memory for 4 rows"),
    ):
        generate(model, openings(8), settings("ancestral"), batches_in_flight=2)


@pytest.mark.parametrize("in_flight", [1, 2])
def test_a_device_that_vanishes_ends_the_work_with_its_reason(in_flight: int) -> None:
    model = models.load(f"{NAME},lost_at=6", device="cpu")
    with pytest.raises(torch.AcceleratorError, match="loses its device at forward pass 6"):
        generate(model, openings(8), settings("ba-eta=0.1"), batches_in_flight=in_flight)


@pytest.mark.parametrize("count", [0, -1, True, 1.5])
def test_numbers_in_flight_that_mean_nothing(fake: LanguageModel, count: Any) -> None:
    with pytest.raises(bat.InvalidInputError, match=r"batches_in_flight must be an integer of at least 1"):
        generate(fake, openings(2), settings("ancestral"), batches_in_flight=count)


def test_a_gpu_has_two_in_flight_and_a_cpu_one() -> None:
    assert [check_batches_in_flight(None, device) for device in ("cpu", "cuda", "cuda:1", "mps")] == [
        1,
        2,
        2,
        2,
    ]


def test_a_worker_says_what_its_time_was_spent_on() -> None:
    worker = Worker(device="cpu", threads=1, batches_in_flight=2)
    request = GenerateRequest(
        ModelRequest(f"{NAME},slow=0.02"),
        tuple(openings(8)),
        replace(settings("ba-eta=0.1"), max_tokens=3),  # type: ignore[arg-type]
    )
    answer = worker.answer(request)
    use = answer.time_use
    assert use is not None
    assert use.batches_in_flight == 2
    assert use.forward >= 6 * 0.02  # two batches of three steps
    assert use.propose > 0.0
    assert use.settle > 0.0
    assert use.waiting == pytest.approx(max(0.0, answer.seconds - use.forward - use.propose))
    documents = (TokenizedDocument("a", np.arange(60) % 250),)
    measured = worker.answer(
        MeasureRequest(ModelRequest(NAME), documents, draw_positions(documents, None, 3), (6,))
    )
    assert measured.time_use is not None
    assert measured.time_use.forward > 0.0
    assert measured.time_use.settle > 0.0
    assert measured.time_use.propose == 0.0


def test_documents_are_read_while_programs_of_others_are_solved(
    fake: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs of the first batch wait until the model has begun to read the second."""
    began = threading.Semaphore(0)
    real = measurement.measure_rows

    def look(*rows: Any) -> Any:
        assert began.acquire(timeout=60), "the next batch was not read while programs were open"
        began.release()
        return real(*rows)

    monkeypatch.setattr(measurement, "measure_rows", look)
    documents = [TokenizedDocument(f"{name}", np.arange(60) % 250) for name in range(2)]
    passes = 0

    def before_pass(*_: Any) -> None:
        nonlocal passes
        passes += 1
        if passes == 2:
            began.release()

    with fake.model.register_forward_pre_hook(before_pass):
        found = measurement.measure(
            fake,
            documents,
            positions=draw_positions(documents, None, 3),
            constraints=(6,),
            batch_size=1,
            threads=1,
        )
    assert len(found) == 6


@pytest.mark.parametrize("rule", ["eta=0.05", "ba-eta=0.1", "typical=0.8", "greedy"])
def test_proposals_made_on_a_device_write_the_same_texts(
    fake: LanguageModel, monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    """The half that runs on devices, here on the CPU, in the loop and in transformers' own."""
    shard, chosen = openings(8), settings(rule)
    expected = [generation.token_ids.tolist() for generation in generate(fake, shard, chosen)]
    begun: list[str] = []

    def begin(logits: torch.Tensor, rule: Rule, uniforms: Any, *, max_tries: int, threads: int | None) -> Any:
        begun.append(rule.name)
        return TensorDraft(logits, rule, uniforms, max_tries, Lane(logits.device))

    sampler = RuleSampler(fake, rule, constraints=6, seed=0)
    prompt = torch.tensor([shard[0].token_ids])
    drawn = fake.model.generate(prompt, max_new_tokens=6, custom_generate=sampler)
    monkeypatch.setattr(decoding, "begin", begin)
    monkeypatch.setattr(sampling, "propose", lambda *args, **named: begin(*args, **named).collect())
    found = generate(fake, shard, chosen, batches_in_flight=2)
    assert [generation.token_ids.tolist() for generation in found] == expected
    again = fake.model.generate(prompt, max_new_tokens=6, custom_generate=sampler)
    assert again.tolist() == drawn.tolist()
    assert len(begun) > 12


class Mark:
    """An event of a device whose clock is at two milliseconds more each time it is looked at."""

    milliseconds = 0.0

    def __init__(self, enable_timing: bool) -> None:
        assert enable_timing

    def record(self) -> None:
        Mark.milliseconds += 2.0
        self.at = Mark.milliseconds

    def synchronize(self) -> None: ...

    def elapsed_time(self, later: Mark) -> float:
        return later.at - self.at


def test_a_gpu_is_timed_by_its_own_clock(fake: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "Event", Mark)
    monkeypatch.setattr(decoding, "_has_own_clock", lambda device: True)
    clock = Clock()
    [found] = generate(fake, openings(1), settings("ba-eta=0.1"), clock=clock)
    use = clock.read(seconds=1.0)
    assert use is not None
    assert use.forward == pytest.approx(0.002 * len(found.trace))
    assert use.propose == pytest.approx(0.002 * len(found.trace))
