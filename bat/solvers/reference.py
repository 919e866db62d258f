"""The program as solvers of linear programs are given it, and the answer made of what they return.

HiGHS and CBC share this, and so may a solver of your own: ``state`` writes a program down,
``answer_from_solution`` gives the interval that a solution proves.

HiGHS and CBC work to absolute tolerances, so everything depends on the units. In ``state`` they are:

    minimise M   such that   M b' - sum_j u_j a'_j = (p_i / k) a'_i,    0 <= u_j <= p_j / k,    M = tau / k

* k is a lower bound of tau*, so M is of order one however unlikely the token. The reduced costs are
  a_j . y with b . y = 1: whatever violation a solver tolerates, shifting y by it proves the bound to the
  same *relative* accuracy (rows[0] is ones).
* a'_j = T a_j, with T chosen such that sum_j p_j a'_j a'_j^T is the identity. In a peaked distribution
  most directions are carried by light tokens alone, and without T whole equations fall below tolerance.
* The program is never infeasible (phi = 1, tau = 1) nor unbounded (tau >= p_i): a solver that says so
  has failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bat._balance import DEPENDENT, UNIT, weighted_sum
from bat.arrays import FloatArray, IntArray
from bat.certificates import certify_direction, compress, lower_bound, upper_bound
from bat.program import Answer, Certificate, Effort, Goal, Program, Status


@dataclass(frozen=True, slots=True)
class Statement:
    """min x_0 such that matrix x = right and 0 <= x <= upper; column 0 is M, the others are u."""

    matrix: FloatArray  # [r', n + 1]
    upper: FloatArray  # [n + 1]
    right: FloatArray  # [r']
    tokens: IntArray  # [n]: the token of every column but the first
    transform: FloatArray  # [r', r]: T
    unit: float  # k

    def direction(self, duals: FloatArray) -> FloatArray:
        """y in the program's own rows, from the duals of the stated equations."""
        return np.asarray(duals @ self.transform, dtype=np.float64)

    def fractions(self, program: Program, values: FloatArray) -> FloatArray:
        """phi from u; a value within a rounding of its bound is at its bound."""
        phi = np.zeros_like(program.probs)
        share = values[1:] / self.upper[1:]
        phi[self.tokens] = np.where(share > 1.0 - 1e-12, 1.0, np.maximum(share, 0.0))
        return phi


def state(program: Program) -> Statement:
    """The program in units that suit absolute tolerances; tokens without probability are left out."""
    rows, probs, token = program.rows, program.probs, program.token
    # The triangle has the same left singular vectors as the whole, and is much smaller.
    triangle = np.linalg.qr((rows * np.sqrt(probs)).T)[1]
    left, sizes, _ = np.linalg.svd(triangle.T, full_matrices=False)
    left, sizes = left[:, sizes > 1e-13 * sizes[0]], sizes[sizes > 1e-13 * sizes[0]]  # else no token is there
    transform = (left / sizes).T
    own = transform @ rows[:, token]
    unit = lower_bound(program, own @ transform)  # y = G^-1 a_i: least squares instead of least sums
    tokens = other_tokens(program)
    whitened = transform @ rows
    matrix = np.column_stack((whitened @ probs, -whitened[:, tokens]))
    upper = np.concatenate(([np.inf], probs[tokens] / unit))
    return Statement(matrix, upper, own * (probs[token] / unit), tokens, transform, unit)


def other_tokens(program: Program) -> IntArray:
    """The tokens that can give probability away."""
    used = program.probs > 0.0
    used[program.token] = False
    return np.flatnonzero(used).astype(np.int64)


def trivial_fractions(program: Program) -> FloatArray | None:
    """The optimal fractions where there is nothing to solve: p_i = 0, p_i = 1, or only the sum is kept."""
    if program.probs[program.token] > 0.0 and program.rows.shape[0] > 1 and other_tokens(program).size:
        return None
    phi = np.zeros_like(program.probs)
    phi[program.token] = 1.0
    return phi


