"""Fingerprints of weights and tokenizers: equal exactly when what they stand for is equal.

They go into the identity of results, so they depend on nothing but content: not on the device, not on the
order of loading, not on where a file lay.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

_LENGTH = 32  # hexadecimal digits kept of a SHA-256


def weight_fingerprint(state: Mapping[str, torch.Tensor]) -> str:
    """Fingerprint a state dict: its names, shapes, types and every bit of its numbers."""
    # Tied weights are one piece of memory under several names, and are read once.
    pieces = {_memory(tensor): tensor for tensor in state.values()}
    # hashlib lets go of the interpreter's lock on large buffers, so threads use every core.
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        digests = dict(zip(pieces, threads.map(_digest, pieces.values()), strict=True))
    whole = hashlib.sha256(b"weights 1\n")
    for name, tensor in sorted(state.items()):
        header = [name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)]
        whole.update(json.dumps(header).encode() + digests[_memory(tensor)])
    return whole.hexdigest()[:_LENGTH]


def tokenizer_fingerprint(tokenizer: PreTrainedTokenizerBase) -> str:
    """Fingerprint all that decides how a tokenizer turns text into tokens and back."""
    content: dict[str, Any] = {"special": tokenizer.special_tokens_map, "ids": tokenizer.all_special_ids}
    if tokenizer.is_fast:
        backend: str = tokenizer.backend_tokenizer.to_str()
        # Padding and truncation are set by the latest call and say nothing about the tokenizer.
        unstable = {"padding", "truncation"}
        content["backend"] = {k: v for k, v in json.loads(backend).items() if k not in unstable}
    else:
        content["vocabulary"] = tokenizer.get_vocab()
    canonical = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(b"tokenizer 1\n" + canonical.encode()).hexdigest()[:_LENGTH]


def _memory(tensor: torch.Tensor) -> tuple[object, ...]:
    return tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride(), tensor.device


def _digest(tensor: torch.Tensor) -> bytes:
    import torch

    # numpy has no bfloat16, but it has bytes.
    flat = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return hashlib.sha256(flat.numpy().data).digest()
