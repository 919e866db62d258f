"""Softmax and entropy of rows of logits, each in one pass, compiled.

A sampler does this for every token it makes. Exponentials are most of the work, and the library's are
called one by one from compiled code, so they are written out here: argument reduction by powers of two and
a polynomial, which the compiler turns into vector instructions.
"""

from __future__ import annotations

import numpy as np

from bat._compiling import njit
from bat._machine import take_number

BLOCK = 1024
LANES = 256
# Below this exponential is not a normal float64, and is taken as zero.
LOWEST = -708.0
LOG2_E = 1.4426950408889634
# ln 2 in two parts, the first with enough trailing zeros that its product with any exponent is exact.
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Adding it rounds to an integer, and leaves that integer in the lowest bits.
ROUNDER = 6755399441055744.0


@njit(nogil=True, cache=True, fastmath={"contract"})  # reassociating would undo the rounding to integers
def exponentials(logits, peak, shifted, rounded, bits, out):  # type: ignore[no-untyped-def]
    """out = exp(logits - peak) for up to BLOCK logits, none above the peak; ``shifted`` keeps the difference.

    ``bits`` is ``rounded`` seen as integers. The error is below 3e-16 of the value.
    """
    for j in range(logits.shape[0]):
        x = max(np.float64(logits[j]) - peak, LOWEST)
        shifted[j] = x
        rounded[j] = x * LOG2_E + ROUNDER
        n = rounded[j] - ROUNDER
        r = (x - n * LN2_HIGH) - n * LN2_LOW  # in [-0.35, 0.35]: thirteen terms leave 4e-18
        q = 1.0 / 6227020800.0
        q = q * r + 1.0 / 479001600.0
        q = q * r + 1.0 / 39916800.0
        q = q * r + 1.0 / 3628800.0
        q = q * r + 1.0 / 362880.0
        q = q * r + 1.0 / 40320.0
        q = q * r + 1.0 / 5040.0
        q = q * r + 1.0 / 720.0
        q = q * r + 1.0 / 120.0
        q = q * r + 1.0 / 24.0
        q = q * r + 1.0 / 6.0
        q = q * r + 0.5
        q = q * r + 1.0
        q = q * r + 1.0
        out[j] = q if x > LOWEST else 0.0
    for j in range(logits.shape[0]):
        bits[j] = (bits[j] << 52) + (1023 << 52)  # the float64 that is two to the integer
    for j in range(logits.shape[0]):
        out[j] *= rounded[j]


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _sums(weights, shifted):  # type: ignore[no-untyped-def]
    total, moment = 0.0, 0.0
    for j in range(weights.shape[0]):
        total += weights[j]
        moment += weights[j] * shifted[j]
    return total, moment


@njit(nogil=True, cache=True)
def _scale(weights, factor):  # type: ignore[no-untyped-def]
    for j in range(weights.shape[0]):
        weights[j] *= factor


@njit(nogil=True, cache=True)
def _has_nan(logits):  # type: ignore[no-untyped-def]
    count = 0
    for j in range(logits.shape[0]):
        count += 1 if logits[j] != logits[j] else 0
    return count > 0


@njit(nogil=True, cache=True)
def _largest(logits):  # type: ignore[no-untyped-def]
    """The largest of numbers, of LANES at once: a single running maximum would not be vector instructions."""
    lanes = np.full(LANES, -np.inf, logits.dtype)
    whole = logits.shape[0] // LANES * LANES
    for start in range(0, whole, LANES):
        block = logits[start : start + LANES]
        for k in range(LANES):
            lanes[k] = block[k] if block[k] > lanes[k] else lanes[k]
    largest = lanes[0]
    for k in range(LANES):
        largest = max(largest, lanes[k])
    for j in range(whole, logits.shape[0]):
        largest = max(largest, logits[j])
    return largest


@njit(nogil=True, cache=True)
def peak_of_row(logits):  # type: ignore[no-untyped-def]
    """The largest logit, or NaN if one is."""
    return np.nan if _has_nan(logits) else np.float64(_largest(logits))


@njit(nogil=True, cache=True)
def softmax_row(logits, peak, probs):  # type: ignore[no-untyped-def]
    """Fill ``probs`` [v] with the softmax of ``logits`` [v], whose largest is ``peak``.

    Returns the entropy and the largest probability, that of the largest logit: exp(0) is exactly one.
    Sums run over blocks: their rounding error does not grow with the vocabulary, and the result depends on
    the row alone.
    """
    shifted, rounded = np.empty(BLOCK), np.empty(BLOCK)
    bits = rounded.view(np.int64)
    total, moment = 0.0, 0.0
    for start in range(0, logits.shape[0], BLOCK):
        block = probs[start : start + BLOCK]
        exponentials(logits[start : start + BLOCK], peak, shifted, rounded, bits, block)
        mass, surprise = _sums(block, shifted[: block.shape[0]])
        total += mass
        moment += surprise
    _scale(probs, 1.0 / total)
    return max(np.log(total) - moment / total, 0.0), 1.0 / total


@njit(nogil=True, cache=True)
def softmax_rows(logits, peaks, probs, entropy, maximum, counter):  # type: ignore[no-untyped-def]
    """Fill rows of ``probs`` [B, v], ``entropy`` and ``maximum`` [B] until no row is left to take."""
    while True:
        row = take_number(counter)
        if row >= logits.shape[0]:
            return
        entropy[row], maximum[row] = softmax_row(logits[row], peaks[row], probs[row])
