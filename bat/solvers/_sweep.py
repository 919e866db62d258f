"""Full passes over the vocabulary, compiled.

Blocks of tokens keep every intermediate in the first-level cache; loops run over slices so that the
compiler can prove the bounds and use vector instructions, which is worth a factor of four here.
"""

from __future__ import annotations

import numpy as np

from bat._compiling import njit

BLOCK = 1024
CROWD = 12  # one token in so many across zero makes a block crowded
CLOSE = 0.02  # of zero, where the average token stands at one: nearer ones matter no more


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


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _turn(z, side, outside, weights):  # type: ignore[no-untyped-def]
    """Let the outside tokens of one block take the side they are on; ``weights`` receives what each moves
    into the group below (its mass), or out of it (minus its mass). Returns how many more are below."""
    fallen = 0.0
    for j in range(z.shape[0]):
        sign = side[j] if (z[j] * side[j] < 0.0) & (outside[j] > 0.0) else 0.0
        fallen += sign
        weights[j] = sign * outside[j]
        side[j] -= 2.0 * sign
    return fallen


@njit(nogil=True, cache=True)
def sweep(  # type: ignore[no-untyped-def]
    rows, direction, probs, side, outside, slack, cutoff, list_all, found, found_z, near, near_z, moved
):
    """One pass with z_j = direction . rows[:, j].

    ``side`` is +1 or -1, where the solver holds token j to be, and 0 where it does not ask. ``outside`` is
    p_j for tokens outside the working set, else 0. Returns P and N of ``bat.program`` over all tokens (N
    with every value lowered by ``slack``) and four counts:

    ``found`` receives the tokens on the other side of zero. Where a block has too many of them to be worth
    a list, its outside tokens change sides at once, and only those that matter (below) are listed, unless
    ``list_all``.
    ``near`` receives outside tokens that have not crossed but may soon: p_j > cutoff (|z_j| + CLOSE).
    The third count is how many tokens changed sides unlisted, the fourth how many more are below for it.
    ``moved`` receives the sum of p_j a_j over outside tokens that are now below, less that over those now
    above, listed or not.
    """
    r, v = rows.shape
    z = np.empty(BLOCK)
    weights = np.empty(BLOCK)
    moved[:] = 0.0
    positive, negative, count, close, turned, fallen = 0.0, 0.0, 0, 0, 0.0, 0.0
    for start in range(0, v, BLOCK):
        stop = min(v, start + BLOCK)
        size = stop - start
        combine_rows(rows, direction, start, stop, z)
        sides, masses = side[start:stop], outside[start:stop]
        plus, minus, wrong = _tally(z[:size], probs[start:stop], sides, slack)
        positive += plus
        negative += minus
        crowded = wrong * CROWD > size and not list_all
        if wrong > 0.0 and not crowded:
            for j in range(size):
                if z[j] * sides[j] < 0.0:
                    found[count] = start + j
                    found_z[count] = z[j]
                    count += 1
                    weight = sides[j] * masses[j]
                    for k in range(r):
                        moved[k] += weight * rows[k, start + j]
        elif crowded:
            turned += wrong
            fallen += _turn(z[:size], sides, masses, weights)
            _add_weighted_columns(rows, weights, start, stop, moved)
        if cutoff == np.inf:
            continue
        for j in range(size):
            if masses[j] > cutoff * (abs(z[j]) + CLOSE):
                if crowded and weights[j] != 0.0:
                    found[count], found_z[count] = start + j, z[j]
                    count += 1
                elif z[j] * sides[j] >= 0.0:
                    near[close], near_z[close] = start + j, z[j]
                    close += 1
    return positive, negative, count, close, turned, fallen


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _add_parts(z, probs, slack):  # type: ignore[no-untyped-def]
    positive, negative = 0.0, 0.0
    for j in range(z.shape[0]):
        positive += probs[j] * max(z[j], 0.0)
        negative += probs[j] * max(slack - z[j], 0.0)
    return positive, negative


@njit(nogil=True, cache=True)
def add_up(rows, direction, probs, slack):  # type: ignore[no-untyped-def]
    """P and N as in ``sweep``, and nothing else."""
    v = rows.shape[1]
    z = np.empty(BLOCK)
    positive, negative = 0.0, 0.0
    for start in range(0, v, BLOCK):
        stop = min(v, start + BLOCK)
        combine_rows(rows, direction, start, stop, z)
        plus, minus = _add_parts(z[: stop - start], probs[start:stop], slack)
        positive += plus
        negative += minus
    return positive, negative


@njit(nogil=True, cache=True)
def change_sides(found, found_z, probs, outside, side, weights):  # type: ignore[no-untyped-def]
    """Let outside tokens take the side they were found on; working-set tokens among ``found`` are dropped.

    The others are compacted in place. Weights say how much each matters: a heavy token near zero, most;
    one far from zero will stay where it is. Returns how many are left, and how many more are below.
    """
    crossed, fallen = 0, 0
    for q in range(found.shape[0]):
        token, z = found[q], found_z[q]
        if outside[token] == 0.0:
            continue
        found[crossed], found_z[crossed] = token, z
        weights[crossed] = probs[token] / (abs(z) + CLOSE)
        crossed += 1
        if z * side[token] < 0.0:
            fallen += 1 if z < 0.0 else -1
            side[token] = -side[token]
    return crossed, fallen


@njit(nogil=True, cache=True)
def gather(rows, tokens, out):  # type: ignore[no-untyped-def]
    """out[:, q] = rows[:, tokens[q]]"""
    for k in range(rows.shape[0]):
        row, target = rows[k], out[k]
        for q in range(tokens.shape[0]):
            target[q] = row[tokens[q]]


@njit(nogil=True, cache=True)
def heaviest(probs, wanted):  # type: ignore[no-untyped-def]
    """The indices of the ``wanted`` largest nonzero numbers, ascending, up to a 12% blur at the cut-off.

    Counts nonnegative floats by exponent and three bits of mantissa instead of sorting. The bin that does
    not fit whole gives its first indices, so the choice depends on the input alone.
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


@njit(nogil=True, cache=True)
def choose(found, found_z, weights, near, near_z, probs, most_crossed, most):  # type: ignore[no-untyped-def]
    """The tokens that join the working set, ``most`` in all, and their values: of those that crossed zero the
    ``most_crossed`` that matter most, then of those near zero the likeliest to cross next."""
    crossed = min(found.shape[0], most_crossed)
    close = min(near.shape[0], most - crossed) if crossed > 0 else 0
    joining = np.empty(crossed + close, np.int64)
    joining_z = np.empty(crossed + close)
    if found.shape[0] > most_crossed:
        chosen = heaviest(weights[: found.shape[0]], most_crossed)
        crossed = chosen.shape[0]
        for q in range(crossed):
            joining[q], joining_z[q] = found[chosen[q]], found_z[chosen[q]]
    else:
        joining[:crossed], joining_z[:crossed] = found, found_z
    n = crossed
    if close > 0:
        for q in range(near.shape[0]):
            weights[q] = probs[near[q]] / (abs(near_z[q]) + CLOSE)
        chosen = heaviest(weights[: near.shape[0]], close)
        for q in range(chosen.shape[0]):
            joining[n], joining_z[n] = near[chosen[q]], near_z[chosen[q]]
            n += 1
    return joining[:n], joining_z[:n]
