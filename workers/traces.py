"""What happened at every token of a generation, and its compact encoding.

A full comparison is some fifty million tokens, so a trace is stored as one compressed block of bytes for
each generation: for every token its id, probability and threshold; for the few tokens that were anything
but accepted at once, how they were accepted, what was rejected before them and what the solver did. That
comes to about 11 bytes a token (`make bench` measures it). Wall-clock time is not in it, so that equal
results are equal bytes.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat.acceptance import Acceptance
from bat.arrays import IdArray, SingleArray
from bat.errors import InvalidInputError

_FORMAT = 1
_HEADER = struct.Struct(
    "<BBIII"
)  # format, bytes per token id, tokens, eventful tokens, rejected_tokens tokens
_LEVEL = 6


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A row for each token generated. `rejected_tokens` holds the tokens rejected, in the order of the rows:
    `rejections[t]` of them belong to row t."""

    token_ids: IdArray  # [n]
    probabilities: SingleArray  # [n] under the model
    thresholds: SingleArray  # [n] NaN for a rule without one
    acceptance: npt.NDArray[np.uint8]  # [n] bat.Acceptance
    rejections: IdArray  # [n]
    undecided: IdArray  # [n] of the rejections, those that no bound could settle
    programs: IdArray  # [n] linear programs
    pivots: IdArray  # [n] their simplex steps
    passes: IdArray  # [n] and passes over the vocabulary
    rejected_tokens: IdArray  # [sum of rejections]

    def __len__(self) -> int:
        return len(self.token_ids)

    def rejected_before(self, position: int) -> list[int]:
        """The tokens passed over before the token at `position`, in order."""
        start = int(self.rejections[:position].sum())
        rejected: list[int] = self.rejected_tokens[start : start + int(self.rejections[position])].tolist()
        return rejected


# The columns that are zero for every token accepted at once.
_EVENTS = ("acceptance", "rejections", "undecided", "programs", "pivots", "passes")


def encode_trace(trace: Trace) -> bytes:
    """The trace as bytes; equal traces give equal bytes."""
    width = 2 if len(trace) == 0 or _largest_id(trace) < 1 << 16 else 4
    ids = np.dtype(f"<u{width}")
    events = np.stack([getattr(trace, name).astype("<i4") for name in _EVENTS])  # [6, n]
    eventful = np.flatnonzero(events.any(axis=0))
    parts = [
        trace.token_ids.astype(ids),
        # The same byte of all numbers stands together: exponents repeat, and compress well.
        _by_byte(trace.probabilities.astype("<f4")),
        _by_byte(trace.thresholds.astype("<f4")),
        np.diff(eventful, prepend=0).astype("<u2"),
        _by_byte(events[:, eventful].ravel()),
        trace.rejected_tokens.astype(ids),
    ]
    header = _HEADER.pack(_FORMAT, width, len(trace), eventful.size, trace.rejected_tokens.size)
    return header + zlib.compress(b"".join(part.tobytes() for part in parts), _LEVEL)


def decode_trace(data: bytes) -> Trace:
    """The trace that `encode_trace` made these bytes of."""
    try:
        version, width, count, eventful, rejected_tokens = _HEADER.unpack_from(data)
        if version != _FORMAT:
            raise InvalidInputError(
                f"a trace must have format {_FORMAT}; got {version}. It was written by another version of "
                "bat-harness: read it with that one."
            )
        reader = _Reader(zlib.decompress(data[_HEADER.size :]))
        ids = np.dtype(f"<u{width}")
        token_ids = reader.take(ids, count).astype(np.int32)
        probabilities, thresholds = (reader.take_by_byte("<f4", count).astype(np.float32) for _ in range(2))
        rows = np.cumsum(reader.take(np.dtype("<u2"), eventful), dtype=np.int64)
        events = np.zeros((len(_EVENTS), count), np.int32)
        events[:, rows] = reader.take_by_byte("<i4", len(_EVENTS) * eventful).reshape(len(_EVENTS), -1)
        passed_over = reader.take(ids, rejected_tokens).astype(np.int32)
    except (struct.error, zlib.error, ValueError, IndexError, TypeError) as error:
        raise InvalidInputError(
            f"a trace must be what encode_trace made; these {len(data)} bytes are damaged ({error})."
        ) from error
    acceptance, rejections, undecided, programs, pivots, passes = events
    return Trace(
        token_ids=token_ids,
        probabilities=probabilities,
        thresholds=thresholds,
        acceptance=acceptance.astype(np.uint8),
        rejections=rejections,
        undecided=undecided,
        programs=programs,
        pivots=pivots,
        passes=passes,
        rejected_tokens=passed_over,
    )


def acceptance_counts(trace: Trace) -> dict[str, int]:
    """How many tokens were accepted in each way, by name."""
    counts = np.bincount(trace.acceptance, minlength=len(Acceptance))
    return {way.name.lower(): int(counts[way]) for way in Acceptance}


def _largest_id(trace: Trace) -> int:
    return int(max(trace.token_ids.max(), trace.rejected_tokens.max(initial=0)))


def _by_byte(values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(values.view(np.uint8).reshape(values.size, values.itemsize).T)


class _Reader:
    """Takes one column after another from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, dtype: np.dtype[np.generic], count: int) -> npt.NDArray[np.generic]:
        column = np.frombuffer(self._data, dtype, count, self._at)
        self._at += column.nbytes
        return column

    def take_by_byte(self, dtype: str, count: int) -> npt.NDArray[np.generic]:
        size = np.dtype(dtype).itemsize
        planes = self.take(np.dtype(np.uint8), size * count).reshape(size, count)
        return np.ascontiguousarray(planes.T).view(dtype).ravel()
