from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import faiss
import mauve
import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.config.experiment import Mauve
from harness.scoring import mauve_score
from harness.scoring.clustering import FeatureArray, cluster
from harness.scoring.mauve_score import mauve_of_histograms, mauve_scores
from harness.scoring.resampling import FloatArray, IntArray, Resampling

SETTINGS: dict[str, Any] = {**Mauve().model_dump(), "kmeans_seeds": (25, 4)}


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """k-means on one thread, also in mauve-text: threads of busy cores wait for each other."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(before)


def draw(count: int, width: int, seed: int, shift: float = 0.0) -> FeatureArray:
    drawn = np.random.default_rng(seed).normal(size=(count, width)) + shift
    return drawn.astype(np.float32)


def reference(human: FeatureArray, generated: FeatureArray, settings: dict[str, Any]) -> list[float]:
    return [
        mauve.compute_mauve(
            p_features=human,
            q_features=generated,
            num_buckets=settings["buckets"],
            kmeans_explained_var=settings["explained_variance"],
            kmeans_num_redo=settings["kmeans_redo"],
            kmeans_max_iter=settings["kmeans_max_iterations"],
            divergence_curve_discretization_size=settings["curve_points"],
            mauve_scaling_factor=settings["scaling_factor"],
            seed=seed,
            verbose=False,
        ).mauve
        for seed in settings["kmeans_seeds"]
    ]


def divergence(first: list[float], second: list[float]) -> float:
    """Kullback and Leibler's, in nats."""
    return sum(a * math.log(a / b) for a, b in zip(first, second, strict=True) if a > 0)


def naive(human: list[float], generated: list[float], scaling_factor: float, curve_points: int) -> float:
    """MAUVE of two histograms by its definition: the area under the curve of both divergences."""
    p, q = ([count / sum(counts) for count in counts] for counts in (human, generated))
    curve = [(0.0, 1.0), (1.0, 0.0)]
    for step in range(curve_points):
        weight = 1e-6 + (1 - 2e-6) * step / (curve_points - 1)
        mixture = [weight * a + (1 - weight) * b for a, b in zip(p, q, strict=True)]
        curve.append(
            (
                math.exp(-scaling_factor * divergence(q, mixture)),
                math.exp(-scaling_factor * divergence(p, mixture)),
            )
        )
    curve.sort(key=lambda point: (point[0], -point[1]))
    return sum((c - a) * (b + d) / 2 for (a, b), (c, d) in itertools.pairwise(curve))


@pytest.mark.parametrize(
    ("human", "generated", "width", "shift", "changed"),
    [
        (60, 60, 8, 0.0, {}),
        (300, 120, 32, 0.3, {}),
        (55, 205, 64, 0.1, {"buckets": 7}),
        (20, 20, 4, 0.5, {"buckets": 40}),
        (200, 230, 16, 0.2, {"buckets": 2, "scaling_factor": 1.0, "curve_points": 100}),
        (250, 150, 40, 1.0, {"explained_variance": 0.5, "curve_points": 2}),
        (150, 150, 12, 0.1, {"kmeans_max_iterations": 3, "kmeans_redo": 1, "scaling_factor": 20.0}),
        (1500, 1500, 4, 0.1, {"buckets": 3}),  # so many texts a bucket that faiss takes a sample of them
    ],
)
def test_values_are_those_of_mauve_text(
    human: int, generated: int, width: int, shift: float, changed: dict[str, Any]
) -> None:
    settings = {**SETTINGS, **changed}
    people, model = draw(human, width, 0), draw(generated, width, 1, shift)
    places = np.arange(generated) % human
    found = mauve_scores(people, model, np.arange(human), places, settings, Resampling(human, 0))
    expected = reference(people, model, settings)
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-9)
    assert len(set(found.values)) > 1 or changed.get("buckets") == 40  # there every text is alone


