"""The largest probabilities of a row without sorting all of it, compiled.

Probabilities are counted by exponent and two bits of mantissa; only the bins that can matter are sorted, a
few hundred tokens of a vocabulary as a rule. The answers are those of a full sort, bit for bit.
"""

from __future__ import annotations

import numpy as np

from bat._compiling import njit

_SHIFT = 50  # what is left of a nonnegative float64: 11 bits of exponent and two of mantissa
_BINS = 1 << 13
# Bins are added in another order than tokens: read this share beyond the target before trusting a bin's sum.
_MARGIN = 1.0 + 1e-9


@njit(nogil=True, cache=True)
def _from_bin(probs, bits, cut):  # type: ignore[no-untyped-def]
    """The probabilities in bins from ``cut`` on, ascending."""
    count = 0
    for j in range(bits.shape[0]):
        count += bits[j] >> _SHIFT >= cut
    ascending = np.empty(count)
    n = 0
    for j in range(bits.shape[0]):
        if bits[j] >> _SHIFT >= cut:
            ascending[n] = probs[j]
            n += 1
    ascending.sort()
    return ascending


@njit(nogil=True, cache=True)
def probability_reaching(probs, target):  # type: ignore[no-untyped-def]
    """The probability of the first token, most likely first, where the running sum reaches ``target``.

    -1 when no sum does, or rounding makes that doubtful.
    """
    bits = probs.view(np.int64)
    masses = np.zeros(_BINS)
    for j in range(bits.shape[0]):
        masses[bits[j] >> _SHIFT] += probs[j]
    cut, total = _BINS, 0.0
    while cut > 0 and total < target * _MARGIN:
        cut -= 1
        total += masses[cut]
    ascending = _from_bin(probs, bits, cut)
    running = 0.0
    for q in range(ascending.shape[0] - 1, -1, -1):
        running += ascending[q]
        if running >= target:
            return ascending[q]
    return -1.0


@njit(nogil=True, cache=True)
def largest(probs, rank):  # type: ignore[no-untyped-def]
    """The ``rank``-th largest probability, from 1 on."""
    bits = probs.view(np.int64)
    counts = np.zeros(_BINS, np.int64)
    for j in range(bits.shape[0]):
        counts[bits[j] >> _SHIFT] += 1
    cut, total = _BINS, 0
    while total < rank:
        cut -= 1
        total += counts[cut]
    ascending = _from_bin(probs, bits, cut)
    return ascending[ascending.shape[0] - rank]
