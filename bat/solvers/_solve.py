"""One program from start to answer, compiled.

Rounds of climbing (``_climb``) and passing over the vocabulary (``_sweep``) until the bounds answer the
question. Two things are not done in compiled code: bounds whose rounding needs more care than a quick pass
takes, and proofs that have to be repaired. Then ``solve`` returns saying so, its state stays in the
workspace, and ``_finish`` goes on from there. Few rows are so hard: see docs/design/solver.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bat._compiling import njit
from bat._machine import seconds
from bat.solvers import _blas, _climb, _sweep
from bat.solvers._context import complete, fill_direction, with_token
from bat.solvers._spreading import bound_by_spreading

# How a solve ends. The first four are answers.
CLOSED, DECIDED, ABOVE_CAP = 0, 1, 2
TRIVIAL = 3  # closed without a climb
UNPROVEN = 4  # the status stands in the state, but its proof is left to ``_finish``
LAST_RESORT = 5  # the quick bounds do not meet, and the climb has nothing more to offer

MAX_ROUNDS = 60
# Rounds in which tokens may change sides unlisted. None of them joins the working set, so that could go on
# without end.
UNLISTED_ROUNDS = 6
MAX_REFRESHES = 3  # rounds spent on the climb's own rounding once no token is misplaced
UNIT_ROUNDING = 2.3e-16
# Relative error allowed for in a sum of up to a million positive terms added in blocks.
SUM_ROUNDING = 1e-13
# Sums of p_j a_j carry this many times the rounding error of their largest term.
SUMS = 32.0
# While only a decision is wanted, climb this far past the threshold before paying for the first pass.
PROMISE = 1.05
# The same while only the heavy tokens are looked at: the light ones may take more away.
CORE_PROMISE = 1.15


class Question(NamedTuple):
    """``bat.program.Goal`` for compiled code."""

    tolerance: float
    threshold: float  # NaN when there is none
    cap: float
    prove: bool
    max_pivots: int
    time_limit_seconds: float


@njit(nogil=True, cache=True)
def asks_core(question):  # type: ignore[no-untyped-def]
    """Whether a context's core may answer: a decision, and no proof to be kept."""
    return not (question.prove or np.isnan(question.threshold))


@njit(nogil=True, cache=True)
def solve(context, token, question, space, resumed):  # type: ignore[no-untyped-def]
    """Solve the program of ``token``, or go on where a solve returned UNPROVEN: (how it ended, workspace).

    If ``asks_core``, the context may be a core (``_context.prepare_core``).
    """
    state = space.state[0]
    tolerance, threshold = question.tolerance, question.threshold
    if not resumed:
        _start(context, token, state)
        space.direction[:] = 0.0
        space.direction[0] = 1.0
        if state.mass == 0.0 or context.rows.shape[0] == 1:
            return _trivial(state, state.mass), space
        if state.mass >= 1.0 - tolerance:
            return _trivial(state, 1.0), space
        if context.is_core:
            decided, space = _decide_by_core(context, token, question, space)
            if decided:
                return DECIDED, space
            context = complete(context)
            if not _climb.transfer(context, space):
                space = _climb.begin(context, token, space, True)
        else:
            space = _climb.begin(context, token, space, True)
    while state.rounds < MAX_ROUNDS:
        if not resumed:
            # 1. climb, and see what the vertex proves
            _climb.run(space, threshold, question.max_pivots, PROMISE if state.rounds == 0 else 1.0)
            fill_direction(context, space.u, space.direction)
            state.slack = _slack(context, space.direction)
            upper = rounded_up(state.vertex_bound, space)
            if upper <= threshold:
                return _end(context, question, space, DECIDED), space
            # 2. pass over the vocabulary
            _pass(context, space)
            if state.lower > threshold:
                return _end(context, question, space, DECIDED), space
            if state.lower > question.cap:
                return _end(context, question, space, ABOVE_CAP), space
            # Tokens that changed sides unlisted cannot be told in a certificate: let the next pass list them.
            if state.turned == 0 and upper - state.lower <= tolerance * upper:
                return _end(context, question, space, CLOSED), space
        # 3. learn from what it found
        resumed = False
        joined, space = _climb.absorb(context, space)
        state.rounds += 1
        if seconds() - state.began > question.time_limit_seconds or state.pivots >= question.max_pivots:
            break
        if joined == 0 and state.optimal:
            state.refreshes += 1
            if state.refreshes > MAX_REFRESHES or not _climb.refresh(space):
                break
    state.status = LAST_RESORT
    return LAST_RESORT, space


