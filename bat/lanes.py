"""Copies between the host and a device: the only place where sampling waits for one.

    send          an array to the device; does not wait
    fetch         start copying a tensor to the host, behind the work queued so far; ``wait`` is the wait
    fetch_rows    some rows of a tensor that a ``fetch`` waited for has finished, copied at once

On CUDA, copies go through pinned memory and do not hold up the host. ``fetch_rows`` uses a stream of its own:
on the stream of the model it would queue behind the next forward pass, which may be running already.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np
import torch

from bat.arrays import AnyArray, IntArray


class Arrival(Protocol):
    """A copy on its way to the host."""

    def wait(self) -> torch.Tensor: ...


class Lane:
    """Copies to and from any device, in the order of its work; ``CudaLane`` overlaps them with it."""

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def send(self, array: AnyArray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def fetch(self, tensor: torch.Tensor) -> Arrival:
        return _Later(tensor)

    def fetch_rows(self, tensor: torch.Tensor, rows: IntArray) -> torch.Tensor:
        return tensor.index_select(0, self.send(rows)).cpu()


class _Later:
    """A copy that begins when it is waited for."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def wait(self) -> torch.Tensor:
        return self.tensor.cpu()


class CudaLane(Lane):
    """Copies through pinned memory that neither the host nor the next forward pass waits for."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self.stream: Any = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def send(self, array: AnyArray) -> torch.Tensor:
        pinned = torch.from_numpy(np.ascontiguousarray(array)).pin_memory()
        return pinned.to(self.device, non_blocking=True)

    def fetch(self, tensor: torch.Tensor) -> Arrival:
        return _Copy(tensor, torch.cuda.current_stream(self.device))

    def fetch_rows(self, tensor: torch.Tensor, rows: IntArray) -> torch.Tensor:
        with torch.cuda.stream(self.stream):
            return _Copy(tensor.index_select(0, self.send(rows)), self.stream).wait()


class _Copy:
    """A copy into pinned memory, queued on a stream."""

    def __init__(self, tensor: torch.Tensor, stream: Any) -> None:
        self.source = tensor  # held until the copy is done: memory that is let go is soon another tensor's
        self.target = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        self.target.copy_(tensor, non_blocking=True)
        # A thread that waits for a blocking event leaves its core to others.
        self.done: Any = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call]
        self.done.record(stream)

    def wait(self) -> torch.Tensor:
        self.done.synchronize()
        return self.target


@cache
def lane_of(device: torch.device) -> Lane:
    """The lane of a device, shared by all its batches."""
    return CudaLane(device) if device.type == "cuda" else Lane(device)


@cache
def has_float64(device: torch.device) -> bool:
    """Whether the device computes with float64; those of Apple do not."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (TypeError, RuntimeError):
        return False
    return True