def answer_from_solution(
    program: Program,
    goal: Goal,
    direction: FloatArray | None,
    fractions: FloatArray | None,
    *,
    iterations: int,
    seconds: float,
    polished: bool = True,
) -> Answer:
    """The interval that a solver's claimed solution really proves; None stands for what it did not return."""
    first = np.eye(1, program.rows.shape[0])[0]
    known = trivial_fractions(program)
    directions = [] if direction is None or not np.isfinite(direction).all() else [direction]
    guesses = [] if fractions is None else [fractions]
    if known is not None:
        directions, guesses = [first], [known]
    elif polished and directions and guesses and np.any(directions[0]):
        better = polish(program, directions[0], guesses[0])
        directions, guesses = [*directions, better[0]], [*guesses, better[1]]
    bounds = [certify_direction(program, y) for y in directions or [first]]
    lower, proof = max(bounds, key=lambda pair: pair[0])
    reached = [upper_bound(program, phi) for phi in guesses or [np.ones_like(program.probs)]]
    upper, phi = min(reached, key=lambda pair: pair[0])
    # The bound 1 needs no proof (phi = 1 everywhere is always feasible), so no fractions are kept for it.
    none = Certificate(proof, np.empty(0, dtype=np.int64), np.empty(0))
    certificate = compress(program, proof, phi) if upper < 1.0 else none
    effort = Effort(pivots=iterations, passes=len(bounds) + len(reached), seconds=seconds)
    status = _status(goal, lower, upper) if directions or guesses else Status.FAILED
    return Answer(lower, upper, certificate, effort, status)


def _status(goal: Goal, lower: float, upper: float) -> Status:
    if upper - lower <= goal.tolerance * upper:
        return Status.CLOSED
    if goal.threshold is not None and (lower > goal.threshold or upper <= goal.threshold):
        return Status.DECIDED
    return Status.UNFINISHED


def polish(program: Program, direction: FloatArray, fractions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Recompute an optimal vertex to full precision from an approximate one, such as eight printed digits.

    At a vertex a_j . y = 0 for the tokens strictly between their bounds. Those tokens are read off the
    guess, y is projected on what they allow, and their fractions are solved for with all others at 0 or 1.
    A wrong guess gives a poor pair, never a wrong one: both still have to pass the bounds.
    """
    rows, probs, token = program.rows, program.probs, program.token
    height = rows.shape[0]
    others = probs > 0.0
    others[token] = False
    # 1. The basic tokens: first those inside their bounds, then those with the least |a_j . y|.
    scale = np.abs(direction) @ np.abs(rows)
    nearness = np.abs(direction @ rows) / np.maximum(scale, UNIT)
    inside = others & (fractions > 0.0) & (fractions < 1.0)
    near = np.flatnonzero(inside | (others & (nearness <= 1e-7)))
    near = near[np.lexsort((nearness[near], ~inside[near]))][: 8 * height]
    basic, frame = _independent_in_order(rows, near, height - 1)
    # 2. The direction that vanishes on them; projected twice, as once leaves errors of the size of y.
    y = np.array(direction, dtype=np.float64)
    for _ in range(2):
        y = y - frame @ (frame.T @ y)
    # 3. All other tokens at a bound: the one the sign of a_j . y tells, or the nearer one where it is faint.
    reduced = y @ rows
    faint = np.abs(reduced) <= 1e-9 * scale
    phi = np.where(faint, np.round(fractions), np.where(reduced < 0.0, 1.0, 0.0))
    phi[~others] = 0.0
    phi[token], phi[basic] = 1.0, 0.0
    # 4. tau and d_k = p_k (tau - phi_k) of the basic tokens from the equations (see ``bat._balance``).
    outside: Any = probs.astype(np.longdouble)
    outside[basic] = 0.0
    system = np.column_stack((weighted_sum(rows, outside)[0], rows[:, basic]))
    norms = np.sqrt(np.sum(system * system, axis=0)).astype(np.float64)
    inverse = np.linalg.pinv(system.astype(np.float64) / norms)
    unknowns: Any = np.zeros(basic.size + 1, dtype=np.longdouble)
    target = weighted_sum(rows, outside * phi)[0]
    for _ in range(3):  # the second and third rounds refine
        unknowns += inverse @ (target - system @ unknowns) / norms
    phi[basic] = np.clip(unknowns[0] - unknowns[1:] / probs[basic], 0.0, 1.0)
    return y, phi


def _independent_in_order(rows: FloatArray, order: IntArray, wanted: int) -> tuple[IntArray, FloatArray]:
    """The first ``wanted`` independent tokens in this order, and an orthonormal frame of their columns."""
    frame = np.zeros((rows.shape[0], wanted))
    picked: list[int] = []
    for token in order:
        if len(picked) == wanted:
            break
        rest = rows[:, token].copy()
        for _ in range(2):
            rest -= frame @ (frame.T @ rest)
        norm = float(np.linalg.norm(rest))
        if norm > DEPENDENT * float(np.linalg.norm(rows[:, token])):
            frame[:, len(picked)] = rest / norm
            picked.append(int(token))
    return np.array(picked, dtype=np.int64), frame[:, : len(picked)]
