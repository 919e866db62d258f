"""A refusal before the climb, compiled: spread the token over the heavy ones by least squares.

``bat.spreading`` does this for a whole vocabulary; here one token is spread in the coordinates of the climb,
in which the heavy tokens' second moments C = sum_j p_j beta_j beta_j^T are about the identity, so a few
corrections take the place of a factorisation.
"""

from __future__ import annotations

import numpy as np

from bat._compiling import njit
from bat.solvers._sweep import combine_rows
from bat.solvers._sweep import weighted_sum as dot

CORRECTIONS = 3
# Below this the moments are too far from the identity for corrections to close in.
LEAST_EIGENVALUE = 0.2
# A bound must be this much below the threshold: far more than rounding adds to it, since such an eigenvalue
# keeps the whitening from magnifying any direction beyond what its floor allows.
MARGIN = 1e-6


@njit(nogil=True, cache=True)
def bound_by_spreading(space, total, threshold):  # type: ignore[no-untyped-def]
    """An upper bound on the critical threshold of a climb that has just begun, or 1.

    ``total`` is the mass of the heavy tokens and the token. Wanted are factors f_j = k_0 + k . beta_j with
    sum_j p_j f_j = 1 and sum_j p_j f_j beta_j = beta_i: raising each p_j by the factor 1 + p_i f_j then makes
    up for the token.
    """
    state, own = space.state[0], space.own_beta
    n, c, p = state.n, own.shape[0], state.mass
    rest, square = total - p, dot(own, own)
    # No eigenvalue of C is above 1 (but for a token that is not heavy, and then by p_i^2 square at most), so
    # each is at least 1 less what the trace lacks. The token itself, if it is heavy, is most of the lack.
    lack = c - _trace(space.mass[2:n], space.length[2:n])
    # The token is missing from the mean too, which couples k_0 and k.
    least = min(rest, 1.0 - lack - 4.0 * p * p * square) - p * np.sqrt(square)
    if least < LEAST_EIGENVALUE:
        return 1.0
    # In units of p_i: a factor above ``most`` proves too little. A token with all mass makes the threshold 1.
    most = threshold / max(1.0 - threshold, 1e-16) / p
    k, residual = own / (1.0 - lack), np.empty(c)
    k_0 = (1.0 + p * dot(k, own)) / rest
    f, weighted = np.empty(n), np.empty(n)
    for _ in range(CORRECTIONS):
        combine_rows(space.beta, k, 0, n, f)
        residual_0, highest, lowest = 1.0, -np.inf, np.inf
        for j in range(2, n):
            f[j] += k_0
            weighted[j] = space.mass[j] * f[j]
            residual_0 -= weighted[j]
            highest, lowest = max(highest, f[j]), min(lowest, f[j])
        if highest > 2.0 * most:
            return 1.0  # corrections are smaller than that
        left = residual_0 * residual_0
        for m in range(c):
            residual[m] = own[m] - dot(space.beta[m, 2:n], weighted[2:n])
            left += residual[m] * residual[m]
        # What solving exactly would still change, in any factor.
        error = np.sqrt(left) / least * np.sqrt(1.0 + _largest(space.length[2:n]) ** 2)
        gain = p * (highest + error)
        bound = max(p, gain / (1.0 + gain))
        if bound <= threshold * (1.0 - MARGIN) and p * (lowest - error) >= MARGIN - 1.0:
            return bound
        if highest - error > most:
            return 1.0
        k_0 += residual_0 / rest
        for m in range(c):
            k[m] += residual[m]
    return 1.0


@njit(nogil=True, cache=True)
def _trace(mass, length):  # type: ignore[no-untyped-def]
    trace = 0.0
    for j in range(mass.shape[0]):
        trace += mass[j] * length[j] * length[j]
    return trace


@njit(nogil=True, cache=True)
def _largest(values):  # type: ignore[no-untyped-def]
    largest = 0.0
    for value in values:
        largest = max(largest, value)
    return largest
