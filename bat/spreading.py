"""A reject certificate for a whole vocabulary at once.

Spread token i's probability over a set S of heavy tokens by least squares: with
G = sum_{j in S} p_j a_j a_j^T and k_ij = a_j . G^-1 a_i, raising each p_j by the factor 1 + p_i k_ij keeps
every kept direction. That is a valid replacement as long as no factor is negative, and it proves

    tau*_i <= m / (1 + m),   m = max(0, max_j p_i k_ij).

For i in S itself, S without i is used: by the Sherman-Morrison formula that only divides every k_ij by
1 - p_i k_ii. One matrix product answers for thousands of tokens; on a language model's vocabulary it
leaves a few hundred of fifty thousand undecided.
"""

from __future__ import annotations

import numpy as np

from bat.arrays import FloatArray, IntArray
from bat.solvers import _sweep
from bat.solvers._context import Context

CHUNK = 2048  # tokens at a time: [heavy, CHUNK] factors stay around ten megabytes


def upper_bounds(context: Context, tokens: IntArray) -> FloatArray:
    """Upper bounds on the critical thresholds of ``tokens``, 1 where spreading proves nothing."""
    heavy, columns = context.heavy, context.heavy_columns  # [n], [r, n]
    gram = (columns * context.probs[heavy]) @ columns.T
    longest = float(np.sqrt((columns**2).sum(axis=0).max(initial=0.0)))
    heavy_index = np.full(context.probs.size, -1)
    heavy_index[heavy] = np.arange(heavy.size)
    bounds = np.ones(tokens.size)
    try:
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:  # the heavy tokens do not span the kept directions
        return bounds
    for start in range(0, tokens.size, CHUNK):
        part = tokens[start : start + CHUNK]
        own = np.empty((columns.shape[0], part.size))  # [r, m]
        _sweep.gather(context.rows, part, own)
        solved = inverse @ own
        solved += inverse @ (own - gram @ solved)
        # What a further refinement would still change, in any factor: counted against the bound.
        error = longest * np.linalg.norm(inverse @ (own - gram @ solved), axis=0)
        factors = columns.T @ solved  # [n, m] k_ij
        mass = context.probs[part]
        inside = heavy_index[part] >= 0
        leverage = np.einsum("ij,ij->j", own, solved) + error  # k_ii
        remaining = np.where(inside, 1.0 - mass * leverage, 1.0)
        factors[heavy_index[part][inside], np.flatnonzero(inside)] = 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            highest = mass * (factors.max(axis=0, initial=0.0) + 2.0 * error) / remaining
            lowest = mass * (factors.min(axis=0, initial=0.0) - 2.0 * error) / remaining
            proven = highest / (1.0 + highest) * (1.0 + 1e-9)
        valid = (remaining > 1e-6) & (lowest >= -1.0)  # False where an error made them NaN
        bounds[start : start + CHUNK] = np.where(valid, proven, 1.0)
    return bounds
