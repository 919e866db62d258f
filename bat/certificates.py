"""Bounds on the critical threshold that trust no solver.

``bat.program`` states the program and its dual. Here a direction y becomes a proven lower bound and
fractions phi become a proven upper bound, each by a few passes over the vocabulary with every rounding
error counted against the bound. Solvers only propose; what is reported comes from here.

How narrow an interval can get is limited by the certificate itself being made of float64 numbers. A
direction cannot be orthogonal to a column more closely than one rounding of |a_j| . |y|, which costs
the lower bound that much relative to b . y: about 1e-16 times tau* / p_i, so that intervals narrower
than 1e-6 exist up to tau* / p_i of some 1e9. Ordinary tokens are far from it.
"""

from __future__ import annotations

import numpy as np

from bat._balance import SUM_STEPS, UNIT, balance, heavy_independent
from bat.arrays import FloatArray, IntArray
from bat.errors import InvalidInputError
from bat.program import Certificate, Program

TINY = float(np.finfo(np.float64).tiny)  # more than all the underflow a sum over a vocabulary can hide
LARGEST_SHIFT = 1e-5  # of the size of the direction; a larger shift costs more than tolerances allow
BLOCK = 2048  # tokens whose columns are copied at once, so that the copy stays in cache


def certify_direction(program: Program, direction: FloatArray) -> tuple[float, FloatArray]:
    """Lower bound proven by ``direction`` or by a slightly shifted copy of it, and the copy that proves it.

    Rounding leaves a_j . y wrong by up to ``slack_j``. A heavy token with a_j . y = 0, of which an optimal
    y has one per kept direction, would put p_j * slack_j into N: some 1e-17, ruinous beside a threshold
    of 1e-12. Adding ``shift`` to the first entry of y adds it to every a_j . y (rows[0] is ones), so such
    tokens become positive and cost nothing in N; what they add to P is a relative 1e-15 of the bound.
    Larger shifts do the same for directions that a solver only optimised to its own tolerance.
    """
    rows, probs, token = program.rows, program.probs, program.token
    best, best_direction = float(probs[token]), np.eye(1, rows.shape[0])[0]
    size = float(np.abs(direction).max())
    if not np.isfinite(size) or size < TINY:
        return best, best_direction
    y = np.asarray(direction, dtype=np.float64) / size
    weights = probs.copy()
    weights[token] = 0.0
    reduced, slack = _products(rows, y)  # [v], [v]
    near = _sharpen(rows, y, weights, reduced, slack)
    positive = _sum_up(weights * np.maximum(reduced + slack, 0.0))
    mass = _sum_up(weights)
    below = np.flatnonzero((reduced < slack) & (weights > 0.0))  # only these can ever enter N
    first = 1.01 * float((slack[near] - reduced[near]).max(initial=2 * UNIT))
    ladder = first * 8.0 ** np.arange(max(1, int(np.log(LARGEST_SHIFT / first) / np.log(8.0))))
    previous = -np.inf
    for wanted in (0.0, *ladder):
        shifted = y.copy()
        shifted[0] = y[0] + wanted
        if shifted[0] - y[0] < wanted:
            shifted[0] = np.nextafter(shifted[0], np.inf)
        shift = float(shifted[0] - y[0])
        blur = 4 * UNIT * shift  # covers the rounding of this difference and of adding it
        negative = _sum_up(weights[below] * np.maximum(slack[below] + blur - shift - reduced[below], 0.0))
        gain = float(probs[token]) * float(reduced[token] + shift - slack[token] - blur) * (1 - 4 * UNIT)
        numerator = (gain - negative) * (1 - 4 * UNIT) - TINY
        # max(0, z + shift) <= max(0, z) + shift, so P never needs a second pass.
        denominator = numerator + (positive + mass * shift) * (1 + 4 * UNIT)
        bound = numerator / denominator * (1 - 4 * UNIT) if numerator > 0.0 else numerator
        if bound > best:
            best, best_direction = bound, shifted
        if bound < previous:
            break  # concave over linear: it only rises and then falls
        previous = bound
    return min(best, 1.0), best_direction


def lower_bound(program: Program, direction: FloatArray) -> float:
    """A number that tau* is not below, whatever ``direction`` is; at least p_i, which y = e_1 proves."""
    return certify_direction(program, direction)[0]


