"""A batch of programs in one compiled call a thread, which deals out rows one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bat._compiling import njit
from bat._machine import seconds, take_number
from bat.arrays import FloatArray, IntArray
from bat.solvers import _solve
from bat.solvers._context import prepare, prepare_core
from bat.solvers._solve import Question, asks_core, solve

UNASKED = -1  # the token is at or above its threshold, or impossible: no program
MISPLACED = 256  # tokens beside the basis for which a proof has room here; a longer one is fetched by Python


class Programs(NamedTuple):
    """The programs of a batch, a row each, and room for their answers."""

    rows: FloatArray  # [r, v]
    probs: FloatArray  # [B, v]
    tokens: IntArray  # [B]
    thresholds: FloatArray  # [B] NaN where the interval itself is wanted
    counter: IntArray  # [1] the next row to be solved
    ended: IntArray  # [B] how each solve ended; see ``_solve``
    lower: FloatArray  # [B]
    upper: FloatArray  # [B]
    pivots: IntArray  # [B]
    passes: IntArray  # [B]
    seconds: FloatArray  # [B]
    directions: FloatArray  # [B, r]
    proof_sizes: IntArray  # [B]
    proof_tokens: IntArray  # [B, c + MISPLACED], or nothing where no proof is wanted
    proof_fractions: FloatArray  # [B, c + MISPLACED]


def make_programs(
    rows: FloatArray, probs: FloatArray, tokens: IntArray, thresholds: FloatArray, proofs: bool
) -> Programs:
    """A batch that nobody has begun."""
    batch, r = len(tokens), rows.shape[0]
    width = r + MISPLACED if proofs else 0
    return Programs(
        rows=rows,
        probs=probs,
        tokens=tokens,
        thresholds=thresholds,
        counter=np.zeros(1, np.int64),
        ended=np.full(batch, UNASKED, np.int64),
        lower=np.empty(batch),
        upper=np.empty(batch),
        pivots=np.zeros(batch, np.int64),
        passes=np.zeros(batch, np.int64),
        seconds=np.zeros(batch),
        directions=np.empty((batch, r)),
        proof_sizes=np.zeros(batch, np.int64),
        proof_tokens=np.empty((batch, width), np.int64),
        proof_fractions=np.empty((batch, width)),
    )


@njit(nogil=True, cache=True)
def solve_rows(programs, question, wanted, space):  # type: ignore[no-untyped-def]
    """Solve rows until none is left, or one must be finished in Python.

    Returns that row or -1, how it ended, and the workspace. ``question`` is asked of every row, with its
    own threshold; ``wanted`` is for ``_context.prepare``.
    """
    while True:
        row = take_number(programs.counter)
        if row >= programs.tokens.shape[0]:
            return -1, UNASKED, space
        probs, token, threshold = programs.probs[row], programs.tokens[row], programs.thresholds[row]
        if probs[token] >= threshold or (probs[token] == 0.0 and not np.isnan(threshold)):
            continue
        asked = Question(
            question.tolerance, threshold, question.cap, question.prove, question.max_pivots,
            question.time_limit_seconds,
        )  # fmt: skip
        if asks_core(asked):
            context = prepare_core(programs.rows, probs, wanted)
        else:
            context = prepare(programs.rows, probs, wanted)
        ended, space = solve(context, token, asked, space, False)
        size = space.state[0].proof_size
        if ended > _solve.TRIVIAL or size > programs.proof_tokens.shape[1]:
            return row, ended, space
        _record(programs, row, ended, space)


@njit(nogil=True, cache=True)
def _record(programs, row, ended, space):  # type: ignore[no-untyped-def]
    state = space.state[0]
    programs.ended[row] = ended
    programs.lower[row], programs.upper[row] = state.lower, state.upper
    programs.pivots[row], programs.passes[row] = state.pivots, state.passes
    programs.seconds[row] = seconds() - state.began
    programs.directions[row] = space.direction
    programs.proof_sizes[row] = state.proof_size
    for q in range(state.proof_size):
        programs.proof_tokens[row, q] = space.proof_tokens[q]
        programs.proof_fractions[row, q] = space.proof_fractions[q]
