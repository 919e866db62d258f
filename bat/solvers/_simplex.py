"""Simplex steps on a working set of tokens, compiled.

In centred, whitened coordinates a token's value along the direction being built is
``z_j = 1 + beta_j . u`` and the bound to raise is

    p_i z_i  -  sum_j p_j max(0, -z_j)                                     (concave, piecewise linear)

A vertex is c tokens with ``z_j = 0`` (the basis). Row m of ``inverse`` is the edge along which
basic token m leaves zero while the other basic tokens stay. ``side`` is +1 for a token above zero
(its fraction phi is 0), -1 below (phi is 1) and 0 for a basic token. It is kept as a state rather
than read off the sign of z, so that tokens which sit exactly at zero have a definite side.

A slot may be empty (``basis[m] == EMPTY``): nothing is pinned there yet, its edge is free in both
directions. The start is all slots empty, and rank deficiency simply leaves slots empty at the end.
"""

from __future__ import annotations

import numpy as np

from bat._compiling import njit
from bat.solvers._sweep import combine_rows
from bat.solvers._sweep import weighted_sum as dot

EMPTY = -1
# A token whose value changes by less than this share of its length does not move: it copies a pinned token,
# and pinning it too would make the basis singular.
STILL = 1e-11


@njit(nogil=True, cache=True)
def place(beta, u, basis, n, z, side):  # type: ignore[no-untyped-def]
    """Values and sides of all tokens at the point u; a token at zero up to rounding keeps its side."""
    combine_rows(beta, u, 0, n, z)
    for j in range(n):
        z[j] += 1.0
        if z[j] > 1e-9:
            side[j] = 1.0
        elif z[j] < -1e-9:
            side[j] = -1.0
        elif side[j] == 0.0:
            side[j] = 1.0
    for m in range(basis.shape[0]):
        if basis[m] != EMPTY:
            z[basis[m]] = 0.0
            side[basis[m]] = 0.0


@njit(nogil=True, cache=True)
def collect_gradient(beta, mass, side, n, start, gradient):  # type: ignore[no-untyped-def]
    """gradient = start + sum of mass_j beta_j over tokens below zero."""
    weights = np.where(side[:n] < 0.0, mass[:n], 0.0)
    for k in range(beta.shape[0]):
        gradient[k] = start[k] + dot(beta[k, :n], weights)


@njit(nogil=True, cache=True)
def _swap(times, weights, order, a, b):  # type: ignore[no-untyped-def]
    times[a], times[b] = times[b], times[a]
    weights[a], weights[b] = weights[b], weights[a]
    order[a], order[b] = order[b], order[a]


@njit(nogil=True, cache=True, fastmath={"contract"})
def _arrival_times(z, dz, side, length, out):  # type: ignore[no-untyped-def]
    for j in range(z.shape[0]):
        out[j] = -z[j] / dz[j] if side[j] * dz[j] < -STILL * length[j] else np.inf


