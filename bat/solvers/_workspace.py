"""The working set's arrays, and taking tokens into them, compiled.

The first two slots are the groups that stand for all tokens outside: those held above zero and those
held below, each as one token at its centre of mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bat._compiling import njit
from bat.arrays import AnyArray, FloatArray, IntArray
from bat.solvers._sweep import weighted_column

ABOVE_GROUP, BELOW_GROUP = 0, 1
INITIAL_CAPACITY = 2048
# Rows of these matrices must not be a power of two apart, or a token's entries share one cache set.
STAGGER = 24


# One program between passes over the vocabulary. Numbers; the arrays are beside it in the workspace.
STATE = np.dtype(
    [
        ("token", np.int64),
        ("mass", np.float64),  # p_i
        ("began", np.float64),  # on the clock of ``bat._machine``
        # The climb.
        ("n", np.int64),  # slots of the working set in use
        ("pivots", np.int64),
        ("factored_at", np.int64),  # pivots when the edges were last computed afresh
        ("optimal", np.bool_),
        ("vertex_bound", np.float64),  # the upper bound its vertex proves, but for rounding
        # The groups outside.
        ("below_count", np.int64),
        (
            "moved_mass",
            np.float64,
        ),  # all ever added to or taken from ``below_sum``: its rounding error's scale
        ("cutoff", np.float64),  # see ``_sweep.sweep``
        ("published", np.bool_),  # whether the arrays over the vocabulary are this program's
        # What the last pass found; see ``_sweep.sweep``.
        ("crossed", np.int64),
        ("near", np.int64),
        ("turned", np.int64),
        ("fallen", np.int64),
        # The solve.
        ("rounds", np.int64),
        ("refreshes", np.int64),
        ("passes", np.int64),
        ("slack", np.float64),  # bounds the rounding error of a_j . y, for every j
        # The answer.
        ("status", np.int64),  # see ``_solve``
        ("lower", np.float64),
        ("upper", np.float64),
        ("proof_size", np.int64),  # entries of ``proof_tokens`` in use
    ],
    align=True,
)


class Workspace(NamedTuple):
    """Arrays that one thread reuses from program to program: touching fresh pages costs as much as a pass."""

    # The working set, [capacity] slots.
    tokens: IntArray  # [capacity]
    mass: FloatArray  # [capacity]
    z: FloatArray  # [capacity]
    side: FloatArray  # [capacity]
    length: FloatArray  # [capacity] of beta
    columns: FloatArray  # [r, capacity] as in the basis
    beta: FloatArray  # [c, capacity] centred and whitened
    by_token: FloatArray  # [capacity, c] the same, a token's entries side by side
    # What a pass compares signs with, and the masses it sums, over the whole vocabulary.
    side_of: FloatArray  # [v]
    outside: FloatArray  # [v]
    # Tokens that a pass found across zero, and near it, with their values and how much they matter.
    found: IntArray  # [v]
    found_z: FloatArray  # [v]
    weights: FloatArray  # [v]
    near: IntArray  # [v]
    near_z: FloatArray  # [v]
    # The climb.
    own_column: FloatArray  # [r] a_i
    own_beta: FloatArray  # [c] the same, centred and whitened
    u: FloatArray  # [c] the point
    basis: IntArray  # [c] the slots held at zero
    pinned: FloatArray  # [c, c] row m: what slot m holds at zero, or moves along while it is empty
    inverse: FloatArray  # [c, c] row m: the edge along which it leaves zero
    frame: FloatArray  # [c, c] see ``_simplex.climb``
    crash: IntArray  # [1] likewise
    below_sum: FloatArray  # [r] sum of p_j a_j over the group below
    moved: FloatArray  # [r] what the last pass moved into that sum
    # The answer.
    direction: FloatArray  # [r] y
    proof_tokens: IntArray  # [r + v]
    proof_fractions: FloatArray  # [r + v]
    state: AnyArray  # [1] STATE


def make_workspace(r: int, v: int) -> Workspace:
    """A workspace for programs of r rows and v tokens."""
    c = r - 1
    tokens, mass, z, side, length, columns, beta, by_token = _slots(r, INITIAL_CAPACITY + STAGGER)
    return Workspace(
        tokens=tokens,
        mass=mass,
        z=z,
        side=side,
        length=length,
        columns=columns,
        beta=beta,
        by_token=by_token,
        side_of=np.empty(v),
        outside=np.empty(v),
        found=np.empty(v, np.int64),
        found_z=np.empty(v),
        weights=np.empty(v),
        near=np.empty(v, np.int64),
        near_z=np.empty(v),
        own_column=np.empty(r),
        own_beta=np.empty(c),
        u=np.empty(c),
        basis=np.empty(c, np.int64),
        pinned=np.empty((c, c)),
        inverse=np.empty((c, c)),
        frame=np.empty((c, c)),
        crash=np.empty(1, np.int64),
        below_sum=np.empty(r),
        moved=np.empty(r),
        direction=np.empty(r),
        proof_tokens=np.empty(r + v, np.int64),
        proof_fractions=np.empty(r + v),
        state=np.zeros(1, STATE),
    )


@njit(nogil=True, cache=True)
def _slots(r, capacity):  # type: ignore[no-untyped-def]
    return (
        np.full(capacity, -1),
        np.zeros(capacity),
        np.ones(capacity),
        np.ones(capacity),
        np.ones(capacity),
        np.zeros((r, capacity)),
        np.zeros((r - 1, capacity)),
        np.zeros((capacity, r - 1)),
    )


@njit(nogil=True, cache=True)
def reserve(space, used, capacity):  # type: ignore[no-untyped-def]
    """The workspace with room for ``capacity`` tokens in the working set, keeping the first ``used``."""
    slots = _slots(space.own_column.shape[0], capacity + STAGGER)
    tokens, mass, z, side, length, columns, beta, by_token = slots
    tokens[:used], mass[:used], z[:used] = space.tokens[:used], space.mass[:used], space.z[:used]
    side[:used], length[:used] = space.side[:used], space.length[:used]
    columns[:, :used], beta[:, :used] = space.columns[:, :used], space.beta[:, :used]
    by_token[:used] = space.by_token[:used]
    return Workspace(
        tokens, mass, z, side, length, columns, beta, by_token, space.side_of, space.outside, space.found,
        space.found_z, space.weights, space.near, space.near_z, space.own_column, space.own_beta, space.u,
        space.basis, space.pinned, space.inverse, space.frame, space.crash, space.below_sum, space.moved,
        space.direction, space.proof_tokens, space.proof_fractions, space.state,
    )  # fmt: skip


@njit(nogil=True, cache=True, fastmath={"contract"})
def _add_scaled(out, factor, values, centre):  # type: ignore[no-untyped-def]
    for j in range(out.shape[0]):
        out[j] += factor * (values[j] - centre)


@njit(nogil=True, cache=True)
def whiten_slots(columns, beta, by_token, length, mean, spread, start, stop):  # type: ignore[no-untyped-def]
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
    whiten_slots(columns, beta, by_token, length, mean, spread, start, stop)


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
    whiten_slots(columns, beta, by_token, length, mean, spread, 0, 2)
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
