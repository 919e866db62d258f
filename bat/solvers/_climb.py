"""One program between passes over the vocabulary, compiled: the climb, and what it learns from a pass.

The working set (``_workspace``) grows by the tokens that a pass finds on the wrong side of zero.
"""

from __future__ import annotations

import numpy as np

from bat._compiling import njit
from bat.solvers import _blas, _simplex, _sweep
from bat.solvers._simplex import EMPTY
from bat.solvers._workspace import (
    ABOVE_GROUP,
    BELOW_GROUP,
    admit,
    form_groups,
    leave_groups,
    publish,
    reserve,
    whiten_slots,
)

GROWTH = 512  # most tokens that join after one pass
CROSSED_GROWTH = 384  # most of these that join for having crossed zero, not for being near it
# Outside tokens are listed as near zero when mass over distance passes a cutoff: this share of the lightest
# mass in the first working set, and from pass to pass a smaller one ...
NEAR_SHARE, NEAR_DECAY = 0.2, 0.5
FEW_CROSSINGS = 1200  # ... until so few cross that the end is in sight
REFACTOR_AFTER = 100  # pivots; each adds a rounding error or two to the edges


@njit(nogil=True, cache=True)
def begin(context, token, space, grouped):  # type: ignore[no-untyped-def]
    """Start a program with the context's heavy tokens as its working set; returns the workspace.

    ``grouped`` is whether there are tokens outside, too.
    """
    state = space.state[0]
    state.token, state.mass = token, context.probs[token]
    state.n, state.pivots, state.factored_at = 2, 0, 0
    state.optimal, state.vertex_bound = False, 1.0
    state.below_count, state.moved_mass = 0, 0.0
    state.cutoff, state.published = NEAR_SHARE * context.lightest, False
    for k in range(context.rows.shape[0]):
        space.own_column[k] = context.rows[k, token]
    _blas.matrix_vector(context.spread, space.own_column[1:] - context.mean[1:], space.own_beta)
    space.u[:] = 0.0  # the direction e_1: every token at z = 1, the plain threshold
    space.below_sum[:] = 0.0
    tokens = context.heavy[context.heavy != token]
    space = _join(context, tokens, np.ones(tokens.shape[0]), space)
    _empty_basis(space)
    if grouped:
        _regroup(context, space)
    else:
        _leave_out_groups(space)
    return space


@njit(nogil=True, cache=True)
def _leave_out_groups(space):  # type: ignore[no-untyped-def]
    """Let the two groups stand for nothing: no mass, at the centre."""
    for group in (ABOVE_GROUP, BELOW_GROUP):
        space.mass[group], space.z[group], space.side[group], space.length[group] = 0.0, 1.0, 1.0, 0.0
        space.beta[:, group] = 0.0
        space.by_token[group] = 0.0
        space.columns[:, group] = 0.0


@njit(nogil=True, cache=True)
def transfer(context, space):  # type: ignore[no-untyped-def]
    """Take a climb over into another context with the same heavy tokens, at the point it has reached.

    Along y every value stays but for a factor, 1 / (b . y), so a vertex stays a vertex. False where b . y is
    not positive, and the climb must begin anew.
    """
    state, y = space.state[0], space.direction
    scale = _blas.dot(context.mean, y)
    if not scale > 0.01:
        return False
    c = space.u.shape[0]
    for k in range(c - 1, -1, -1):  # u @ spread = y[1:] / scale, spread lower triangular
        rest = y[k + 1] / scale
        for m in range(k + 1, c):
            rest -= space.u[m] * context.spread[m, k]
        space.u[k] = rest / context.spread[k, k]
    _blas.matrix_vector(context.spread, space.own_column[1:] - context.mean[1:], space.own_beta)
    whiten_slots(
        space.columns, space.beta, space.by_token, space.length, context.mean, context.spread, 2, state.n
    )
    _regroup(context, space)
    space.crash[0] = -1
    _refactor(space)
    return True


@njit(nogil=True, cache=True)
def _empty_basis(space):  # type: ignore[no-untyped-def]
    for j in range(space.state[0].n):
        if space.side[j] == 0.0:
            space.side[j] = 1.0
    space.basis[:] = EMPTY
    space.pinned[:] = 0.0
    space.inverse[:] = 0.0
    space.frame[:] = 0.0
    for k in range(space.u.shape[0]):
        space.pinned[k, k] = 1.0
        space.inverse[k, k] = 1.0
    space.crash[0] = 0