@njit(nogil=True, cache=True)
def long_step(  # type: ignore[no-untyped-def]
    z, dz, mass, side, length, n, slope, previous_step, arrival, times, weights, order
):
    """Walk along dz until the slope is used up: a weighted quantile of the breakpoints.

    Returns (position, step): ``order[position]`` is the token that stops the walk, ``order[:position]``
    are the tokens passed on the way. The objective is bounded, so if rounding lets the slope outlive every
    breakpoint the last one stops the walk; position -1 means that nothing moves towards zero at all.
    """
    # 1. when would each token reach zero? (vector instructions; infinity if it does not move there)
    _arrival_times(z[:n], dz[:n], side[:n], length[:n], arrival[:n])
    # 2. those that may come before the slope is used up: look within a horizon, widen it if too near
    horizon = 4.0 * previous_step if previous_step > 0.0 else np.inf
    while True:
        count, reached = 0, 0.0
        for j in range(n):
            if arrival[j] < horizon:
                times[count] = max(arrival[j], 0.0)  # below zero: a token at zero up to rounding
                weights[count] = mass[j] * abs(dz[j])
                order[count] = j
                reached += weights[count]
                count += 1
        if reached >= slope or horizon == np.inf:
            break
        horizon = horizon * 8.0 if horizon < 1e6 else np.inf

    # 3. quickselect on time, carrying weights
    low, high, passed = 0, count, 0.0
    while low < high:
        a, b, c = times[low], times[(low + high) // 2], times[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        less, at, greater = low, low, high
        weight_less, weight_equal = 0.0, 0.0
        while at < greater:
            if times[at] < pivot:
                weight_less += weights[at]
                _swap(times, weights, order, at, less)
                less += 1
                at += 1
            elif times[at] > pivot:
                greater -= 1
                _swap(times, weights, order, at, greater)
            else:
                weight_equal += weights[at]
                at += 1
        if passed + weight_less >= slope:
            high = less
        elif passed + weight_less + weight_equal >= slope:
            passed += weight_less
            for position in range(less, greater):
                passed += weights[position]
                if passed >= slope or position == greater - 1:
                    return position, times[position]
        else:
            passed += weight_less + weight_equal
            low = greater
    if count == 0:
        return -1, 0.0
    last = 0
    for position in range(count):
        if times[position] > times[last]:
            last = position
    _swap(times, weights, order, last, count - 1)
    return count - 1, times[count - 1]


@njit(nogil=True, cache=True, fastmath={"contract"})
def _advance(z, step, dz):  # type: ignore[no-untyped-def]
    for j in range(z.shape[0]):
        z[j] += step * dz[j]


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _measure(edge, gradient):  # type: ignore[no-untyped-def]
    """What an edge gains per unit walked, and the square of its length."""
    gain, square = 0.0, 0.0
    for k in range(edge.shape[0]):
        gain += edge[k] * gradient[k]
        square += edge[k] * edge[k]
    return gain, square


@njit(nogil=True, cache=True)
def _measure_edges(inverse, gradient, gains, squares):  # type: ignore[no-untyped-def]
    for m in range(inverse.shape[0]):
        gains[m], squares[m] = _measure(inverse[m], gradient)


@njit(nogil=True, cache=True)
def _price(gains, squares, basis, inverse, mass, tolerance, direction):  # type: ignore[no-untyped-def]
    """The steepest edge out of the vertex: (slot, slope along the unit direction), or (-1, 0)."""
    c = gains.shape[0]
    best, slot, sign = 0.0, -1, 1.0
    for m in range(c):
        gain = gains[m]
        bound = mass[basis[m]] if basis[m] != EMPTY else 0.0
        rate, towards = 0.0, 1.0
        if gain > tolerance:
            rate = gain
        elif gain < -bound - tolerance:
            rate, towards = -gain - bound, -1.0
        if rate > 0.0:
            score = rate / np.sqrt(squares[m])
            if score > best:
                best, slot, sign = score, m, towards
    if slot >= 0:
        length = np.sqrt(squares[slot])
        for k in range(c):
            direction[k] = sign * inverse[slot, k] / length
    return slot, best


@njit(nogil=True, cache=True)
def _subtract(edge, s, pivot_edge):  # type: ignore[no-untyped-def]
    for k in range(edge.shape[0]):
        edge[k] -= s * pivot_edge[k]


@njit(nogil=True, cache=True)
def _project_out(vector, frame, size):  # type: ignore[no-untyped-def]
    """Remove from ``vector`` its part in the span of frame[:size].

    Once leaves rounding behind, which matters only if little else is left: then it is done twice.
    """
    for _ in range(2):
        before = dot(vector, vector)
        for q in range(size):
            _subtract(vector, dot(frame[q], vector), frame[q])
        if dot(vector, vector) > 0.25 * before:
            break


@njit(nogil=True, cache=True)
def replace_in_basis(inverse, slot, row, gradient, gains, squares):  # type: ignore[no-untyped-def]
    """Rank-one update of the edges when ``row`` takes the place of ``slot``.

    The new edges are measured at once, while each is in the cache: with hundreds of constraints they are
    megabytes, and reading them again would cost as much as the update.
    """
    pivot_edge = inverse[slot]
    pivot = dot(pivot_edge, row)
    for k in range(row.shape[0]):
        pivot_edge[k] /= pivot
    for m in range(inverse.shape[0]):
        if m != slot:
            _subtract(inverse[m], dot(inverse[m], row), pivot_edge)
        gains[m], squares[m] = _measure(inverse[m], gradient)


@njit(nogil=True, cache=True)
def bounds_at_vertex(gains, basis, mass, base):  # type: ignore[no-untyped-def]
    """The upper bound that the current vertex proves (1 if it proves none); see ``bat.program``.

    ``base`` is p_i plus the mass of all tokens below zero. Fractions above one would need negative
    probabilities; negative ones only ask for a higher threshold.
    """
    tau, lowest = base, 0.0
    for m in range(basis.shape[0]):
        if basis[m] == EMPTY:
            if abs(gains[m]) > 1e-12 * base:
                return 1.0
            continue
        fraction = -gains[m] / mass[basis[m]]
        if fraction > 1.0 + 1e-12:
            return 1.0
        tau -= gains[m]
        lowest = min(lowest, fraction)
    return min(1.0, (tau - lowest) / (1.0 - lowest))


@njit(nogil=True, cache=True)
def climb(  # type: ignore[no-untyped-def]
    beta,  # [c, capacity] whitened tokens of the working set
    by_token,  # [capacity, c] the same
    mass,  # [capacity]
    z,  # [capacity]
    side,  # [capacity] +1, -1, or 0 when basic
    length,  # [capacity] of each token's beta
    n,  # tokens in use
    start_gradient,  # [c] p_i beta_i
    token_mass,  # p_i
    token_beta,  # [c] beta_i
    u,  # [c] the point, updated in place
    basis,  # [c] int64
    inverse,  # [c, c]
    frame,  # [c, c] orthonormal frame of the tokens pinned while crashing
    crash,  # [1] int64: size of the frame, or -1 once the crash is over
    max_pivots,
    tolerance,
    accept_above,  # stop once the value here passes this (no full pass yet: a promise, not a proof)
    reject_below,  # stop once a vertex proves an upper bound at or below this
):
    """Climb to the best vertex of the working set. Returns (pivots, optimal, upper, value)."""
    c = beta.shape[0]
    capacity = beta.shape[1]
    dz = np.empty(capacity)
    arrival = np.empty(capacity)
    times = np.empty(capacity)
    weights = np.empty(capacity)
    order = np.empty(capacity, np.int64)
    gradient = np.empty(c)
    direction = np.empty(c)
    row = np.empty(c)
    gains, squares = np.empty(c), np.empty(c)  # of the edges: see _measure
    collect_gradient(beta, mass, side, n, start_gradient, gradient)
    _measure_edges(inverse, gradient, gains, squares)
    base, value = token_mass, token_mass * (1.0 + dot(token_beta, u))
    for j in range(n):
        if side[j] < 0.0:
            base += mass[j]
            value += mass[j] * z[j]
    upper = 1.0
    step = 0.0
    pivots = 0
    stalled = 0
    optimal = False
    while pivots < max_pivots:
        # 1. a direction: while crashing the projected gradient, afterwards the steepest edge
        slot = -1
        if crash[0] >= 0:
            direction[:] = gradient
            _project_out(direction, frame, crash[0])
            slope = np.sqrt(dot(direction, direction))
            if crash[0] == c or slope <= 1e-10 * np.sqrt(dot(gradient, gradient)):
                crash[0] = -1
                continue
            direction /= slope
        else:
            if reject_below > 0.0:
                upper = min(upper, bounds_at_vertex(gains, basis, mass, base))
                if upper <= reject_below:
                    break
            # gains below the rounding of their sums are noise, and would be chased for ever
            noise = max(tolerance, 1e-14 * base)
            slot, slope = _price(gains, squares, basis, inverse, mass, noise, direction)
            if slot < 0:
                optimal = True
                break

        # 2. how far
        combine_rows(beta, direction, 0, n, dz)
        position, step = long_step(z, dz, mass, side, length, n, slope, step, arrival, times, weights, order)
        if position < 0:  # only rounding can leave nothing in the way: the objective is bounded
            optimal = crash[0] < 0
            if crash[0] >= 0:
                crash[0] = -1
                continue
            break
        entering = order[position]

        # 3. the tokens passed change sides
        value += slope * step
        for q in range(position):
            j = order[q]
            value -= weights[q] * (step - times[q])
            moved = side[j] * mass[j]  # added when it falls below, taken away when it rises above
            side[j] = -side[j]
            base += moved
            for k in range(c):
                gradient[k] += moved * by_token[j, k]
        _advance(z[:n], step, dz[:n])
        for k in range(c):
            u[k] += step * direction[k]
            row[k] = by_token[entering, k]

        # 4. the entering token is pinned, the leaving one goes to the side it moved to
        if side[entering] < 0.0:
            base -= mass[entering]
            for k in range(c):
                gradient[k] -= mass[entering] * row[k]
        if slot >= 0 and basis[slot] != EMPTY:
            leaving = basis[slot]
            side[leaving] = -1.0 if dz[leaving] < 0.0 else 1.0
            if side[leaving] < 0.0:
                base += mass[leaving]
                for k in range(c):
                    gradient[k] += mass[leaving] * by_token[leaving, k]
        if slot < 0:
            largest = 0.0
            for m in range(c):
                if basis[m] == EMPTY:
                    size = abs(dot(inverse[m], row))
                    if size > largest:
                        largest, slot = size, m
            direction[:] = row
            _project_out(direction, frame, crash[0])
            norm = np.sqrt(dot(direction, direction))
            for k in range(c):
                frame[crash[0], k] = direction[k] / norm
            crash[0] += 1
        replace_in_basis(inverse, slot, row, gradient, gains, squares)
        basis[slot] = entering
        side[entering] = 0.0
        z[entering] = 0.0
        pivots += 1

        # 5. ties: many tokens at zero can make the walk stand still; move each a different hair's breadth
        stalled = stalled + 1 if step <= 1e-13 else 0
        if stalled > c + 10:
            stalled = 0
            for j in range(n):
                if abs(z[j]) < 1e-9:
                    z[j] += side[j] * 1e-10 * (1.0 + ((j * 2654435761) % 1024) / 1024.0)
        if value > accept_above:
            break
    if crash[0] < 0:
        upper = min(upper, bounds_at_vertex(gains, basis, mass, base))
    return pivots, optimal, upper, value
