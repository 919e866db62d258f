"""From a rejection rate back to a parameter.

A rule's rejection rate changes only where its parameter passes a token's critical parameter, so a whole step
between two of them has the same rate. The middle of the step is reported; its ends belong to single tokens.

    LOG       epsilon, eta, min-p   the middle on a logarithmic scale: these compare probabilities, which span
                                    decades, and a step from 0.001 to 0.1 should give 0.01, as far from either
                                    end by factor (from 0, where no such scale begins, the ordinary middle)
    WHOLE     top-k                 the same, as a whole number: ranks span decades too
    LINEAR    nucleus, typical      the ordinary middle: these are masses between 0 and 1
"""

from __future__ import annotations

import math

import numpy as np

from bat.arrays import FloatArray, IntArray
from bat.rules import RuleForm, Scale


class Steps:
    """The steps of a rule's rejection rate, from the one that rejects least to the one that rejects most."""

    def __init__(self, rule: RuleForm, critical: FloatArray) -> None:
        self._rule = rule
        # Severity is the parameter, turned so that more of it rejects more; a token's critical severity is
        # where its rejection begins. Beyond the start are tokens always rejected, beyond the end never.
        self._sign = 1.0 if rule.rises else -1.0
        severity = self._sign * critical
        start, end = sorted(self._sign * limit for limit in rule.limits)
        self._order = np.argsort(severity, kind="stable")
        ascending = severity[self._order]
        inside = np.unique(ascending[(ascending > start) & (ascending < end)])
        self._bounds = np.concatenate([[start], inside, [end]])  # [m + 2]: step j lies between j and j + 1
        self._rejected = np.searchsorted(ascending, self._bounds[:-1], side="right")  # [m + 1]: tokens

    def levels(self, weights: IntArray) -> IntArray:
        """Return the weight rejected in every step, [r, m + 1], for each set of token weights [r, n]."""
        sums = np.zeros((len(weights), weights.shape[1] + 1), dtype=np.int64)
        np.cumsum(weights[:, self._order], axis=1, out=sums[:, 1:])
        return np.asarray(sums[:, self._rejected])

    def nearest(self, levels: IntArray, targets: FloatArray) -> FloatArray:
        """Return the parameter whose rejected weight is nearest to each target, [r]; of two, the smaller."""
        return np.array([self._nearest(*pair) for pair in zip(levels, targets, strict=True)])

    def _nearest(self, levels: IntArray, target: float) -> float:
        above = min(int(np.searchsorted(levels, target)), len(levels) - 1)
        below = max(above - 1, 0)
        level = levels[below if target - levels[below] <= abs(levels[above] - target) else above]
        # Tokens of weight zero make no step: all steps at the level are one.
        first = int(np.searchsorted(levels, level))
        last = int(np.searchsorted(levels, level, side="right"))
        ends = self._sign * self._bounds[[first, last]]
        return self._middle(float(ends.min()), float(ends.max()))

    def _middle(self, low: float, high: float) -> float:
        if self._rule.scale is Scale.WHOLE:  # whole numbers above ``low``, up to ``high``
            return low + 1.0 if math.isinf(high) else float(round(math.sqrt((low + 1.0) * high)))
        if math.isinf(high):
            return 2.0 * low if self._rule.scale is Scale.LOG and low > 0.0 else low + 1.0
        if self._rule.scale is Scale.LOG and low > 0.0:
            middle = math.sqrt(low) * math.sqrt(high)  # the product itself may underflow
        else:
            middle = low + (high - low) / 2.0
        smallest, largest = self._rule.limits
        return min(max(middle, math.nextafter(smallest, math.inf)), math.nextafter(largest, -math.inf))
