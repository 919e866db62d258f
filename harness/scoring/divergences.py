"""How far two histograms are apart: MAUVE and its relatives, of many pairs of histograms at once.

Histograms are counts of texts in clusters, one pair a row; counts need not be whole. Formulas are those of
mauve-text, which a test compares, except for KL and Jensen-Shannon, which it does not have. All values are
NaN where one of the two histograms is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from harness.scoring.resampling import FloatArray

# How far the mixture weights stay away from 0 and 1, as in mauve-text.
_MARGIN = 1e-6
# Added to every count where histograms are smoothed (Krichevsky and Trofimov), as in mauve-text.
SMOOTHING = 0.5
# Numbers in one temporary array: histograms are compared in chunks.
_CHUNK_NUMBERS = 1_000_000

# Of the shares of human and generated texts, [r, buckets] each.
Divergence = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class HistogramScore:
    """A score of two histograms."""

    name: str
    divergence: Divergence
    smoothing: float = 0.0  # added to every count

    def of(self, human: FloatArray, generated: FloatArray) -> FloatArray:
        """The value of each pair of histograms, [r, buckets] counts each."""
        rows = max(1, _CHUNK_NUMBERS // human.shape[1])
        values = np.empty(len(human))
        for start in range(0, len(human), rows):
            part = slice(start, start + rows)
            values[part] = self.divergence(*(self._shares(side[part]) for side in (human, generated)))
        return values

    def _shares(self, counts: FloatArray) -> FloatArray:
        totals = counts.sum(axis=1, keepdims=True)
        shares: FloatArray = np.full_like(counts, np.nan)
        smoothed_totals = totals + self.smoothing * counts.shape[1]
        np.divide(counts + self.smoothing, smoothed_totals, out=shares, where=totals > 0)
        return shares


def histogram_scores(settings: Mapping[str, Any]) -> tuple[HistogramScore, ...]:
    """The scores of two histograms, MAUVE first; `settings` are a sweep's scoring.mauve."""
    mauve = partial(
        area_under_curve, scaling_factor=settings["scaling_factor"], curve_points=settings["curve_points"]
    )
    return (
        HistogramScore("mauve", mauve),
        HistogramScore("mauve-star", mauve, SMOOTHING),
        HistogramScore("frontier-integral", frontier_integral),
        HistogramScore("kl-human", kl, SMOOTHING),
        HistogramScore("kl-generated", lambda p, q: kl(q, p), SMOOTHING),
        HistogramScore("jensen-shannon", jensen_shannon),
    )


def area_under_curve(p: FloatArray, q: FloatArray, *, scaling_factor: float, curve_points: int) -> FloatArray:
    """MAUVE: the area under the divergence curve of each row, p and q [r, buckets].

    KL(q, r) is the sum of q log q less the sum of q log r, so one logarithm of the mixture r serves both
    divergences.
    """
    p_log_p, q_log_q = (np.sum(each * _log(each), axis=1) for each in (p, q))
    # The curve begins and ends on the axes, at (1, 0) and (0, 1).
    x, y = np.zeros((2, curve_points + 2, len(p)))
    x[0], y[-1] = 1, 1
    for point, weight in enumerate(np.linspace(_MARGIN, 1 - _MARGIN, curve_points), start=1):
        log_mixture = _log(weight * p + (1 - weight) * q)
        from_q = q_log_q - np.einsum("rb,rb->r", q, log_mixture)
        from_p = p_log_p - np.einsum("rb,rb->r", p, log_mixture)
        x[point] = np.exp(-scaling_factor * np.maximum(from_q, 0))
        y[point] = np.exp(-scaling_factor * np.maximum(from_p, 0))
    # x falls and y rises along the curve, so it is sorted already. mauve-text sorts it; if both histograms
    # are equal, so that all points but the ends are (1, 1), rounding may put (1, 0) before them, and the
    # result is 0.75. The order of the curve gives 1. mauve-text also averages the areas seen from both axes,
    # which are the same trapezoids.
    area: FloatArray = np.sum((x[1:] + x[:-1]) / 2 * np.diff(y, axis=0), axis=0)
    return area


def frontier_integral(p: FloatArray, q: FloatArray) -> FloatArray:
    """The frontier integral (Liu et al. 2021): 0 for equal histograms, 1 for ones without a common bucket.

    Each bucket adds (p + q) / 2 - p q log(p / q) / (p - q), where the second term is 0 if one of the two
    is, and p if both are equal.
    """
    difference = p - q
    apart = np.abs(difference) > 1e-8  # as in mauve-text; closer ones add nothing
    logs = np.where((p > 0) & (q > 0), _log(p) - _log(q), 0.0)
    shared = p * q * logs / np.where(apart, difference, 1.0)
    total: FloatArray = np.sum(np.where(apart, (p + q) / 2 - shared, 0.0 * difference), axis=1)
    return total


def kl(p: FloatArray, q: FloatArray) -> FloatArray:
    """Kullback and Leibler's divergence of q from p in nats; q must not be 0 where p is not."""
    divergence: FloatArray = np.sum(p * (_log(p) - _log(q)), axis=1)
    return divergence


def jensen_shannon(p: FloatArray, q: FloatArray) -> FloatArray:
    """The Jensen-Shannon divergence in nats, from 0 to log 2."""
    mixture = (p + q) / 2
    divergence: FloatArray = (kl(p, mixture) + kl(q, mixture)) / 2
    return divergence


def _log(values: FloatArray) -> FloatArray:
    """Logarithms, and 0 for those of 0, which are only ever multiplied by 0."""
    logs: FloatArray = np.log(values, where=values != 0, out=np.zeros_like(values))
    return logs
