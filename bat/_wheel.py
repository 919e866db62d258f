"""Successive draws from one distribution without replacement, by inverting its running sums, compiled.

The sums are kept over blocks of tokens: a draw adds up a hundred of them and one block's probabilities,
and removing a token changes one block.
"""

from __future__ import annotations

import numpy as np

from bat._compiling import njit
from bat._machine import take_number
from bat._softmax import flatten_row, peak_of_row, softmax_row
from bat.arrays import FloatArray

BLOCK = 512


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _sum(values):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(values.shape[0]):
        total += values[j]
    return total


@njit(nogil=True, cache=True)
def block_sums(probs):  # type: ignore[no-untyped-def]
    """The mass of each block of tokens."""
    v = probs.shape[0]
    sums = np.empty((v + BLOCK - 1) // BLOCK)
    for b in range(sums.shape[0]):
        sums[b] = _sum(probs[b * BLOCK : (b + 1) * BLOCK])
    return sums


@njit(nogil=True, cache=True)
def _is_removed(token, removed, count):  # type: ignore[no-untyped-def]
    found = False
    for q in range(count):
        found |= removed[q] == token
    return found


@njit(nogil=True, cache=True)
def draw(probs, sums, removed, count, uniform):  # type: ignore[no-untyped-def]
    """The token at ``uniform`` of what is left, or -1 if nothing is; ``removed[:count]`` are gone.

    Rounding can leave the target past the end of its block, or of the last one: then the last possible
    token before it is taken.
    """
    target = uniform * _sum(sums)
    last = -1
    for b in range(sums.shape[0]):
        if sums[b] <= 0.0:
            continue
        if target >= sums[b] and b < sums.shape[0] - 1:
            target -= sums[b]
            continue
        for token in range(b * BLOCK, min((b + 1) * BLOCK, probs.shape[0])):
            if probs[token] > 0.0 and not _is_removed(token, removed, count):
                last = token
                if target < probs[token]:
                    return token
                target -= probs[token]
        if last >= 0:
            return last
    for token in range(probs.shape[0] - 1, -1, -1):
        if probs[token] > 0.0 and not _is_removed(token, removed, count):
            return token
    return -1


@njit(nogil=True, cache=True)
def remove(probs, sums, removed, count, token):  # type: ignore[no-untyped-def]
    """Take a token out: it becomes ``removed[count]``."""
    removed[count] = token
    b = token // BLOCK
    total = 0.0
    for other in range(b * BLOCK, min((b + 1) * BLOCK, probs.shape[0])):
        if not _is_removed(other, removed, count + 1):
            total += probs[other]
    sums[b] = total


@njit(nogil=True, cache=True)
def draw_kept(probs, weights, threshold, keep, numbers, removed):  # type: ignore[no-untyped-def]
    """Draw until a kept token appears: (token, how many came before it, which stand in ``removed``).

    Kept are the tokens at or above the threshold, or where ``keep`` is true if it is not empty. ``weights``
    are what tokens are drawn by: ``probs``, or those flattened by a temperature. All numbers but the last
    serve a draw each; the last draws among the kept tokens, which always ends it.
    """
    sums = block_sums(weights)
    tries = numbers.shape[0] - 1
    count = 0
    for attempt in range(tries):
        token = draw(weights, sums, removed, count, numbers[attempt])
        if token < 0:
            break
        if keep[token] if keep.shape[0] > 0 else probs[token] >= threshold:
            return token, count
        remove(weights, sums, removed, count, token)
        count += 1
    kept = np.where(keep, weights, 0.0) if keep.shape[0] > 0 else np.where(probs >= threshold, weights, 0.0)
    return draw(kept, block_sums(kept), removed, 0, numbers[tries]), count


@njit(nogil=True, cache=True)
def draw_kept_rows(probs, weights, thresholds, keep, numbers, which, counter, tokens, counts, removed):  # type: ignore[no-untyped-def]
    """``draw_kept`` for the rows ``which``, until none is left to take; ``keep`` [B, v] or [B, 0]."""
    while True:
        place = take_number(counter)
        if place >= which.shape[0]:
            return
        row = which[place]
        tokens[row], counts[row] = draw_kept(
            probs[row], weights[row], thresholds[row], keep[row], numbers[row], removed[row]
        )


@njit(nogil=True, cache=True)
def propose_rows(logits, peaks, numbers, probs, entropy, maximum, tokens, counter):  # type: ignore[no-untyped-def]
    """The softmax of rows and a first draw from each, until no row is left to take.

    In one go, because a row is in the cache only while it is being made. ``peaks`` receives the largest logit
    of each row; a row where that is no finite number is left alone.
    """
    nothing = np.empty(0, np.int64)
    while True:
        row = take_number(counter)
        if row >= logits.shape[0]:
            return
        peaks[row] = peak_of_row(logits[row])
        if not np.isfinite(peaks[row]):
            continue
        entropy[row], maximum[row] = softmax_row(logits[row], peaks[row], probs[row])
        tokens[row] = draw(probs[row], block_sums(probs[row]), nothing, 0, numbers[row, 0])


@njit(nogil=True, cache=True)
def propose_flattened_rows(  # type: ignore[no-untyped-def]
    logits, peaks, numbers, probs, entropy, maximum, tokens, weights, temperature, first, counter
):
    """``propose_rows`` at a temperature: ``probs`` are the model's, ``weights`` are flattened and drawn from.

    ``entropy`` and ``maximum`` belong to the flattened distribution if the temperature comes ``first``. If it
    comes last, a token that is impossible under the model stays so. A function of its own, so that only those
    who have a temperature wait until it is compiled.
    """
    nothing = np.empty(0, np.int64)
    while True:
        row = take_number(counter)
        if row >= logits.shape[0]:
            return
        peaks[row] = peak_of_row(logits[row])
        if not np.isfinite(peaks[row]):
            continue
        entropy[row], maximum[row] = softmax_row(logits[row], peaks[row], probs[row])
        flattened = flatten_row(logits[row], peaks[row], temperature, weights[row])
        if first:
            entropy[row], maximum[row] = flattened
        else:
            for j in range(logits.shape[1]):
                if probs[row, j] == 0.0:
                    weights[row, j] = 0.0
        tokens[row] = draw(weights[row], block_sums(weights[row]), nothing, 0, numbers[row, 0])


class Wheel:
    """The same for callers that decide about each token themselves."""

    def __init__(self, probs: FloatArray, draws: int) -> None:
        self.probs = probs
        self.sums = block_sums(probs)
        self.removed = np.empty(draws, np.int64)
        self.count = 0

    def draw(self, uniform: float) -> int:
        """The token at ``uniform`` of what is left, or -1 if nothing is."""
        return int(draw(self.probs, self.sums, self.removed, self.count, uniform))

    def remove(self, token: int) -> None:
        """Take a token out; at most as many as there are draws."""
        remove(self.probs, self.sums, self.removed, self.count, token)
        self.count += 1
