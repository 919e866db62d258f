"""What ``propose`` queues on a device, recorded on a CUDA device that is not there.

Tensors are torch's fake ones: they have a device, a type and a shape, but no numbers. So whatever would need
a number of the device, a copy, a wait or a tensor of another device, fails here or is on the record.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import bat
from bat.arrays import AnyArray, IntArray
from bat.lanes import CudaLane, Lane
from bat.rules import Rule, builtin_rule_names, get_rule_form
from bat.tensor_proposals import DRAWS, TensorDraft

CUDA = torch.device("cuda", 0)
BATCH, SIZE, MAX_TRIES = 64, 49_152, 10

# Operations that make no kernel: they look at the same memory, or make memory.
VIEWS = {
    "view",
    "unsqueeze",
    "squeeze",
    "expand",
    "narrow",
    "slice",
    "detach",
    "alias",
    "empty",
    "lift_fresh",
}
# Operations whose result depends on numbers of the device in its shape, or is such a number: each waits.
WAITS = {"_local_scalar_dense", "item", "nonzero", "masked_select", "unique", "is_nonzero", "equal", "index"}


class Recorder(TorchDispatchMode):
    """The kernels queued on the device, and the copies between it and the host."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[str] = []
        self.to_host: list[tuple[int, ...]] = []
        self.to_device: list[tuple[int, ...]] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), named: dict[str, Any] | None = None
    ) -> Any:
        result = function(*args, **(named or {}))
        name = function.overloadpacket.__name__
        if name == "device":  # a question about a tensor, not an operation
            return result
        assert name not in WAITS, f"{name} waits for the device"
        given = [arg for arg in torch.utils._pytree.tree_leaves(args) if isinstance(arg, torch.Tensor)]
        made = [out for out in torch.utils._pytree.tree_leaves(result) if isinstance(out, torch.Tensor)]
        before, after = {tensor.device.type for tensor in given}, {tensor.device.type for tensor in made}
        if before == {"cuda"} and after == {"cpu"}:
            self.to_host += [tuple(out.shape) for out in made]
        elif before == {"cpu"} and after == {"cuda"}:
            self.to_device += [tuple(out.shape) for out in made]
        elif "cuda" in after and name not in VIEWS and not (name == "to" and result is args[0]):
            self.kernels.append(name)
        return result


class FakeLane(Lane):
    """A lane whose copies are those that `CudaLane` queues, without the streams, which need a driver."""

    def send(self, array: AnyArray) -> torch.Tensor:
        return torch.ops.aten._to_copy(
            torch.empty(array.shape, dtype=torch.from_numpy(array).dtype), device=CUDA
        )

    def fetch(self, tensor: torch.Tensor) -> Any:
        return torch.ops.aten._to_copy(tensor, device=torch.device("cpu"), non_blocking=True)

    def fetch_rows(self, tensor: torch.Tensor, rows: IntArray) -> torch.Tensor:
        return self.fetch(tensor.index_select(0, self.send(rows)))


def record(rule: Rule, temperature: bat.Temperature | None = None) -> tuple[Recorder, TensorDraft]:
    uniforms = np.full((BATCH, MAX_TRIES + 1), 0.5)
    with FakeTensorMode(), Recorder() as recorder:
        logits = torch.empty(BATCH, SIZE, dtype=torch.bfloat16, device=CUDA)
        draft = TensorDraft(logits, rule, uniforms, MAX_TRIES, FakeLane(CUDA), temperature)
    return recorder, draft


# Kernels a step. A change that adds some is seen here, and says why; each costs the host some 5 microseconds.
KERNELS = {
    "ancestral": 94,
    "greedy": 107,
    "top-k": 97,
    "nucleus": 106,
    "min-p": 97,
    "typical": 121,
    "epsilon": 97,
    "eta": 100,
    "ba-top-k": 49,
    "ba-nucleus": 58,
    "ba-min-p": 49,
    "ba-epsilon": 49,
    "ba-eta": 52,
    "top-n-sigma": 115,
    "top-h": 109,
    "p-less": 98,
    "ba-top-n-sigma": 67,
    "ba-top-h": 61,
    "ba-p-less": 50,
}
# What a temperature adds: a second softmax, and a mask if it comes last, a column if it comes first.
FLATTENING = {"first": 10, "last": 11}


