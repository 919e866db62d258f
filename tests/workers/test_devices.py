from __future__ import annotations

import re

import pytest
import torch

from bat.errors import InvalidInputError
from workers.devices import resolve_device, resolve_dtype


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> int:
    """Make torch believe the machine has that many CUDA GPUs."""
    count: int = request.param
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    return count


@pytest.mark.parametrize(
    ("gpus", "asked", "given"),
    [
        (0, "auto", "cpu"),
        (0, "cpu", "cpu"),
        (2, "auto", "cuda"),
        (2, "cpu", "cpu"),
        (2, "cuda", "cuda"),
        (2, "cuda:1", "cuda:1"),
    ],
    indirect=["gpus"],
)
def test_devices_by_name(gpus: int, asked: str, given: str) -> None:
    assert resolve_device(asked) == given
    assert torch.device(given).type == given.partition(":")[0]


@pytest.mark.parametrize(
    ("gpus", "asked", "problem"),
    [
        (0, "cuda", "finds no CUDA GPU here. Use cpu or auto"),
        (0, "cuda:0", "finds no CUDA GPU here. Use cpu or auto"),
        (1, "cuda:1", "has 1 CUDA GPU. Use cuda:0."),
        (2, "cuda:12", "has 2 CUDA GPUs. Use cuda:0 to cuda:1."),
        (2, "gpu", "must be cpu, cuda, cuda:N, mps or auto; got 'gpu'"),
        (2, "cuda:", "got 'cuda:'"),
        (2, "cuda:-1", "got 'cuda:-1'"),
        (2, "cpu:0", "got 'cpu:0'"),
        (2, "", "got ''"),
    ],
    indirect=["gpus"],
)
def test_devices_that_are_not_there(gpus: int, asked: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(problem)):
        resolve_device(asked)


@pytest.mark.parametrize("available", [True, False])
def test_mps_where_there_is_one(available: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: available)
    if available:
        assert resolve_device("mps") == "mps"
    else:
        with pytest.raises(InvalidInputError, match=r"mps was asked for.*Use cpu or auto"):
            resolve_device("mps")


def test_number_types_by_name() -> None:
    assert resolve_dtype("float32") is torch.float32
    assert resolve_dtype("bfloat16") is torch.bfloat16
    assert resolve_dtype("float16") is torch.float16


@pytest.mark.parametrize(("asked", "advice"), [("bfloat", "Did you mean 'bfloat16'"), ("int4", "got 'int4'")])
def test_unknown_number_types(asked: str, advice: str) -> None:
    with pytest.raises(InvalidInputError, match=advice):
        resolve_dtype(asked)
