"""Full passes over the vocabulary, compiled.

Blocks of tokens keep every intermediate in the first-level cache; loops run over slices so that the
compiler can prove the bounds and use vector instructions, which is worth a factor of four here.
"""

from __future__ import annotations

import numpy as np
from numba import njit

BLOCK = 1024


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def weighted_sum(values, weights):  # type: ignore[no-untyped-def]
    """sum_j values_j weights_j"""
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j] * weights[j]
    return total


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _four_weighted_sums(first, second, third, fourth, weights):  # type: ignore[no-untyped-def]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(weights.shape[0]):
        w = weights[j]
        s0 += first[j] * w
        s1 += second[j] * w
        s2 += third[j] * w
        s3 += fourth[j] * w
    return s0, s1, s2, s3


@njit(nogil=True, cache=True)
def _add_weighted_columns(rows, weights, start, stop, out):  # type: ignore[no-untyped-def]
    """out += sum_j weights_j rows[:, start + j] over one block."""
    r = rows.shape[0]
    w = weights[: stop - start]
    for k in range(0, r - 3, 4):
        s0, s1, s2, s3 = _four_weighted_sums(
            rows[k, start:stop], rows[k + 1, start:stop], rows[k + 2, start:stop], rows[k + 3, start:stop], w
        )
        out[k] += s0
        out[k + 1] += s1
        out[k + 2] += s2
        out[k + 3] += s3
    for k in range(r - r % 4, r):
        out[k] += weighted_sum(rows[k, start:stop], w)


@njit(nogil=True, cache=True)
def weighted_column(rows, weights):  # type: ignore[no-untyped-def]
    """sum_j weights_j rows[:, j]. Not a BLAS product, whose order of summation depends on its threads."""
    r, v = rows.shape
    out = np.zeros(r)
    for start in range(0, v, BLOCK):
        stop = min(v, start + BLOCK)
        _add_weighted_columns(rows, weights[start:stop], start, stop, out)
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
def _tally(z, probs, side, slack):  # type: ignore[no-untyped-def]
    """Sums over one block; the count is a float to keep the loop in one type."""
    positive, negative, wrong = 0.0, 0.0, 0.0
    for j in range(z.shape[0]):
        value = z[j]
        positive += probs[j] * max(value, 0.0)
        negative += probs[j] * max(slack - value, 0.0)
        wrong += 1.0 if value * side[j] < 0.0 else 0.0
    return positive, negative, wrong


@njit(nogil=True, cache=True)
def sweep(rows, direction, probs, side, outside, slack, band, found, found_z, moved):  # type: ignore[no-untyped-def]
    """One pass with z_j = direction . rows[:, j].

    ``side`` is +1 or -1, where the solver holds token j to be, and 0 where it does not ask. Returns P and N
    of ``bat.program`` over all tokens (N with every value lowered by ``slack``) and how many tokens were
    found on the other side of zero, or within ``band`` of it in a block where some crossed; ``found`` and
    ``found_z`` receive these and their values. ``outside`` is p_j for tokens outside the working set, else
    0; ``moved`` receives the sum of p_j a_j over those that are now below, less that over those now above.
    """
    r, v = rows.shape
    z = np.empty(BLOCK)
    weights = np.empty(BLOCK)
    moved[:] = 0.0
    positive, negative, count = 0.0, 0.0, 0
    for start in range(0, v, BLOCK):
        stop = min(v, start + BLOCK)
        size = stop - start
        combine_rows(rows, direction, start, stop, z)
        plus, minus, wrong = _tally(z[:size], probs[start:stop], side[start:stop], slack)
        positive += plus
        negative += minus
        if wrong == 0.0:
            continue
        first, crossed = count, 0
        for j in range(size):
            here = side[start + j]
            if z[j] * here < band * abs(here):
                found[count] = start + j
                found_z[count] = z[j]
                count += 1
                crossed += z[j] * here < 0.0
        # While the block is in the cache; few tokens one by one, many all at once.
        if crossed * 8 < size:
            for q in range(first, count):
                token = found[q]
                if found_z[q] * side[token] < 0.0:
                    weight = side[token] * outside[token]
                    for k in range(r):
                        moved[k] += weight * rows[k, token]
        else:
            for j in range(size):
                changed = z[j] * side[start + j] < 0.0
                weights[j] = side[start + j] * outside[start + j] if changed else 0.0
            _add_weighted_columns(rows, weights, start, stop, moved)
    return positive, negative, count


@njit(nogil=True, cache=True)
def change_sides(found, found_z, probs, outside, side, weights, near, near_z, near_weights):  # type: ignore[no-untyped-def]
    """Let outside tokens take the side they were found on; working-set tokens among ``found`` are dropped.

    Those that crossed zero are compacted in place, those merely near it go to ``near``. Weights say how
    much each matters: a heavy token near zero, most; one far from zero will stay where it is. Returns how
    many crossed, how many of these are now below, and how many are near.
    """
    crossed, below, close = 0, 0, 0
    for q in range(found.shape[0]):
        token, z = found[q], found_z[q]
        if outside[token] == 0.0:
            continue
        weight = probs[token] / (abs(z) + 0.02)
        if z * side[token] < 0.0:
            found[crossed], found_z[crossed], weights[crossed] = token, z, weight
            side[token] = -side[token]
            below += z < 0.0
            crossed += 1
        else:
            near[close], near_z[close], near_weights[close] = token, z, weight
            close += 1
    return crossed, below, close


@njit(nogil=True, cache=True)
def gather(rows, tokens, out):  # type: ignore[no-untyped-def]
    """out[:, q] = rows[:, tokens[q]]"""
    for k in range(rows.shape[0]):
        row, target = rows[k], out[k]
        for q in range(tokens.shape[0]):
            target[q] = row[tokens[q]]


@njit(nogil=True, cache=True)
def heaviest(probs, wanted):  # type: ignore[no-untyped-def]
    """The places of the ``wanted`` largest nonzero numbers, ascending, up to a 12% blur at the cut-off.

    Counts nonnegative floats by exponent and three bits of mantissa instead of sorting. The bin that does
    not fit whole gives its first places, so the choice depends on the input alone.
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
