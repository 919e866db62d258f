"""Full passes over the vocabulary, compiled.

Blocks of tokens keep every intermediate in the first-level cache; loops run over slices so that the
compiler can prove the bounds and use vector instructions, which is worth a factor of four here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 512


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _weighted_sum(values, weights):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j] * weights[j]
    return total


@njit(nogil=True, cache=True)
def mean_column(rows, probs):  # type: ignore[no-untyped-def]
    """b = sum_j probs_j rows[:, j]"""
    r, v = rows.shape
    out = np.zeros(r)
    for start in range(0, v, BLOCK):
        stop = min(v, start + BLOCK)
        for k in range(r):
            out[k] += _weighted_sum(rows[k, start:stop], probs[start:stop])
    return out


@njit(nogil=True, cache=True, fastmath={"contract"})
def combine_rows(rows, weights, start, stop, out):  # type: ignore[no-untyped-def]
    """out[: stop - start] = weights . rows[:, start:stop], four rows to each reading of ``out``."""
    r = rows.shape[0]
    size = stop - start
    for j in range(size):
        out[j] = 0.0
    for k in range(0, r - 3, 4):
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        r0, r1 = rows[k, start:stop], rows[k + 1, start:stop]
        r2, r3 = rows[k + 2, start:stop], rows[k + 3, start:stop]
        for j in range(size):
            out[j] += w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
    for k in range(r - r % 4, r):
        w0 = weights[k]
        r0 = rows[k, start:stop]
        for j in range(size):
            out[j] += w0 * r0[j]


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _tally(z, probs, side, outside, slack, below_weights):  # type: ignore[no-untyped-def]
    """Sums over one block; ``below_weights`` is filled with the outside tokens below zero."""
    positive, negative, below, wrong = 0.0, 0.0, 0.0, 0.0  # counts as floats keep the loop in one type
    for j in range(z.shape[0]):
        value = z[j]
        positive += probs[j] * max(value, 0.0)
        negative += probs[j] * max(slack - value, 0.0)
        weight = outside[j] if value < 0.0 else 0.0
        below_weights[j] = weight
        below += 1.0 if weight > 0.0 else 0.0
        wrong += 1.0 if value * side[j] < 0.0 else 0.0
    return positive, negative, below, wrong


@njit(nogil=True, cache=True)
def sweep(rows, direction, probs, side, outside, slack, below_sum, found, found_z):  # type: ignore[no-untyped-def]
    """One pass with z_j = direction . rows[:, j].

    side: +1 or -1, where the solver holds token j to be; 0 where it does not ask.
    outside: probs_j for tokens outside the working set, 0 inside.
    Returns P and N of ``bat.program`` over all tokens (N with every value lowered by ``slack``) and how many
    tokens were found on the other side of zero; fills ``below_sum`` with sum p_j a_j over outside tokens
    below.
    """
    r, v = rows.shape
    z = np.empty(BLOCK)
    weights = np.empty(BLOCK)
    below_sum[:] = 0.0
    positive, negative, count = 0.0, 0.0, 0
    for start in range(0, v, BLOCK):
        stop = min(v, start + BLOCK)
        size = stop - start
        combine_rows(rows, direction, start, stop, z)
        plus, minus, below, wrong = _tally(
            z[:size], probs[start:stop], side[start:stop], outside[start:stop], slack, weights[:size]
        )
        positive += plus
        negative += minus
        if wrong > 0.0:
            for j in range(size):
                if z[j] * side[start + j] < 0.0:
                    found[count] = start + j
                    found_z[count] = z[j]
                    count += 1
        if below * 8.0 > size:
            for k in range(r):
                below_sum[k] += _weighted_sum(rows[k, start:stop], weights[:size])
        elif below > 0.0:
            for j in range(size):
                if weights[j] > 0.0:
                    for k in range(r):
                        below_sum[k] += weights[j] * rows[k, start + j]
    return positive, negative, count


@njit(nogil=True, cache=True)
def gather(rows, tokens, out):  # type: ignore[no-untyped-def]
    """out[:, q] = rows[:, tokens[q]]"""
    for k in range(rows.shape[0]):
        row, target = rows[k], out[k]
        for q in range(tokens.shape[0]):
            target[q] = row[tokens[q]]


@njit(nogil=True, cache=True)
def heaviest(probs, wanted):  # type: ignore[no-untyped-def]
    """``wanted`` tokens of largest nonzero probability, up to a 12% blur at the cut-off.

    Counts floats by exponent and three bits of mantissa instead of sorting. The bin that does not fit
    whole gives its lowest tokens, so the choice depends on the input alone.
    """
    bits = probs.view(np.int64)
    counts = np.zeros(1 << 14, np.int64)
    for j in range(probs.shape[0]):
        counts[bits[j] >> 49] += 1
    cut = counts.shape[0]
    total = 0
    while cut > 0 and total + counts[cut - 1] <= wanted:
        cut -= 1
        total += counts[cut]
    chosen = np.empty(wanted, np.int64)
    n = 0
    room = wanted - total
    for j in range(probs.shape[0]):
        bin_ = bits[j] >> 49
        if bin_ < cut - 1 or probs[j] == 0.0:
            continue
        if bin_ == cut - 1:
            if room == 0:
                continue
            room -= 1
        chosen[n] = j
        n += 1
    return chosen[:n]