@njit(nogil=True, cache=True)
def _join(context, tokens, z, space):  # type: ignore[no-untyped-def]
    """Take tokens with values z into the next slots of the working set; returns the workspace."""
    start = space.state[0].n
    stop = start + tokens.shape[0]
    if stop > space.tokens.shape[0]:
        space = reserve(space, start, 2 * stop)
    admit(
        context.rows, context.probs, context.mean, context.spread, tokens, z, start, space.tokens, space.mass,
        space.z, space.side, space.length, space.columns, space.beta, space.by_token,
    )  # fmt: skip
    space.state[0].n = stop
    return space


@njit(nogil=True, cache=True)
def _regroup(context, space):  # type: ignore[no-untyped-def]
    """Recompute the two groups after the working set or the sides of outside tokens changed."""
    state = space.state[0]
    for slot in range(space.basis.shape[0]):
        if space.basis[slot] == ABOVE_GROUP or space.basis[slot] == BELOW_GROUP:
            space.pinned[slot] = space.by_token[space.basis[slot]]
            space.basis[slot] = EMPTY
    form_groups(
        state.mass * space.own_column, space.below_sum, context.mean, context.spread, space.u, state.n,
        space.mass, space.z, space.side, space.length, space.columns, space.beta, space.by_token,
    )  # fmt: skip


@njit(nogil=True, cache=True)
def _refactor(space):  # type: ignore[no-untyped-def]
    """Rebuild what rounding wears down: the edges, the point and the values."""
    state = space.state[0]
    c = space.u.shape[0]
    state.factored_at = state.pivots
    for m in range(c):
        if space.basis[m] != EMPTY:
            space.pinned[m] = space.by_token[space.basis[m]]
    if not _blas.inverse_transposed(space.pinned, space.inverse):
        _empty_basis(space)
        return
    errors, correction = np.empty(c), np.empty(c)
    _blas.matrix_vector(space.pinned, space.u, errors)
    for m in range(c):
        errors[m] = 1.0 + errors[m] if space.basis[m] != EMPTY else 0.0
    _blas.vector_matrix(errors, space.inverse, correction)
    for k in range(c):
        space.u[k] -= correction[k]
    _simplex.place(space.beta, space.u, space.basis, state.n, space.z, space.side)


@njit(nogil=True, cache=True)
def refresh(space):  # type: ignore[no-untyped-def]
    """Refactor if anything was done since the last time: whether that can change the bounds."""
    worn = space.state[0].pivots > space.state[0].factored_at
    if worn:
        _refactor(space)
    return worn


