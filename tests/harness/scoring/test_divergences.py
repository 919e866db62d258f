"""Scores of two histograms against their definitions, written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from harness.config.experiment import Mauve
from harness.scoring import divergences
from harness.scoring.divergences import HistogramScore, histogram_scores
from harness.scoring.resampling import FloatArray
from tests.harness.scoring.test_mauve_score import divergence, naive

NAMES = ("mauve", "mauve-star", "frontier-integral", "kl-human", "kl-generated", "jensen-shannon")


def scores(**settings: float) -> dict[str, HistogramScore]:
    made = histogram_scores({**Mauve().model_dump(), **settings})
    assert tuple(score.name for score in made) == NAMES
    return {score.name: score for score in made}


def by_definition(name: str, human: list[float], generated: list[float], c: float, points: int) -> float:
    if name == "mauve":
        return naive(human, generated, c, points)
    smoothed = [[count + 0.5 for count in counts] for counts in (human, generated)]
    if name == "mauve-star":
        return naive(smoothed[0], smoothed[1], c, points)
    smooth_p, smooth_q = ([count / sum(counts) for count in counts] for counts in smoothed)
    if name == "kl-human":
        return divergence(smooth_p, smooth_q)
    if name == "kl-generated":
        return divergence(smooth_q, smooth_p)
    p, q = ([count / sum(counts) for count in counts] for counts in (human, generated))
    if name == "jensen-shannon":
        middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
        return (divergence(p, middle) + divergence(q, middle)) / 2
    # The frontier integral: twice the mean over mixtures of the divergence from them, with weights.
    steps = 4000
    total = 0.0
    for step in range(steps):
        w = (step + 0.5) / steps
        mixture = [w * a + (1 - w) * b for a, b in zip(p, q, strict=True)]
        total += 2 * (w * divergence(p, mixture) + (1 - w) * divergence(q, mixture)) / steps
    return total


@pytest.fixture
def histograms(monkeypatch: pytest.MonkeyPatch) -> tuple[FloatArray, FloatArray]:
    monkeypatch.setattr(divergences, "_CHUNK_NUMBERS", 7 * 11)  # seven rows at a time
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.full(11, 0.5), size=2)
    human = random.multinomial(40, shares[0], size=30).astype(np.float64)
    generated = random.multinomial(60, shares[1], size=30).astype(np.float64)
    generated[0] = np.where(human[0] > 0, 0, 3)  # nothing in common
    generated[1] = 2 * human[1]  # the same
    assert (human == 0).any()
    return human, generated


@pytest.mark.parametrize("name", NAMES)
def test_many_histograms_at_once_are_each_by_definition(
    name: str, histograms: tuple[FloatArray, FloatArray]
) -> None:
    human, generated = histograms
    for c, points in [(5.0, 25), (1.0, 2)] if name.startswith("mauve") else [(5.0, 25)]:
        found = scores(scaling_factor=c, curve_points=points)[name].of(human, generated)
        rows = zip(human.tolist(), generated.tolist(), strict=True)
        expected = [by_definition(name, a, b, c, points) for a, b in rows]
        close = 2e-3 if name == "frontier-integral" else 1e-12  # an integral by its midpoints
        np.testing.assert_allclose(found, expected, rtol=0, atol=close)


def test_equal_histograms_are_as_close_as_can_be() -> None:
    random = np.random.default_rng(0)
    counts = random.multinomial(100, np.full(20, 0.05), size=200).astype(np.float64)
    for name, score in scores().items():
        best = 1 if name.startswith("mauve") else 0
        np.testing.assert_allclose(score.of(counts, counts), best, rtol=0, atol=1e-12)
    assert scores()["jensen-shannon"].of(np.eye(2)[:1], np.eye(2)[1:])[0] == pytest.approx(math.log(2))
    assert scores()["frontier-integral"].of(np.eye(2)[:1], np.eye(2)[1:])[0] == pytest.approx(1)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_histogram_has_no_value(name: str) -> None:
    counts = np.array([[3.0, 1.0], [0.0, 0.0], [2.0, 2.0]])
    score = scores()[name]
    assert np.isnan(score.of(counts, counts[::-1])).tolist() == [False, True, False]
    assert np.isnan(score.of(counts[:1], counts[1:2])).all()