def upper_bound(program: Program, fractions: FloatArray) -> tuple[float, FloatArray]:
    """A number that tau* does not exceed, and fractions that prove it: at most 1, perhaps a little below 0.

    Why it is a bound. Take tau and the fractions of all but a few heavy tokens as given; the equations fix
    the rest, and exact values exist within the distance that ``balance`` reports. If the least of them
    is -m < 0, then q_j = p_j (1 - phi_j) / (1 - tau) is still a distribution that agrees with p, and it obeys
    q_j <= p_j / (1 - tau') for 1 - tau' = (1 - tau) / (1 + m), so tau' = (tau + m) / (1 + m) is feasible.
    A fraction above 1 makes q negative and has no such remedy: its token is taken whole and the others
    balance again. Where that fails the bound is 1, which phi = 1 everywhere always reaches.
    """
    rows, probs, token = program.rows, program.probs, program.token
    prob = float(probs[token])
    phi = np.clip(np.nan_to_num(np.asarray(fractions, dtype=np.float64)), 0.0, 1.0)
    phi[probs == 0.0] = 0.0
    phi[token] = 1.0
    if rows.shape[0] == 1 or prob == 0.0:
        phi[:] = 0.0
        phi[token] = 1.0
        return prob, phi
    for _ in range(4):
        chosen = heavy_independent(rows, probs * (1.0 - phi))
        found = balance(program, phi, chosen) if chosen.size else None
        if found is None:
            break
        excessive = found.fractions + found.errors > 1.0
        if not excessive.any():
            phi[chosen] = found.fractions
            shortfall = max(0.0, float((found.errors - found.fractions).max()))
            raised = (found.tau + shortfall) / (1.0 + shortfall) * (1 + 8 * UNIT)
            return min(max(raised, prob), 1.0), phi
        phi[chosen[excessive]] = 1.0
    return 1.0, np.ones_like(phi)


def expand(program: Program, certificate: Certificate) -> FloatArray:
    """The fraction of every token that a certificate stands for; 1 at the token itself, all of which goes."""
    phi = (certificate.direction @ program.rows < 0.0).astype(np.float64)
    phi[certificate.tokens] = certificate.fractions
    phi[program.token] = 1.0
    return phi


def compress(program: Program, direction: FloatArray, fractions: FloatArray) -> Certificate:
    """Keep only the fractions that the signs of a_j . y do not tell, or tell too faintly to trust."""
    reduced = direction @ program.rows
    faint = np.flatnonzero(np.abs(reduced) <= 1e-6 * np.abs(reduced).max())
    differs = fractions != (reduced < 0.0)
    differs[faint] |= np.abs(reduced[faint]) <= _products(program.rows[:, faint], direction)[1]
    differs &= program.probs > 0.0
    differs[program.token] = False
    tokens = np.flatnonzero(differs).astype(np.int64)
    return Certificate(np.array(direction, dtype=np.float64), tokens, fractions[tokens])


def witness(program: Program, fractions: FloatArray) -> FloatArray:
    """The distribution q that shows a threshold to be feasible: q_i = 0 and q agrees with p on every row."""
    kept = program.probs * (1.0 - fractions)
    kept[program.token] = 0.0
    total = float(kept.sum())
    if total <= 0.0:
        raise InvalidInputError(
            f"fractions must leave some probability; got none left for token {program.token}. A token whose "
            "critical threshold is 1 has no witness: no distribution without it agrees with the model's."
        )
    return np.asarray(kept / total, dtype=np.float64)


def _products(rows: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a_j . y for every token, and by how much each can be wrong (any order of summation, fused or not)."""
    reduced, slack = direction @ rows, np.empty(rows.shape[1])
    sizes = (rows.shape[0] + 4) * UNIT * np.abs(direction)
    for start in range(0, rows.shape[1], BLOCK):  # |rows| as a whole would cost more than all else here
        slack[start : start + BLOCK] = sizes @ np.abs(rows[:, start : start + BLOCK])
    return reduced, slack


def _sharpen(
    rows: FloatArray, direction: FloatArray, weights: FloatArray, reduced: FloatArray, slack: FloatArray
) -> IntArray:
    """Redo in long double, in place, the products whose rounding errors would be felt in P or N.

    These are the few tokens near zero; and all tokens where p_i is so small against tau* that the positive
    parts nearly cancel. Where long double is no longer than double nothing is gained, and nothing is wrong.
    Returns the tokens near zero.
    """
    near = (weights > 0.0) & (np.abs(reduced) <= 2 * slack)
    felt = float(np.sum(weights * slack)) > 1e-10 * float(np.sum(weights * np.maximum(reduced, 0.0)))
    redo = np.flatnonzero(weights > 0.0 if felt else near)
    y, unit = direction.astype(np.longdouble), float(np.finfo(np.longdouble).eps) / 2
    for start in range(0, redo.size, BLOCK):
        part = redo[start : start + BLOCK]
        columns = rows[:, part].astype(np.longdouble)
        reduced[part] = y @ columns
        slack[part] = (rows.shape[0] + 4) * unit * (np.abs(y) @ np.abs(columns))
        slack[part] += UNIT * np.abs(reduced[part])
    return np.flatnonzero(near)


def _sum_up(terms: FloatArray) -> float:
    """A number that the exact sum of nonnegative products does not exceed."""
    return float(np.sum(terms)) * (1 + SUM_STEPS * UNIT) + TINY
