"""The strengths of three settings or more, from all pairs together: Bradley-Terry with ties.

Davidson's model ("On extending the Bradley-Terry model to accommodate ties", 1970): for settings with
log-strengths a and b, the odds of first, second and tie are exp(a) : exp(b) : exp(n + (a + b) / 2). Its
log-likelihood is concave. A weak pull to equal strengths keeps a setting finite that won every vote, or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.judge.shares import ANSWERS, Clusters, Estimate, FloatArray, IntArray
from harness.judge.votes import Vote

RESAMPLES = 200  # each is three fits
_PULL = 0.01  # as if every setting had a hundredth of a vote for and against it


@dataclass(frozen=True, slots=True)
class Strength:
    """A setting, and its log-strength against the mean of all; e to the difference of two is their odds."""

    setting: str
    strength: Estimate
    votes: int


def strengths(
    settings: Sequence[str],
    sides: Sequence[tuple[str, str]],
    votes: Sequence[Vote],
    resamples: int = RESAMPLES,
) -> list[Strength] | None:
    """The strongest first; None unless there are three settings that votes connect with each other."""
    judged = {vote.pair for vote in votes}
    used = [pair for pair in range(len(sides)) if pair in judged]
    if len(settings) < 3 or not _are_connected(settings, [sides[pair] for pair in used]):
        return None
    numbers = {name: number for number, name in enumerate(settings)}
    ends = np.array([[numbers[side] for side in pair] for pair in sides])
    cell = np.array([3 * (vote.pair or 0) + ANSWERS.index(vote.answer) for vote in votes])
    columns = np.eye(3 * len(sides))[cell]  # [n, 3 pairs]
    clusters = Clusters(votes, resamples)

    def fit_all(weights: FloatArray) -> FloatArray:
        counts = (weights @ columns).reshape(len(weights), len(sides), 3)
        return np.array([fit(each, ends, len(settings)) for each in counts])

    values = fit_all(np.ones((1, len(votes))))[0]
    half = clusters.quantile * np.sqrt(clusters.variance(fit_all))
    found = [
        Strength(
            name,
            Estimate(float(value), float(value - width), float(value + width)),
            sum(name in sides[vote.pair or 0] for vote in votes),
        )
        for name, value, width in zip(settings, values, half, strict=True)
    ]
    return sorted(found, key=lambda each: -each.strength.value)


def fit(counts: FloatArray, ends: IntArray, settings: int) -> FloatArray:
    """Log-strengths with mean zero, [settings], from votes for first, second and tie of each pair, [p, 3]."""
    from scipy.optimize import minimize

    # What each outcome of each pair adds to its log-odds, [p, 3, settings + 1]; the last column is for ties.
    design = np.zeros((len(ends), 3, settings + 1))
    rows = np.arange(len(ends))
    design[rows, 0, ends[:, 0]] = 1.0
    design[rows, 1, ends[:, 1]] = 1.0
    design[rows, 2, ends[:, 0]] = design[rows, 2, ends[:, 1]] = 0.5
    design[:, 2, settings] = 1.0
    total = counts.sum(axis=1, keepdims=True)

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        odds = design @ parameters
        top = odds.max(axis=1, keepdims=True)
        log_sum = top + np.log(np.exp(odds - top).sum(axis=1, keepdims=True))
        surplus = total * np.exp(odds - log_sum) - counts
        value = float((counts * (log_sum - odds)).sum() + _PULL * (parameters**2).sum())
        return value, np.einsum("pk,pks->s", surplus, design) + 2 * _PULL * parameters

    found = minimize(loss, np.zeros(settings + 1), jac=True, method="BFGS").x[:settings]
    centred: FloatArray = found - found.mean()
    return centred


def _are_connected(settings: Sequence[str], pairs: Sequence[tuple[str, str]]) -> bool:
    reached = {settings[0]}
    for _ in settings:
        reached |= {side for pair in pairs for side in pair if reached & set(pair)}
    return reached >= set(settings)
