"""Random numbers that can be looked up instead of drawn in turn.

Each uniform number has an address: who it is for (seed, run, prefix, sample), which step of the
generation, which draw within the step. The same address gives the same number in any batch, any order
and any process, so results do not depend on how work was split, and the same number meets the same
prefix under every method, which lets methods be compared in pairs.

The generator is Philox-4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a
bijection of a 256-bit counter under a 128-bit key. The key is a hash of who it is for; the counter holds
(block, step, 0, 0), each block giving four draws. Different addresses under one key therefore never share
a counter, and two keys coincide only if blake2b collides in 128 bits.
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat.arrays import FloatArray, WordArray
from bat.errors import InvalidInputError

_MULTIPLIERS = np.array([[0xD2E7470EE14C6C93], [0xCA5A826395121157]], dtype=np.uint64)
_KEY_INCREMENTS = np.array([[0x9E3779B97F4A7C15], [0xBB67AE8584CAA73B]], dtype=np.uint64)
_ROUNDS = 10
_DRAWS_PER_BLOCK = 4
_LOW_HALF = np.uint64(0xFFFFFFFF)
_HALF_BITS = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Key:
    """Who a stream of random numbers is for. Run and prefix may be names or numbers; 1 is not "1"."""

    seed: int
    run: int | str
    prefix: int | str
    sample: int

    def __post_init__(self) -> None:
        for field in ("seed", "run", "prefix", "sample"):
            value = getattr(self, field)
            if field in ("run", "prefix") and isinstance(value, str):
                continue
            object.__setattr__(self, field, _as_integer(value, field))


def key_words(keys: Sequence[Key]) -> WordArray:
    """The Philox key of each identity, uint64 [B, 2]; compute once when the same keys serve many steps."""
    # JSON is an injective spelling of the four parts: names are quoted, so no two identities read alike.
    spellings = [json.dumps([key.seed, key.run, key.prefix, key.sample]).encode() for key in keys]
    digests = b"".join(hashlib.blake2b(text, digest_size=16).digest() for text in spellings)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64).reshape(len(keys), 2)


def uniforms(keys: Sequence[Key] | WordArray, step: int | npt.NDArray[np.integer], count: int) -> FloatArray:
    """Uniform numbers in [0, 1), float64 [B, count], for each key at one step (or at one step a row).

    The first numbers do not depend on ``count``: asking for more draws extends the rows. ``keys`` are
    identities, or what ``key_words`` made of them.
    """
    words = keys if isinstance(keys, np.ndarray) else key_words(keys)
    if words.ndim != 2 or words.shape[1] != 2 or words.dtype != np.uint64:
        raise InvalidInputError(
            f"keys must be Key records or uint64 words of shape [batch, 2]; got {words.dtype} of shape "
            f"{list(words.shape)}. Make words with bat.random.key_words."
        )
    batch = len(words)
    steps = _as_steps(step, batch)
    if _as_integer(count, "count") < 0:
        raise InvalidInputError(f"count must be at least 0; got {count}.")
    blocks = -(-count // _DRAWS_PER_BLOCK)
    counter = np.zeros((batch, blocks, 4), dtype=np.uint64)
    counter[:, :, 0] = np.arange(blocks, dtype=np.uint64)
    counter[:, :, 1] = steps[:, None]
    draws = philox(counter, words[:, None, :])  # [B, blocks, 4]
    # The top 53 bits fill a float64 exactly and can never round up to one.
    unit = (draws.reshape(batch, blocks * _DRAWS_PER_BLOCK)[:, :count] >> np.uint64(11)).astype(np.float64)
    return unit * 2.0**-53


def philox(counter: WordArray, key: WordArray) -> WordArray:
    """Philox-4x64-10 of counters [..., 4] under keys [..., 2] (broadcast), uint64 [..., 4]."""
    shape = np.broadcast_shapes(counter.shape[:-1], key.shape[:-1])
    # Words 0 and 2 are multiplied and words 1 and 3 are mixed in, so each pair travels as one array [2, n].
    words = np.broadcast_to(counter, (*shape, 4)).reshape(-1, 4).T
    multiplied, mixed = words[0::2].copy(), words[1::2].copy()
    round_key = np.broadcast_to(key, (*shape, 2)).reshape(-1, 2).T.copy()
    with np.errstate(over="ignore"):  # sums and products wrap around 2**64, as meant
        for round_number in range(_ROUNDS):
            if round_number > 0:
                round_key += _KEY_INCREMENTS
            high, low = _wide_product(_MULTIPLIERS, multiplied)
            multiplied, mixed = high[::-1] ^ mixed ^ round_key, low[::-1]
    return np.stack([multiplied[0], mixed[0], multiplied[1], mixed[1]], axis=-1).reshape(*shape, 4)


def _wide_product(first: WordArray, second: WordArray) -> tuple[WordArray, WordArray]:
    """The high and low 64 bits of a 128-bit product, by 32-bit halves: numpy has no wider integer."""
    first_high, first_low = first >> _HALF_BITS, first & _LOW_HALF
    second_high, second_low = second >> _HALF_BITS, second & _LOW_HALF
    # Neither sum overflows: (2**32 - 1)**2 + 2 (2**32 - 1) = 2**64 - 1.
    upper = first_low * second_high + (first_low * second_low >> _HALF_BITS)
    lower = first_high * second_low + (upper & _LOW_HALF)
    return first_high * second_high + (upper >> _HALF_BITS) + (lower >> _HALF_BITS), first * second


def _as_integer(value: object, name: str) -> int:
    if not isinstance(value, bool | np.bool_):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except TypeError:
            pass
    kinds = "an integer or a string" if name in ("run", "prefix") else "an integer"
    raise InvalidInputError(f"{name} must be {kinds}; got {value!r}.")


def _as_steps(step: int | npt.NDArray[np.integer], batch: int) -> WordArray:
    """One step for each row, uint64 [batch]."""
    if not isinstance(step, np.ndarray):
        if not 0 <= _as_integer(step, "step") < 2**64:
            raise InvalidInputError(f"step must lie in [0, 2**64); got {step}.")
        return np.full(batch, step, dtype=np.uint64)
    if step.dtype.kind not in "iu" or step.shape != (batch,) or (step < 0).any():
        raise InvalidInputError(
            f"step must be an integer or {batch} nonnegative integers, one for each key; got "
            f"{step.dtype} of shape {list(step.shape)}."
        )
    return step.astype(np.uint64)
