from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import faiss
import mauve
import numpy as np
import pytest

from bat.errors import BatError, InvalidInputError
from harness.config.experiment import Mauve
from harness.scoring import mauve_score, mauve_text
from harness.scoring.clustering import FeatureArray, cluster
from harness.scoring.mauve_score import ClusterScore, cluster_scores, mauve_alone
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


def reference(human: FeatureArray, generated: FeatureArray, settings: dict[str, Any]) -> list[Any]:
    """What mauve-text returns for each seed."""
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
        )
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
    arguments = (people, model, np.arange(human), places, settings, Resampling(human, 0))
    found = by_name(cluster_scores(*arguments))
    expected = reference(people, model, settings)
    assert found["mauve"].values == tuple(each.mauve for each in expected)
    assert found["mauve-star"].values == tuple(each.mauve_star for each in expected)
    assert found["frontier-integral"].values == tuple(each.frontier_integral for each in expected)
    assert mauve_alone(*arguments).values == found["mauve"].values
    values = found["mauve"].values
    assert len(set(values)) > 1 or changed.get("buckets") == 40  # there every text is alone


def by_name(scores: list[ClusterScore]) -> dict[str, ClusterScore]:
    return {score.name: score for score in scores}


def test_equal_histograms_have_the_best_values_whatever_mauve_text_rounds_to() -> None:
    same = draw(60, 6, 0)
    found = by_name(cluster_scores(same, same, np.arange(60), np.arange(60), SETTINGS, Resampling(60, 4)))
    assert found["mauve"].values == pytest.approx((1, 1), abs=1e-12)
    assert found["frontier-integral"].values == (0, 0)
    assert found["jensen-shannon"].values == pytest.approx((0, 0), abs=1e-12)


def test_a_value_that_is_not_that_of_the_histograms_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    people, model = draw(40, 4, 0), draw(40, 4, 1, 0.5)
    arguments = (people, model, np.arange(40), np.arange(40), SETTINGS, Resampling(40, 0))
    formula = mauve_score.histogram_scores

    def doubled(settings: Any) -> Any:
        return [replace(score, smoothing=score.smoothing + 0.1) for score in formula(settings)]

    monkeypatch.setattr(mauve_score, "histogram_scores", doubled)
    with pytest.raises(BatError, match="mauve must be the same by mauve-text and by the formula"):
        cluster_scores(*arguments)


def test_clusters_that_are_not_those_of_mauve_text_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    people, model = draw(40, 4, 0), draw(40, 4, 1, 0.5)
    module = mauve_text._module()
    histograms = module.cluster_feats

    def others(*arguments: Any, **options: Any) -> Any:
        p, *rest = histograms(*arguments, **options)
        return p[::-1], *rest

    monkeypatch.setattr(module, "cluster_feats", others)
    with pytest.raises(BatError, match="clusters of human texts must be those of mauve-text's histogram"):
        cluster(people, model, SETTINGS)


def test_only_our_copy_of_mauve_text_is_changed() -> None:
    theirs = sys.modules["mauve.compute_mauve"]
    assert theirs.faiss is faiss
    assert mauve_text._module() is not theirs
    assert mauve_text._module().faiss.Kmeans is not faiss.Kmeans


@pytest.fixture
def several() -> tuple[FeatureArray, FeatureArray, IntArray, IntArray]:
    """Sixty prefixes with a human text each, and up to four generated ones; places in no order."""
    random = np.random.default_rng(5)
    return draw(60, 6, 0), draw(130, 6, 1, 0.4), random.permutation(60), random.permutation(130) * 7 % 60


def by_hand(texts: tuple[FeatureArray, FeatureArray, IntArray, IntArray], weights: FloatArray) -> FloatArray:
    """MAUVE, the mean over seeds for each row of weights, each text counting as much as its prefix."""
    human, generated, human_prefixes, generated_prefixes = texts
    found = np.zeros(len(weights))
    for labels in cluster(human, generated, SETTINGS):
        for row, weight in enumerate(weights):
            histograms = []
            for side, places in ((labels.human, human_prefixes), (labels.generated, generated_prefixes)):
                counts = [0.0] * labels.buckets
                for label, place in zip(side, places, strict=True):
                    counts[label] += float(weight[place])
                histograms.append(counts)
            found[row] += naive(histograms[0], histograms[1], 5.0, 25) / len(SETTINGS["kmeans_seeds"])
    return found


Several = tuple[FeatureArray, FeatureArray, IntArray, IntArray]


def test_older_jobs_repeat_the_texts_of_a_prefix_that_is_drawn_again(several: Several) -> None:
    resampling = Resampling(60, 120, seed=3)
    found = mauve_alone(*several, SETTINGS, resampling)
    assert list(found.behind) == ["left_out", "resampled"]
    resampled = found.behind["resampled"]
    assert resampled.shape == (120,)
    weights = np.concatenate(list(resampling.draws()))
    np.testing.assert_allclose(resampled, by_hand(several, weights), rtol=0, atol=1e-12)
    assert resampled.std() > 0.001


@pytest.mark.parametrize(
    ("symmetric", "keys"), [(False, ["weighed", "opposite"]), (True, ["raised", "lowered"])]
)
def test_a_text_counts_as_much_as_its_reweighted_prefix(
    several: Several, symmetric: bool, keys: list[str]
) -> None:
    resampling = Resampling(60, 30, seed=3)
    [pair] = resampling.reweightings(symmetric=symmetric)
    found = by_name(cluster_scores(*several, SETTINGS, resampling, symmetric=symmetric))["mauve"]
    assert list(found.behind) == ["left_out", *keys]
    for key, weights in zip(keys, pair, strict=True):
        np.testing.assert_allclose(found.behind[key], by_hand(several, weights), rtol=0, atol=1e-12)


def test_a_block_left_out_takes_its_texts_with_it(several: Several) -> None:
    resampling = Resampling(60, 0)
    for found in (
        by_name(cluster_scores(*several, SETTINGS, resampling))["mauve"],
        mauve_alone(*several, SETTINGS, resampling),
    ):
        expected = by_hand(several, resampling.left_out())
        np.testing.assert_allclose(found.behind["left_out"], expected, rtol=0, atol=1e-12)
        assert list(found.behind) == ["left_out"]


def test_a_block_that_is_all_there_is_leaves_no_value() -> None:
    places = np.zeros(12, dtype=np.int64)
    arguments = (draw(12, 4, 0), draw(12, 4, 1), places, places, SETTINGS, Resampling(1, 4))
    for found in cluster_scores(*arguments):
        assert list(found.behind) == ["left_out"]
        assert np.isnan(found.behind["left_out"]).tolist() == [True]


def test_nothing_is_written_past_python(capfd: pytest.CaptureFixture[str]) -> None:
    cluster_scores(draw(9, 4, 0), draw(9, 4, 1), np.arange(9), np.arange(9), SETTINGS, Resampling(9, 10))
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
        cluster_scores(
            draw(20, 4, 0), draw(20, 4, 1), human_prefixes, generated_prefixes, SETTINGS, Resampling(20, 5)
        )


def test_features_that_cannot_be_compared_are_invalid() -> None:
    with pytest.raises(InvalidInputError, match="got 1 and 20"):
        cluster_scores(
            draw(1, 4, 0), draw(20, 4, 1), np.arange(1), np.arange(20), SETTINGS, Resampling(20, 5)
        )
