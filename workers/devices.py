"""Where a model runs and in which precision, by name."""

from __future__ import annotations

import gc
import re

import torch

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean
from workers.names import DTYPE_NAMES

DTYPES: dict[str, torch.dtype] = {name: getattr(torch, name) for name in DTYPE_NAMES}


def resolve_dtype(dtype: str) -> torch.dtype:
    """Return the number type of that name."""
    if dtype not in DTYPES:
        guess = did_you_mean(dtype, DTYPES)
        raise InvalidInputError(f"dtype must be one of {', '.join(DTYPES)}; got {dtype!r}.{guess}")
    return DTYPES[dtype]


def resolve_device(device: str) -> str:
    """Return the device's name with ``auto`` decided, or raise when this machine does not have it."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    asked = re.fullmatch(r"cpu|mps|cuda(?::(\d+))?", device)
    if asked is None:
        raise InvalidInputError(
            f"device must be cpu, cuda, cuda:N, mps or auto; got {device!r}. "
            "Use auto to take a GPU if there is one."
        )
    if device == "mps" and not torch.backends.mps.is_available():
        raise InvalidInputError("device mps was asked for, but torch finds none here. Use cpu or auto.")
    if device.startswith("cuda"):
        if not torch.cuda.is_available():
            raise InvalidInputError(
                f"device {device} was asked for, but torch finds no CUDA GPU here. "
                "Use cpu or auto, or install a CUDA build of torch."
            )
        count, index = torch.cuda.device_count(), int(asked[1] or 0)
        if index >= count:
            raise InvalidInputError(
                f"device {device} was asked for, but this machine has {count} CUDA GPU{'s' * (count > 1)}. "
                f"Use cuda:0{f' to cuda:{count - 1}' if count > 1 else ''}."
            )
    return device


def check_batches_in_flight(count: int | None, device: str) -> int:
    """How many batches are advanced side by side on a device: what was asked for, else its default."""
    if count is None:
        # On a CPU the model and the programs share the cores, so there is nothing to overlap.
        return 1 if device == "cpu" else 2
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InvalidInputError(
            f"batches_in_flight must be an integer of at least 1; got {count!r}. Leave it out for 1 on a CPU "
            "and 2 on a GPU."
        )
    return count


def free_memory(device: str) -> None:
    """Give back what nothing refers to any more, also to other processes on the GPU."""
    gc.collect()  # an error and the frames it passed through refer to each other
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
