"""Critical thresholds of many tokens of one distribution, within a limit of time.

What the tokens share is prepared once. Spreading (``bat.spreading``) bounds all of them from above in one
matrix product, and a token's probability bounds it from below; then programs close the intervals one by one,
in the order of the tokens given. If time runs out, the rest keep their first bounds: valid, but wide.
"""

from __future__ import annotations

import time

import numpy as np

from bat import spreading
from bat.arrays import FloatArray, IntArray
from bat.basis import Basis
from bat.errors import InvalidInputError
from bat.program import NO_EFFORT, Answer, Efforts, Goal, Program, Status
from bat.solvers._context import Context
from bat.solvers.certified import CertifiedSolver
from bat.threads import map_in_threads, usable_threads
from bat.thresholds import CriticalThresholds, check_vocabulary
from bat.validation import ArrayInput, as_probabilities, as_tokens


def context_thresholds(
    basis: Basis,
    probs: ArrayInput,
    tokens: ArrayInput,
    tolerance: float = 1e-6,
    *,
    cap: float = 1.0,
    threads: int | None = None,
    time_limit_seconds: float = 60.0,
) -> CriticalThresholds:
    """An interval for the critical threshold of each of these tokens of one distribution ``probs`` [v].

    The same answers as ``critical_thresholds`` gives for as many copies of the distribution, but without
    certificates, and ``time_limit_seconds`` is for all tokens together.
    """
    rows = as_probabilities(probs, single=True)
    if rows.shape[0] != 1:
        raise InvalidInputError(f"context_thresholds takes one context; got {rows.shape[0]} rows.")
    check_vocabulary(basis, rows.shape[1], "probs")
    ids = as_tokens(tokens, np.size(tokens), rows.shape[1])
    ends_at = time.monotonic() + time_limit_seconds
    p = rows[0]
    solver = CertifiedSolver()
    has_constraints = basis.rows.shape[0] > 1
    prepared = solver.prepare(basis.rows, p) if has_constraints else None
    spread = p[ids] if prepared is None else _spread(prepared.core, ids)

    def solve(index: int) -> Answer:
        token, upper = int(ids[index]), float(spread[index])
        own = float(p[token])
        known = _without_program(own, cap, has_constraints=has_constraints)
        if known is not None:
            return Answer(own, own if known is Status.CLOSED else upper, None, NO_EFFORT, known)
        remaining = ends_at - time.monotonic()
        if remaining <= 0.0:
            return Answer(own, upper, None, NO_EFFORT, Status.UNFINISHED)
        goal = Goal(tolerance, cap=cap, prove=False, time_limit_seconds=remaining)
        return solver.solve(Program(basis.rows, p, token), goal, prepared)

    answers = map_in_threads(solve, range(len(ids)), usable_threads(threads))
    return CriticalThresholds(
        lower=np.array([answer.lower for answer in answers]),
        upper=np.minimum([answer.upper for answer in answers], spread),
        certificates=(None,) * len(answers),
        status=tuple(answer.status for answer in answers),
        effort=Efforts.of([answer.effort for answer in answers]),
        solver=solver.name,
    )


def _spread(context: Context, tokens: IntArray) -> FloatArray:
    # A critical threshold is never below the token's probability; rounding may put a bound there.
    return np.maximum(spreading.upper_bounds(context, tokens), context.probs[tokens])


def _without_program(own: float, cap: float, *, has_constraints: bool) -> Status | None:
    """What is known of a token without a program; None if it needs one."""
    if own == 0.0 or not has_constraints:
        return Status.CLOSED
    return Status.ABOVE_CAP if own >= cap else None