@pytest.mark.parametrize(("scaling_factor", "curve_points"), [(5.0, 25), (1.0, 2), (12.5, 60)])
def test_many_histograms_at_once_are_each_by_definition(
    monkeypatch: pytest.MonkeyPatch, scaling_factor: float, curve_points: int
) -> None:
    monkeypatch.setattr(mauve_score, "_CHUNK_NUMBERS", 7 * 11)  # seven rows at a time
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.full(11, 0.5), size=2)
    human = random.multinomial(40, shares[0], size=30).astype(np.float64)
    generated = random.multinomial(60, shares[1], size=30).astype(np.float64)
    generated[0] = np.where(human[0] > 0, 0, 3)  # nothing in common
    generated[1] = 2 * human[1]  # the same
    assert (human == 0).any()
    found = mauve_of_histograms(human, generated, scaling_factor, curve_points)
    expected = [
        naive(a, b, scaling_factor, curve_points)
        for a, b in zip(human.tolist(), generated.tolist(), strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_equal_histograms_have_one_as_their_value() -> None:
    random = np.random.default_rng(0)
    counts = random.multinomial(100, np.full(20, 0.05), size=200).astype(np.float64)
    np.testing.assert_allclose(mauve_of_histograms(counts, counts, 5.0, 25), 1, rtol=0, atol=1e-12)


def test_an_empty_histogram_has_no_value() -> None:
    counts = np.array([[3.0, 1.0], [0.0, 0.0], [2.0, 2.0]])
    found = mauve_of_histograms(counts, counts[::-1], 5.0, 25)
    assert np.isnan(found).tolist() == [False, True, False]
    assert np.isnan(mauve_of_histograms(counts[:1], counts[1:2], 5.0, 25)).all()


@pytest.fixture
def several() -> tuple[FeatureArray, FeatureArray, IntArray, IntArray]:
    """Sixty prefixes with a human text each, and up to four generated ones; places in no order."""
    random = np.random.default_rng(5)
    return draw(60, 6, 0), draw(130, 6, 1, 0.4), random.permutation(60), random.permutation(130) * 7 % 60


def by_hand(texts: tuple[FeatureArray, FeatureArray, IntArray, IntArray], weights: FloatArray) -> FloatArray:
    """The mean over seeds for each row of weights, each text written down as often as its prefix counts."""
    human, generated, human_prefixes, generated_prefixes = texts
    found = np.zeros(len(weights))
    for labels in cluster(human, generated, SETTINGS):
        for row, weight in enumerate(weights):
            histograms = []
            for side, places in ((labels.human, human_prefixes), (labels.generated, generated_prefixes)):
                repeated = [
                    label
                    for label, place in zip(side, places, strict=True)
                    for _ in range(int(weight[place]))
                ]
                histograms.append([float(repeated.count(bucket)) for bucket in range(labels.buckets)])
            found[row] += naive(histograms[0], histograms[1], 5.0, 25) / len(SETTINGS["kmeans_seeds"])
    return found


def test_a_resampling_repeats_the_texts_of_a_prefix(
    several: tuple[FeatureArray, FeatureArray, IntArray, IntArray],
) -> None:
    resampling = Resampling(60, 120, seed=3)
    found = mauve_scores(*several, SETTINGS, resampling)
    assert found.resampled.shape == (120,)
    weights = np.concatenate(list(resampling.draws()))
    np.testing.assert_allclose(found.resampled, by_hand(several, weights), rtol=0, atol=1e-12)
    assert found.resampled.std() > 0.001


def test_a_block_left_out_takes_its_texts_with_it(
    several: tuple[FeatureArray, FeatureArray, IntArray, IntArray],
) -> None:
    resampling = Resampling(60, 0)
    found = mauve_scores(*several, SETTINGS, resampling)
    assert found.left_out.shape == (20,)
    assert found.resampled.shape == (0,)
    np.testing.assert_allclose(found.left_out, by_hand(several, resampling.left_out()), rtol=0, atol=1e-12)


def test_weights_of_one_give_the_value(
    monkeypatch: pytest.MonkeyPatch, several: tuple[FeatureArray, FeatureArray, IntArray, IntArray]
) -> None:
    monkeypatch.setattr(Resampling, "draws", lambda self: iter([np.ones((3, self.prefixes))]))
    found = mauve_scores(*several, SETTINGS, Resampling(60, 3))
    np.testing.assert_allclose(found.resampled, np.mean(found.values), rtol=0, atol=1e-12)


def test_a_block_that_is_all_there_is_leaves_no_value() -> None:
    places = np.zeros(12, dtype=np.int64)
    found = mauve_scores(draw(12, 4, 0), draw(12, 4, 1), places, places, SETTINGS, Resampling(1, 5))
    np.testing.assert_allclose(found.resampled, np.mean(found.values), rtol=0, atol=1e-12)
    assert np.isnan(found.left_out).tolist() == [True]


def test_nothing_is_written_past_python(capfd: pytest.CaptureFixture[str]) -> None:
    mauve_scores(draw(9, 4, 0), draw(9, 4, 1), np.arange(9), np.arange(9), SETTINGS, Resampling(9, 10))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("human_prefixes", "generated_prefixes", "message"),
    [
        (np.arange(19), np.arange(20), r"human_prefixes must be one integer for each of the 20.*\(19,\)"),
        (np.arange(20), np.arange(40).reshape(20, 2), r"generated_prefixes .*\(20, 2\)"),
        (np.arange(20), np.arange(20) / 2, "generated_prefixes .* got an array of float64"),
        (np.arange(20) + 1, np.arange(20), r"human_prefixes must lie in \[0, 20\).*got 1 to 20"),
        (np.arange(20), np.arange(20) - 1, r"generated_prefixes must lie in \[0, 20\).*got -1 to 18"),
    ],
)
def test_an_invalid_index_of_prefixes_raises(
    human_prefixes: Any, generated_prefixes: Any, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        mauve_scores(
            draw(20, 4, 0), draw(20, 4, 1), human_prefixes, generated_prefixes, SETTINGS, Resampling(20, 5)
        )


def test_features_that_cannot_be_compared_are_invalid() -> None:
    with pytest.raises(InvalidInputError, match="got 1 and 20"):
        mauve_scores(draw(1, 4, 0), draw(20, 4, 1), np.arange(1), np.arange(20), SETTINGS, Resampling(20, 5))
