"""The working set's arrays, and taking tokens into them, compiled.

The first two slots are the groups that stand for all tokens outside: those held above zero and those
held below, each as one token at its centre of mass.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bat.arrays import FloatArray, IntArray
from bat.solvers._sweep import weighted_column

ABOVE_GROUP, BELOW_GROUP = 0, 1
INITIAL_CAPACITY = 2048
# Rows of these matrices must not be a power of two apart, or a token's entries share one cache set.
STAGGER = 24


class Workspace:
    """Arrays that one thread reuses from program to program: touching fresh pages costs as much as a pass."""

    def __init__(self, r: int, v: int) -> None:
        # What a pass compares signs with, and the masses it sums, over the whole vocabulary.
        self.side_of = np.empty(v)
        self.outside = np.empty(v)
        # Tokens that a pass found across zero, and near it, with their values and how much they matter.
        self.found: IntArray = np.empty(v, np.int64)
        self.found_z = np.empty(v)
        self.weights = np.empty(v)
        self.near: IntArray = np.empty(v, np.int64)
        self.near_z = np.empty(v)
        self.r, self.v = r, v
        self.reserve(0, INITIAL_CAPACITY)

    def reserve(self, used: int, capacity: int) -> None:
        """Room for ``capacity`` tokens in the working set, keeping the first ``used``."""
        capacity += STAGGER
        fresh = {
            "tokens": np.full(capacity, -1),
            "mass": np.zeros(capacity),
            "z": np.ones(capacity),
            "side": np.ones(capacity),
            "length": np.ones(capacity),
            "columns": np.zeros((self.r, capacity)),
            "beta": np.zeros((self.r - 1, capacity)),
        }
        for name, array in fresh.items():
            if used:
                array[..., :used] = getattr(self, name)[..., :used]
            setattr(self, name, array)
        by_token = np.zeros((capacity, self.r - 1))
        if used:
            by_token[:used] = self.by_token[:used]
        self.by_token = by_token

    tokens: IntArray  # [capacity]
    mass: FloatArray  # [capacity]
    z: FloatArray  # [capacity]
    side: FloatArray  # [capacity]
    length: FloatArray  # [capacity] of beta
    columns: FloatArray  # [r, capacity] as in the basis
    beta: FloatArray  # [c, capacity] centred and whitened
    by_token: FloatArray  # [capacity, c] the same, a token's entries side by side


@njit(nogil=True, cache=True, fastmath={"contract"})
def _add_scaled(out, factor, values, centre):  # type: ignore[no-untyped-def]
    for j in range(out.shape[0]):
        out[j] += factor * (values[j] - centre)


@njit(nogil=True, cache=True)
def _whiten(columns, beta, by_token, length, mean, spread, start, stop):  # type: ignore[no-untyped-def]
    """beta = spread (column - mean) for the slots start to stop; ``spread`` is lower triangular."""
    length[start:stop] = 0.0
    for k in range(beta.shape[0]):
        row = beta[k, start:stop]
        row[:] = 0.0
        for m in range(k + 1):
            _add_scaled(row, spread[k, m], columns[m + 1, start:stop], mean[m + 1])
        for j in range(stop - start):
            length[start + j] += row[j] * row[j]
            by_token[start + j, k] = row[j]
    for j in range(start, stop):
        length[j] = np.sqrt(length[j])


@njit(nogil=True, cache=True)
def admit(  # type: ignore[no-untyped-def]
    rows, probs, mean, spread, joining, values, start, tokens, mass, z, side, length, columns, beta, by_token
):
    """Put the tokens ``joining``, whose values are ``values``, into the slots from ``start`` on."""
    stop = start + joining.shape[0]
    for k in range(rows.shape[0]):
        source, target = rows[k], columns[k]
        for q in range(joining.shape[0]):
            target[start + q] = source[joining[q]]
    for q in range(joining.shape[0]):
        tokens[start + q] = joining[q]
        mass[start + q] = probs[joining[q]]
        z[start + q] = values[q]
        side[start + q] = -1.0 if values[q] < 0.0 else 1.0
    _whiten(columns, beta, by_token, length, mean, spread, start, stop)


@njit(nogil=True, cache=True)
def form_groups(  # type: ignore[no-untyped-def]
    own, below_sum, mean, spread, u, n, mass, z, side, length, columns, beta, by_token
):
    """Recompute the two groups. ``own`` is p_i a_i; with it, all parts add up to the mean."""
    above_sum = mean - own - below_sum - weighted_column(columns[:, 2:n], mass[2:n])
    for group in range(2):
        total = above_sum if group == ABOVE_GROUP else below_sum
        # The sum above is a difference, which leaves rounding where there is nothing.
        empty = total[0] <= (1e-15 if group == ABOVE_GROUP else 0.0)
        mass[group] = 0.0 if empty else total[0]
        for k in range(mean.shape[0]):
            columns[k, group] = mean[k] if empty else total[k] / total[0]
    _whiten(columns, beta, by_token, length, mean, spread, 0, 2)
    side[ABOVE_GROUP], side[BELOW_GROUP] = 1.0, -1.0
    for group in range(2):
        z[group] = 1.0
        for k in range(u.shape[0]):
            z[group] += u[k] * beta[k, group]


@njit(nogil=True, cache=True)
def publish(tokens, side, start, stop, side_of, outside):  # type: ignore[no-untyped-def]
    """Write the sides of the slots start to stop where a pass over the vocabulary looks."""
    for slot in range(start, stop):
        side_of[tokens[slot]] = side[slot]
        outside[tokens[slot]] = 0.0


@njit(nogil=True, cache=True)
def leave_groups(joined, start, side_of, outside, moved, mass, columns, below_sum):  # type: ignore[no-untyped-def]
    """Take ``joined``, now in the slots from ``start`` on, out of the groups outside, and the tokens that
    ``moved`` is the sum of into the group below. Returns how many left that group, and their mass."""
    count, total = 0, 0.0
    leaving = np.zeros(joined.shape[0])  # masses that leave the group below
    for q in range(joined.shape[0]):
        outside[joined[q]] = 0.0
        total += mass[start + q]
        if side_of[joined[q]] < 0.0:
            count += 1
            leaving[q] = mass[start + q]
    below_sum += moved
    if count > 0:
        # Row by row, as the matrix lies in memory: with hundreds of rows, columns would miss the cache.
        below_sum -= weighted_column(columns[:, start : start + joined.shape[0]], leaving)
    return count, total