@njit(nogil=True, cache=True)
def _decide_by_core(core, token, question, space):  # type: ignore[no-untyped-def]
    """Whether the heavy tokens alone settle a decision, and the workspace.

    Leave the light tokens as they are, and ask the heavy ones to make up for the token: a program of its own,
    with its own mean. What replaces the token there replaces it in the whole distribution too, so an
    upper bound there is one here. A direction that looks good there is tried on the whole vocabulary.
    Neither needs the mean of the whole distribution, which costs as much as a pass.
    """
    core = with_token(core, token)
    state = space.state[0]
    space = _climb.begin(core, token, space, False)
    upper = bound_by_spreading(space, core.mass, question.threshold)
    if upper <= question.threshold:
        state.status, state.upper = DECIDED, upper
        return True, space
    promising = _climb.run(space, question.threshold * core.mass, question.max_pivots, CORE_PROMISE)
    fill_direction(core, space.u, space.direction)
    state.slack = _slack(core, space.direction)
    upper = rounded_up(min(1.0, state.vertex_bound / core.mass), space)
    if upper <= question.threshold:
        state.status, state.upper = DECIDED, max(upper, state.lower)
        return True, space
    if promising:
        direction = space.direction.copy()
        direction[0] += 2.0 * state.slack
        positive, negative = _sweep.add_up(core.rows, direction, core.probs, state.slack)
        state.passes += 1
        _bound_below(direction, positive, negative, space)
        if state.lower > question.threshold:
            state.status = DECIDED
            return True, space
    return False, space


@njit(nogil=True, cache=True)
def _start(context, token, state):  # type: ignore[no-untyped-def]
    state.began = seconds()
    state.token, state.mass = token, context.probs[token]
    state.pivots, state.passes, state.rounds, state.refreshes = 0, 0, 0, 0
    state.slack, state.proof_size = 0.0, 0
    state.lower, state.upper = state.mass, 1.0  # the plain threshold: y = e_1 proves it


@njit(nogil=True, cache=True)
def _trivial(state, upper):  # type: ignore[no-untyped-def]
    state.status, state.upper = TRIVIAL, upper
    return TRIVIAL


@njit(nogil=True, cache=True)
def _slack(context, direction):  # type: ignore[no-untyped-def]
    """A bound on the rounding error of a_j . y, for every j."""
    r, v = context.rows.shape
    # Rows are sqrt(v) times orthonormal ones, so no column is longer than sqrt(v + 1).
    return UNIT_ROUNDING * (r + 2) * np.sqrt(v + 1.0) * np.sqrt(_blas.dot(direction, direction))


@njit(nogil=True, cache=True)
def rounded_up(tau, space):  # type: ignore[no-untyped-def]
    """The bound tau with what rounding can add to it through the sums of p_j a_j that it rests on."""
    # The fractions' own masses come to tau; the group below was summed by adding and taking away; a
    # pinned group may be the one above, known only as what all other masses leave of one.
    state = space.state[0]
    summed = tau + state.moved_mass + (1.0 if _climb.group_is_pinned(space) else 0.0)
    return min(1.0, tau + SUMS * state.slack * summed)


