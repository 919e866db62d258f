"""The traces of texts that vLLM writes, kept in the process that samples them until they are taken.

Nothing is recorded unless a record is open and a request names its row in it (`bat_trace`): a server that
nobody asks for traces must not collect them. vLLM mixes `TraceWorker` into its workers, so that the process
that asked for texts can call its methods wherever those workers are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bat.arrays import IntArray
from bat.settling import Samples
from workers.trace_record import TraceRecord
from workers.traces import encode_trace

_open: TraceRecord | None = None
_failures: dict[int, str] = {}


def add(rows: Sequence[int], steps: IntArray, samples: Samples) -> None:
    """Record a step of texts, each in its row of the record, if one is open."""
    if _open is not None:
        _open.add(np.array(rows, dtype=np.int64), steps, samples)


def fail(row: int | None, reason: str) -> None:
    """Record that a text has ended because its rule cannot be applied."""
    if _open is not None and row is not None:
        _failures.setdefault(row, reason)


class TraceWorker:
    """What a worker of vLLM does with traces. The names must not clash with those of vLLM's own methods."""

    def open_bat_traces(self, rows: int, steps: int) -> None:
        """Record that many texts, of at most that many tokens."""
        global _open
        _open = TraceRecord(rows, steps)
        _failures.clear()

    def take_bat_traces(self, lengths: list[int]) -> list[tuple[bytes, float, str | None]]:
        """For each text its trace, encoded, the seconds of its programs, and why it failed, if it did.

        The engine may have sampled beyond the end of a text, so `lengths` says how many tokens each has.
        """
        global _open
        record, _open = _open, None
        if record is None:
            raise RuntimeError("no record of traces is open")
        return [
            (encode_trace(record.trace(row, end)), record.solver_seconds(row, end), _failures.get(row))
            for row, end in enumerate(lengths)
        ]