@pytest.mark.parametrize("name", builtin_rule_names())
def test_proposing_copies_one_small_array_and_waits_for_nothing(name: str) -> None:
    form = get_rule_form(name)
    rule = form(None if form.takes_no_parameter else form.rule.example)
    recorder, draft = record(rule)
    draws = 1 if rule.basis_aware else DRAWS
    own_keep = name in ("greedy", "typical")
    assert recorder.to_device == [(BATCH, draws)]
    assert recorder.to_host == [(BATCH, 2 + 2 * draws + (draws + 3) * own_keep)]
    assert draft.probs.device == CUDA
    assert draft.probs.dtype == torch.float64
    assert len(recorder.kernels) == KERNELS[name], (len(recorder.kernels), recorder.kernels)


@pytest.mark.parametrize(("name", "order"), [("eta", "first"), ("eta", "last"), ("ba-eta", "last")])
def test_a_temperature_adds_a_softmax_and_no_wait(name: str, order: Any) -> None:
    recorder, draft = record(get_rule_form(name)(0.002), bat.Temperature(0.7, order))
    draws = draft.draws
    assert recorder.to_device == [(BATCH, draws)]
    assert recorder.to_host == [(BATCH, 2 + 2 * draws + draws * (order == "first"))]
    assert len(recorder.kernels) == KERNELS[name] + FLATTENING[order], recorder.kernels


def test_rows_for_the_host_are_one_more_copy_each_way() -> None:
    _, draft = record(bat.get_rule("ba-eta", 0.03))
    with draft.probs.fake_mode, Recorder() as recorder:  # type: ignore[attr-defined]
        draft.lane.fetch_rows(draft.probs, np.array([3, 17, 40]))
    assert recorder.kernels == ["index_select"]
    assert recorder.to_device == [(3,)]
    assert recorder.to_host == [(3, SIZE)]


@pytest.mark.parametrize("offence", ["number", "shape", "device"])
def test_the_record_sees_what_it_is_there_to_see(offence: str) -> None:
    """A rule that waits for the device, or brings a tensor of the host, does not pass."""

    class Offender(type(bat.get_rule("eta", 0.1))):  # type: ignore[misc]
        def thresholds(self, probs: Any) -> Any:
            if offence == "number":
                return probs.capped(float(probs.maximum.sum()))
            if offence == "shape":
                return probs.capped(probs.maximum + 0 * probs.maximum.nonzero().sum())
            return probs.capped(probs.maximum + torch.zeros(BATCH))

    with pytest.raises((AssertionError, RuntimeError)):
        record(Offender(0.1))


class FakeStream:
    """A stream or an event, whose calls are written down."""

    def __init__(self, journal: list[str], name: str) -> None:
        self.journal, self.name = journal, name

    def record(self, stream: FakeStream) -> None:
        self.journal.append(f"record on {stream.name}")

    def synchronize(self) -> None:
        self.journal.append("wait")

    def __enter__(self) -> None:
        self.journal.append(f"use {self.name}")

    def __exit__(self, *_: object) -> None:
        self.journal.append(f"leave {self.name}")


def test_rows_are_fetched_beside_the_stream_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The calls of a CUDA lane, in order; that a GPU obeys them only a GPU can show."""
    journal: list[str] = []
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: FakeStream(journal, "own stream"))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: FakeStream(journal, "model's stream"))
    monkeypatch.setattr(torch.cuda, "Event", lambda blocking: FakeStream(journal, "event"))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: stream)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor)
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda shape, dtype, pin_memory: empty(shape, dtype=dtype))
    lane = CudaLane(torch.device("cpu"))
    probs = torch.rand(6, 10, dtype=torch.float64)
    arrival = lane.fetch(probs)
    assert journal == ["record on model's stream"]  # nothing has waited yet
    assert torch.equal(arrival.wait(), probs)
    assert torch.equal(lane.fetch_rows(probs, np.array([1, 4])), probs[[1, 4]])
    assert journal[1:] == ["wait", "use own stream", "record on own stream", "wait", "leave own stream"]