@njit(nogil=True, cache=True)
def run(space, threshold, max_pivots, promise):  # type: ignore[no-untyped-def]
    """Climb to the best vertex of the working set, or until its bounds seem to answer the question.

    ``promise`` is how many times the threshold (NaN for none) the value must reach before climbing stops for
    a pass. Returns whether it did.
    """
    state = space.state[0]
    c = space.u.shape[0]
    accept_above, reject_below = np.inf, -1.0
    if not np.isnan(threshold):
        accept_above = threshold * promise
        # Left of this margin for rounding a rejection may be called before the best vertex is reached.
        reject_below = threshold * (1.0 - 1e-6) if promise > 1.0 else -1.0
    # A crude model is not worth solving to the end: pass over the vocabulary and improve it instead.
    stop_at = state.pivots + min(max(c, 100), 288) + (c if state.pivots == 0 else 0)
    stop_at = min(stop_at, max_pivots)
    while state.pivots < stop_at:
        if state.pivots - state.factored_at >= max(REFACTOR_AFTER, c // 2):
            _refactor(space)
        limit = min(max(REFACTOR_AFTER, c // 2), stop_at - state.pivots)
        pivots, optimal, upper, value = _simplex.climb(
            space.beta, space.by_token, space.mass, space.z, space.side, space.length, state.n,
            state.mass * space.own_beta, state.mass, space.own_beta, space.u, space.basis, space.inverse,
            space.frame, space.crash, limit, 1e-10 * state.mass, accept_above, reject_below,
        )  # fmt: skip
        state.pivots += pivots
        state.optimal, state.vertex_bound = optimal, upper
        if pivots < limit or upper <= reject_below or value > accept_above:
            return value > accept_above
    return False


@njit(nogil=True, cache=True)
def publish_sides(context, space):  # type: ignore[no-untyped-def]
    """Tell the vocabulary-wide arrays what the working set holds. Decisions often need no pass at all,
    so nothing of the size of the vocabulary is touched before the first."""
    state = space.state[0]
    if not state.published:
        space.side_of[:] = 1.0
        space.side_of[state.token] = 0.0
        space.outside[:] = context.probs
        space.outside[state.token] = 0.0
        state.published = True
    publish(space.tokens, space.side, 2, state.n, space.side_of, space.outside)


@njit(nogil=True, cache=True)
def absorb(context, space):  # type: ignore[no-untyped-def]
    """Move outside tokens that the last pass found on the wrong side, and take the most relevant into the
    working set. Returns how many tokens changed sides or joined, and the workspace."""
    state = space.state[0]
    crossed, fallen = _sweep.change_sides(
        space.found[: state.crossed], space.found_z[: state.crossed], context.probs, space.outside,
        space.side_of, space.weights,
    )  # fmt: skip
    joining, joining_z = _sweep.choose(
        space.found[:crossed], space.found_z[:crossed], space.weights, space.near[: state.near],
        space.near_z[: state.near], context.probs, CROSSED_GROWTH, GROWTH,
    )  # fmt: skip
    many = state.crossed + state.turned > FEW_CROSSINGS
    state.cutoff = state.cutoff * NEAR_DECAY if many else np.inf
    start = state.n
    space = _join(context, joining, joining_z, space)
    # Tokens now above leave the group below; tokens now below enter it, unless they join.
    left, joined_mass = leave_groups(
        joining, start, space.side_of, space.outside, space.moved, space.mass, space.columns, space.below_sum
    )
    state.below_count += fallen + state.fallen - left
    state.moved_mass += abs(space.moved[0]) + space.below_sum[0] + joined_mass
    _forget_rounding(space)
    changed = crossed + state.turned
    opened, space = _open_pinned_groups(context, changed == 0, space)
    _regroup(context, space)
    return changed + opened, space


@njit(nogil=True, cache=True)
def _forget_rounding(space):  # type: ignore[no-untyped-def]
    """An empty group below has no sum, so no rounding error either."""
    if space.state[0].below_count == 0:
        space.below_sum[:] = 0.0
        space.state[0].moved_mass = 0.0


@njit(nogil=True, cache=True)
def _open_pinned_groups(context, stuck, space):  # type: ignore[no-untyped-def]
    """Take in the members of a group that is itself held at zero, once few are left or nothing else
    moves: a vertex on a group is none of the whole vocabulary's. Returns how many, and the workspace."""
    opened = 0
    for group in (BELOW_GROUP, ABOVE_GROUP):
        below = group == BELOW_GROUP
        few = below and space.state[0].below_count <= GROWTH
        if not (stuck or few) or not (space.basis == group).any():
            continue
        members = np.flatnonzero((space.side_of == (-1.0 if below else 1.0)) & (space.outside > 0.0))
        columns = np.empty((context.rows.shape[0], members.shape[0]))
        _sweep.gather(context.rows, members, columns)
        z = np.empty(members.shape[0])
        _blas.vector_matrix(space.direction, columns, z)
        if members.shape[0] > GROWTH:
            weights = np.empty(members.shape[0])
            for q in range(members.shape[0]):
                weights[q] = context.probs[members[q]] / (abs(z[q]) + 0.1)
            chosen = _sweep.heaviest(weights, GROWTH)
            members, z = members[chosen], z[chosen]
        start = space.state[0].n
        space = _join(context, members, z, space)
        for token in members:
            space.outside[token] = 0.0
        opened += members.shape[0]
        if below:
            stop = space.state[0].n
            leaving = np.empty(space.below_sum.shape[0])
            _blas.matrix_vector(space.columns[:, start:stop], space.mass[start:stop], leaving)
            space.below_sum[:] -= leaving
            space.state[0].below_count -= members.shape[0]
            _forget_rounding(space)
    return opened, space


@njit(nogil=True, cache=True)
def group_is_pinned(space):  # type: ignore[no-untyped-def]
    """Whether a group itself is held at zero, so that its tokens share a fraction between 0 and 1."""
    pinned = False
    for slot in range(space.basis.shape[0]):
        pinned |= space.basis[slot] == ABOVE_GROUP or space.basis[slot] == BELOW_GROUP
    return pinned


@njit(nogil=True, cache=True)
def pinned_system(context, space):  # type: ignore[no-untyped-def]
    """Pinned slots of the working set, and the equations for the threshold and their masses times fractions:
    ``system @ solution = fixed``.

    In the basis's own coordinates, so that a proof does not carry the climb's rounding.
    """
    state = space.state[0]
    pinned = space.basis[space.basis != EMPTY]
    below = np.where(space.side[: state.n] < 0.0, space.mass[: state.n], 0.0)
    r = context.rows.shape[0]
    fixed = np.empty(r)
    _blas.matrix_vector(space.columns[:, : state.n], below, fixed)
    for k in range(r):
        fixed[k] = state.mass * space.own_column[k] + fixed[k]
    system = np.empty((r, 1 + pinned.shape[0]))
    system[:, 0] = context.mean
    for q in range(pinned.shape[0]):
        system[:, 1 + q] = -space.columns[:, pinned[q]]
    return pinned, system, fixed
