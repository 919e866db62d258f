"""Pending rows on their way to a token, compiled: decide about a candidate, draw the next one.

One call a thread settles row after row. It comes back early where a decision is not compiled code's to make:
the solver is another one, or a program needs the last resort. Everything about a row is kept in ``Rows``, so
the call is simply made again, with the bounds that Python found.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bat import _wheel
from bat._compiling import njit
from bat._machine import seconds, take_number
from bat.acceptance import Acceptance
from bat.arrays import FloatArray, IntArray
from bat.solvers._context import prepare_core
from bat.solvers._solve import LAST_RESORT, Question, solve

_THRESHOLD, _CERTIFIED = int(Acceptance.THRESHOLD), int(Acceptance.CERTIFIED)


class Rows(NamedTuple):
    """The pending rows of a batch, and what has become of them so far."""

    rows: FloatArray  # [r, v] the basis
    probs: FloatArray  # [m, v]
    uniforms: FloatArray  # [m, tries + 1]
    thresholds: FloatArray  # [m]
    counter: IntArray  # [1] the next row to be settled
    candidates: IntArray  # [m] the token being decided about, -1 once there is none left to try
    lower: FloatArray  # [m] bounds on its critical threshold, once known
    upper: FloatArray  # [m]
    tokens: IntArray  # [m] the token accepted, or -1
    acceptance: npt.NDArray[np.uint8]  # [m]
    rejections: IntArray  # [m]
    rejected_tokens: IntArray  # [m, tries]
    undecided: IntArray  # [m]
    programs: IntArray  # [m]
    pivots: IntArray  # [m]
    passes: IntArray  # [m]
    seconds: FloatArray  # [m]


def make_rows(
    rows: FloatArray, probs: FloatArray, uniforms: FloatArray, thresholds: FloatArray, candidates: IntArray
) -> Rows:
    """Rows that nobody has begun."""
    m, tries = len(probs), uniforms.shape[1] - 1
    counts = np.zeros((5, m), np.int64)
    return Rows(
        rows=rows,
        probs=probs,
        uniforms=uniforms,
        thresholds=thresholds,
        counter=np.zeros(1, np.int64),
        candidates=candidates,
        lower=np.empty(m),
        upper=np.empty(m),
        tokens=np.full(m, -1, np.int64),
        acceptance=np.zeros(m, np.uint8),
        rejections=counts[0],
        rejected_tokens=np.empty((m, tries), np.int64),
        undecided=counts[1],
        programs=counts[2],
        pivots=counts[3],
        passes=counts[4],
        seconds=np.zeros(m),
    )


@njit(nogil=True, cache=True)
def settle_rows(pending, question, wanted, space, solves, resumed):  # type: ignore[no-untyped-def]
    """Settle rows until none is left, or Python must find the bounds of one: (that row or -1, workspace).

    ``solves`` is whether compiled code solves programs. ``resumed`` is the row whose bounds were just found,
    or -1. ``question`` is asked about every candidate, with the row's own threshold.
    """
    row = resumed if resumed >= 0 else take_number(pending.counter)
    while row < pending.tokens.shape[0]:
        done, space = _settle(pending, row, question, wanted, space, solves, row == resumed)
        if not done:
            return row, space
        row = take_number(pending.counter)
    return -1, space


@njit(nogil=True, cache=True)
def _settle(pending, row, question, wanted, space, solves, resumed):  # type: ignore[no-untyped-def]
    """Settle one row: (whether it is, workspace)."""
    probs, threshold, numbers = pending.probs[row], pending.thresholds[row], pending.uniforms[row]
    removed, tries = pending.rejected_tokens[row], pending.rejected_tokens.shape[1]
    asked = Question(
        question.tolerance, threshold, question.cap, False, question.max_pivots, question.time_limit_seconds
    )
    sums = _wheel.block_sums(probs)
    for q in range(pending.rejections[row]):
        _wheel.remove(probs, sums, removed, q, removed[q])
    context = prepare_core(pending.rows, probs, wanted if solves else 1)
    while pending.candidates[row] >= 0:
        token = pending.candidates[row]
        # 1. bounds on its critical threshold, unless none are needed
        if probs[token] >= threshold:
            pending.tokens[row], pending.acceptance[row] = token, _THRESHOLD
            break
        impossible = probs[token] == 0.0
        if not (resumed or impossible):
            if not solves:
                return False, space
            ended, space = solve(context, token, asked, space, False)
            if ended == LAST_RESORT:
                return False, space
            _count(pending, row, space.state[0])
        resumed = False
        # 2. the verdict
        if not impossible:
            pending.programs[row] += 1
            if pending.lower[row] > threshold:
                pending.tokens[row], pending.acceptance[row] = token, _CERTIFIED
                break
            pending.undecided[row] += not pending.upper[row] <= threshold
        # 3. the next candidate
        rejections = pending.rejections[row]
        _wheel.remove(probs, sums, removed, rejections, token)
        rejections += 1
        pending.rejections[row] = rejections
        left = rejections < tries
        pending.candidates[row] = (
            _wheel.draw(probs, sums, removed, rejections, numbers[rejections]) if left else -1
        )
    return True, space


@njit(nogil=True, cache=True)
def _count(pending, row, state):  # type: ignore[no-untyped-def]
    pending.lower[row], pending.upper[row] = state.lower, state.upper
    pending.pivots[row] += state.pivots
    pending.passes[row] += state.passes
    pending.seconds[row] += seconds() - state.began