@njit(nogil=True, cache=True)
def _pass(context, space):  # type: ignore[no-untyped-def]
    """One pass over the vocabulary: improves the lower bound, and finds tokens that are misplaced."""
    state, direction = space.state[0], space.direction
    _climb.publish_sides(context, space)
    # Pinned tokens are at zero up to rounding, and a heavy one would put its rounding error into N.
    # Raising every value by a little more than that error makes them positive: it costs only P.
    slack = state.slack
    direction[0] += 2.0 * slack
    positive, negative, crossed, near, turned, fallen = _sweep.sweep(
        context.rows, direction, context.probs, space.side_of, space.outside, slack, state.cutoff,
        state.rounds >= UNLISTED_ROUNDS, space.found, space.found_z, space.near, space.near_z, space.moved,
    )  # fmt: skip
    state.crossed, state.near, state.turned, state.fallen = crossed, near, int(turned), int(fallen)
    state.passes += 1
    _bound_below(direction, positive, negative, space)


@njit(nogil=True, cache=True)
def _bound_below(direction, positive, negative, space):  # type: ignore[no-untyped-def]
    """The lower bound that P and N of a direction prove."""
    # The sums are over all tokens; the token itself belongs to neither.
    state = space.state[0]
    slack = state.slack
    here = state.mass * _blas.dot(direction, space.own_column)
    positive = max(positive - max(here, 0.0), 0.0) + slack
    top = (here - state.mass * slack) * (1.0 - SUM_ROUNDING) - negative * (1.0 + SUM_ROUNDING)
    bottom = (top + positive) * (1.0 + SUM_ROUNDING)
    state.lower = min(1.0, max(state.mass, top / bottom)) if top > 0.0 else state.mass


@njit(nogil=True, cache=True)
def _end(context, question, space, status):  # type: ignore[no-untyped-def]
    """Write the answer into the state, with its proof if that is wanted and straightforward."""
    state = space.state[0]
    state.status, state.proof_size = status, 0
    state.upper = max(rounded_up(state.vertex_bound, space), state.lower)
    if not question.prove:
        return status
    if 1.0 - state.lower <= question.tolerance:  # no threshold lies above 1: nothing to prove
        state.upper = 1.0
        return status
    if status == CLOSED and not _climb.group_is_pinned(space):
        pinned, system, fixed = _climb.pinned_system(context, space)
        solution = np.empty(fixed.shape[0])
        square = system.shape[0] == system.shape[1]
        solved = square and _blas.solve_twice(system, fixed, solution)
        if solved and prove(question, space, pinned, system, fixed, solution):
            return status
    return UNPROVEN


@njit(nogil=True, cache=True)
def prove(question, space, pinned, system, fixed, solution):  # type: ignore[no-untyped-def]
    """Whether the solved threshold and fractions close the interval; if so they become its proof."""
    state = space.state[0]
    count = pinned.shape[0]
    residual = np.empty(fixed.shape[0])
    _blas.matrix_vector(system, solution, residual)
    residual[:] = np.abs(fixed - residual)
    lowest = 0.0
    for q in range(count):
        fraction = solution[1 + q] / space.mass[pinned[q]]
        if not fraction <= 1.0:
            return False
        lowest = min(lowest, fraction)
        space.proof_tokens[q], space.proof_fractions[q] = space.tokens[pinned[q]], fraction
    # What does not add up changes tau by y . residual: y is the inverse's row for tau.
    unbalanced = _blas.dot(np.abs(space.direction), residual)
    upper = rounded_up((solution[0] - lowest) / (1.0 - lowest) + unbalanced, space)
    if not upper - state.lower <= question.tolerance * upper:
        return False
    for q in range(state.crossed):
        token = space.found[q]
        space.proof_tokens[count + q] = token
        space.proof_fractions[count + q] = 1.0 if space.side_of[token] < 0.0 else 0.0
    state.proof_size = count + state.crossed
    state.upper = max(upper, state.lower)
    return True
