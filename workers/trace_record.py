"""The traces of a batch while its texts are being written."""

from __future__ import annotations

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
        self.seconds = np.zeros(rows)
        self.rejected_tokens: list[list[int]] = [[] for _ in range(rows)]
        shape = (rows, steps)
        self.token_ids: IdArray = np.zeros(shape, np.int32)
        self.probabilities: SingleArray = np.zeros(shape, np.float32)
        self.thresholds: SingleArray = np.zeros(shape, np.float32)
        self.acceptance: npt.NDArray[np.uint8] = np.zeros(shape, np.uint8)
        # rejections, undecided, programs, pivots, passes
        self.counts: IdArray = np.zeros((5, *shape), np.int32)

    def add(self, rows: IntArray, step: int, samples: Samples) -> None:
        self.token_ids[rows, step] = samples.tokens
        self.probabilities[rows, step] = samples.probs
        self.thresholds[rows, step] = samples.thresholds
        self.acceptance[rows, step] = samples.acceptance
        effort: Efforts = samples.effort
        counts = (samples.rejections, samples.undecided, samples.programs, effort.pivots, effort.passes)
        self.counts[:, rows, step] = np.stack(counts)
        self.seconds[rows] += effort.seconds
        self.lengths[rows] += 1
        for row, rejected_tokens in zip(rows.tolist(), samples.rejected_tokens, strict=True):
            self.rejected_tokens[row].extend(rejected_tokens)

    def trace(self, row: int) -> Trace:
        end = int(self.lengths[row])
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
            rejected_tokens=np.array(self.rejected_tokens[row], dtype=np.int32),
        )
