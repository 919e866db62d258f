"""Fractions that satisfy the program's equations, with a bound on how far the computed ones are off.

The equations sum_j p_j (tau - phi_j) a_j = 0 are solved for the fractions of a few heavy tokens ``chosen``
when tau and all other fractions are given. Solving, rather than measuring a residual, keeps the heavy
tokens out of every sum: with d_k = p_k (tau - phi_k),

    A d = c2 - tau c1,     A = their columns,  c1 = sum_{others} p_j a_j,  c2 = sum_{others} p_j phi_j a_j

so rounding errors are relative to the light tokens, and what they do to phi_k is divided by a large p_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bat.arrays import FloatArray, IntArray
from bat.program import Program

UNIT = float(np.finfo(np.float64).eps) / 2  # relative error of one rounded operation
# numpy adds pairwise, in blocks of at most 128 with eight accumulators: under 64 roundings a term for any
# length below 2**40; forming the products adds a few. A BLAS dot product gives no such promise.
SUM_STEPS = 72
DEPENDENT = 1e-10  # a column whose independent part is smaller than this share of it counts as dependent


@dataclass(frozen=True, slots=True)
class Balance:
    """A threshold and the fractions of the chosen tokens that go with it."""

    tau: float
    fractions: FloatArray  # [k]
    errors: FloatArray  # [k]: the exact fractions lie within this distance


def balance(program: Program, phi: FloatArray, chosen: IntArray) -> Balance | None:
    """Solve for the fractions of ``chosen`` at the best tau; None where they cannot balance the others.

    ``chosen`` must be independent. Where it has fewer tokens than there are rows, the equations left over
    are taken to hold if they do up to rounding.
    """
    rows, probs = program.rows, program.probs
    weights, columns = probs[chosen], rows[:, chosen]
    square = chosen.size == rows.shape[0]
    inverse: FloatArray = np.asarray(np.linalg.inv(columns) if square else np.linalg.pinv(columns))  # [k, r]
    gap = (rows.shape[0] + 2) * UNIT * (np.abs(inverse) @ np.abs(columns))
    gap += np.abs(inverse @ columns - np.eye(chosen.size))
    distance = float(gap.sum(axis=1).max())  # how far the computed inverse is from a true one
    if distance > 0.5 or (not square and not _spans(program, phi, columns, inverse)):
        return None
    outside = probs.copy()
    outside[chosen] = 0.0
    suggested = float(np.sum(probs * phi) / np.sum(probs))
    kind: Any
    for kind in (np.float64, np.longdouble):
        unit = float(np.finfo(kind).eps) / 2
        mass: Any = outside.astype(kind)
        common, common_size = weighted_sum(rows, mass)  # c1
        taken, taken_size = weighted_sum(rows, mass * phi)  # c2
        per_tau, fixed = _refined(columns, inverse, common), _refined(columns, inverse, taken)
        tau = _best_threshold(suggested, 1 + per_tau / weights, fixed / weights)
        d = fixed - kind(tau) * per_tau
        residual = np.abs(taken - kind(tau) * common - columns @ d)
        rounding = (SUM_STEPS + 8) * unit * (common_size * tau + taken_size)
        rounding += (chosen.size + 4) * unit * (np.abs(columns) @ np.abs(d))
        # |d - exact| <= (I + E) |A^+| (residual + its rounding), with |E| <= distance / (1 - distance).
        reach = np.abs(inverse) @ (residual + rounding)
        reach = reach + distance / (1 - distance) * reach.max()
        fractions = tau - d / weights
        errors = reach / weights + 4 * unit * (tau + np.abs(d) / weights) + 2 * UNIT * np.abs(fractions)
        if errors.max() <= 1e-9 * tau:
            break  # fine enough; long double is for equations that only very light tokens carry
    return Balance(tau, fractions.astype(np.float64), errors.astype(np.float64))


def _refined(columns: FloatArray, inverse: FloatArray, target: Any) -> Any:
    """The solution of columns x = target in the arithmetic of ``target``."""
    x = inverse @ target
    for _ in range(2):
        x = x + inverse @ (target - columns @ x)
    return x


def _best_threshold(suggested: float, slope: Any, offset: Any) -> float:
    """The tau of least (tau + m) / (1 + m), m the largest shortfall below 0, among the natural candidates.

    The fractions are slope * tau - offset, so these are the tau that the given fractions suggest and those
    at which one of the solved ones vanishes. Several may stand for the same witness, raised from different
    heights; the one that needs the least raising is taken.
    """
    crossings = offset[slope != 0.0] / slope[slope != 0.0]
    tries = np.concatenate(([suggested], crossings[(crossings > 0.0) & (crossings < 1.0)]))
    values = np.outer(tries, slope) - offset
    shortfall = np.maximum(0.0, -values.min(axis=1))
    cost = np.where(values.max(axis=1) > 1.0, np.inf, (tries + shortfall) / (1.0 + shortfall))
    return float(tries[np.argmin(np.where(cost <= cost.min() * (1 + 1e-13), shortfall, np.inf))])


def _spans(program: Program, phi: FloatArray, columns: FloatArray, inverse: FloatArray) -> bool:
    """Whether fewer tokens than rows can still balance what is taken away, up to rounding.

    Tokens that keep a part lie in the span of ``columns``, which was chosen among them. What is taken whole
    must lie in it too: if it points anywhere else, only tau = 1 balances it. Each token is asked about by
    itself, because in their sum a light one would hide in the rounding of heavier ones.
    """
    taken = program.rows[:, (phi == 1.0) & (program.probs > 0.0)]
    stray = taken - columns @ (inverse @ taken)
    return bool(np.all(np.linalg.norm(stray, axis=0) <= DEPENDENT * np.linalg.norm(taken, axis=0)))


def weighted_sum(rows: FloatArray, weights: Any) -> tuple[Any, Any]:
    """sum_j weights_j a_j and sum_j weights_j |a_j| in the arithmetic of ``weights``, both added pairwise.

    Pairwise matters: ``SUM_STEPS`` counts on it.
    """
    used = np.flatnonzero(weights)
    if 2 * used.size > weights.size:
        used = np.arange(0)  # most tokens count: gathering them would cost more than adding zeros
    kept = weights[used] if used.size else weights
    values, sizes = np.empty((2, rows.shape[0]), dtype=weights.dtype)
    for k, row in enumerate(rows):
        terms = (row[used] if used.size else row) * kept
        values[k] = np.sum(terms)
        sizes[k] = np.sum(np.abs(terms, out=terms))
    return values, sizes


def heavy_independent(rows: FloatArray, weights: FloatArray) -> IntArray:
    """Independent tokens of positive weight, each the heaviest by weight times what is new in its column."""
    wanted, available = rows.shape[0], int(np.count_nonzero(weights))
    few = 2 * wanted + 32  # the heaviest nearly always suffice
    if few < available:
        pool = np.argpartition(weights, weights.size - few)[-few:]
        chosen = pool[_pivot(rows[:, pool], weights[pool])]
        if chosen.size == wanted:
            return np.asarray(chosen, dtype=np.int64)
    pool = np.flatnonzero(weights)
    return np.asarray(pool[_pivot(rows[:, pool], weights[pool])], dtype=np.int64)


def _pivot(columns: FloatArray, weights: FloatArray) -> list[int]:
    """Gram-Schmidt with the weightiest remainder first; columns are kept unscaled so that none underflow."""
    rest = columns.copy()
    least = DEPENDENT * np.linalg.norm(rest, axis=0)
    picked: list[int] = []
    while len(picked) < min(columns.shape):
        norms = np.sqrt(np.einsum("kj,kj->j", rest, rest))
        score = np.where(norms > least, norms * weights, 0.0)
        best = int(np.argmax(score))
        if score[best] == 0.0:
            break
        unit = rest[:, best] / norms[best]
        rest -= np.outer(unit, unit @ rest)
        least[best] = np.inf
        picked.append(best)
    return picked
