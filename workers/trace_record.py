"""The traces of a batch while its texts are being written."""

from __future__ import annotations

from itertools import chain

import numpy as np
import numpy.typing as npt

from bat.arrays import IdArray, IntArray, SingleArray
from bat.program import Efforts
from bat.settling import Samples
from workers.traces import Trace


class TraceRecord:
    """What happened so far, a row for each prefix and a column for each step."""

    def __init__(self, rows: int, steps: int) -> None:
        self.lengths = np.zeros(rows, np.int64)
        self.rejected_tokens: list[list[tuple[int, ...]]] = [[] for _ in range(rows)]  # of each step
        shape = (rows, steps)
        self.seconds = np.zeros(shape)
        self.token_ids: IdArray = np.zeros(shape, np.int32)
        self.probabilities: SingleArray = np.zeros(shape, np.float32)
        self.thresholds: SingleArray = np.zeros(shape, np.float32)
        self.acceptance: npt.NDArray[np.uint8] = np.zeros(shape, np.uint8)
        # rejections, undecided, programs, pivots, passes
        self.counts: IdArray = np.zeros((5, *shape), np.int32)

    def add(self, rows: IntArray, step: int | IntArray, samples: Samples) -> None:
        """Record a step, the same of all rows or one for each.

        A step that was recorded before is replaced, and what came after it is dropped.
        """
        self.token_ids[rows, step] = samples.tokens
        self.probabilities[rows, step] = samples.probs
        self.thresholds[rows, step] = samples.thresholds
        self.acceptance[rows, step] = samples.acceptance
        effort: Efforts = samples.effort
        counts = (samples.rejections, samples.undecided, samples.programs, effort.pivots, effort.passes)
        self.counts[:, rows, step] = np.stack(counts)
        self.seconds[rows, step] = effort.seconds
        self.lengths[rows] = np.add(step, 1)
        steps = np.broadcast_to(step, rows.shape).tolist()
        for row, at, rejected_tokens in zip(rows.tolist(), steps, samples.rejected_tokens, strict=True):
            self.rejected_tokens[row][at:] = [rejected_tokens]

    def solver_seconds(self, row: int, end: int | None = None) -> float:
        """What the programs of a row took, up to the step `end`."""
        return float(self.seconds[row, : self._end(row, end)].sum())

    def _end(self, row: int, end: int | None) -> int:
        return int(self.lengths[row]) if end is None else min(end, int(self.lengths[row]))

    def trace(self, row: int, end: int | None = None) -> Trace:
        """The trace of a row, up to the step `end`; default: all of it."""
        end = self._end(row, end)
        rejections, undecided, programs, pivots, passes = self.counts[:, row, :end].copy()
        return Trace(
            token_ids=self.token_ids[row, :end].copy(),
            probabilities=self.probabilities[row, :end].copy(),
            thresholds=self.thresholds[row, :end].copy(),
            acceptance=self.acceptance[row, :end].copy(),
            rejections=rejections,
            undecided=undecided,
            programs=programs,
            pivots=pivots,
            passes=passes,
            rejected_tokens=np.array(list(chain(*self.rejected_tokens[row][:end])), dtype=np.int32),
        )
