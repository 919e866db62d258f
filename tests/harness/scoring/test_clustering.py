from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import faiss
import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from bat.errors import InvalidInputError
from harness.config.experiment import Mauve
from harness.scoring.clustering import FeatureArray, cluster

SETTINGS: dict[str, Any] = {**Mauve().model_dump(), "kmeans_seeds": (3, 25), "kmeans_redo": 2}


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """k-means on one thread, also where a test calls faiss: threads of busy cores wait for each other."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    yield
    faiss.omp_set_num_threads(before)


def draw(count: int, width: int, seed: int, shift: float = 0.0) -> FeatureArray:
    drawn = np.random.default_rng(seed).normal(size=(count, width)) + shift
    return drawn.astype(np.float32)


def steps_of_mauve_text(
    human: FeatureArray, generated: FeatureArray, seed: int, buckets: int, **kmeans: int
) -> Any:
    """The same steps as mauve-text takes them for one seed, with its random state of the components."""
    rows = normalize(np.vstack([generated, human]), norm="l2", axis=1)
    pca = PCA(n_components=None, whiten=False, random_state=seed + 1).fit(rows)
    last = np.argmax(np.cumsum(pca.explained_variance_ratio_) >= SETTINGS["explained_variance"])
    rows = pca.transform(rows)[:, : last + 1].astype(np.float32)
    trained = faiss.Kmeans(
        rows.shape[1], buckets, niter=500, nredo=2, update_index=True, seed=seed + 2, **kmeans
    )
    trained.train(rows)
    return trained.index.search(rows, 1)[1].reshape(-1)


# More rows than ten times the width, and fewer: scikit-learn has a solver for each.
@pytest.mark.parametrize(("human", "generated", "width"), [(200, 150, 8), (90, 120, 60)])
def test_labels_are_those_of_the_steps_of_mauve_text(human: int, generated: int, width: int) -> None:
    people, model = draw(human, width, 0), draw(generated, width, 1, 0.2)
    found = cluster(people, model, SETTINGS)
    assert len(found) == 2
    buckets = round(min(human, generated) / 10)
    for seed, labels in zip(SETTINGS["kmeans_seeds"], found, strict=True):
        expected = steps_of_mauve_text(people, model, seed, buckets)
        assert labels.buckets == buckets
        np.testing.assert_array_equal(labels.generated, expected[:generated])
        np.testing.assert_array_equal(labels.human, expected[generated:])
    assert (found[0].human != found[1].human).any()


def test_what_silences_faiss_does_not_change_its_labels() -> None:
    people, model = draw(60, 8, 0), draw(60, 8, 1)
    silent = steps_of_mauve_text(people, model, 25, 6, min_points_per_centroid=1)
    np.testing.assert_array_equal(silent, steps_of_mauve_text(people, model, 25, 6))


def test_nothing_is_written_past_python(capfd: pytest.CaptureFixture[str]) -> None:
    people, model = draw(30, 8, 0), draw(30, 8, 1)
    cluster(people, model, SETTINGS)
    cluster(people, model, {**SETTINGS, "buckets": 60})
    assert capfd.readouterr() == ("", "")
    steps_of_mauve_text(people, model, 25, 3)
    assert (
        "please provide at least" in capfd.readouterr().err
    )  # so what was caught above is what faiss writes


@pytest.mark.parametrize(
    ("human", "generated", "buckets"),
    [(2, 2, 2), (30, 1000, 3), (1000, 30, 3), (25, 25, 2), (35, 40, 4)],
)
def test_automatic_buckets_are_a_tenth_of_the_smaller_side(human: int, generated: int, buckets: int) -> None:
    found = cluster(draw(human, 4, 0), draw(generated, 4, 1), SETTINGS)
    assert {labels.buckets for labels in found} == {buckets}
    for labels in found:
        assert labels.human.shape == (human,)
        assert labels.generated.shape == (generated,)
        assert min(labels.human.min(), labels.generated.min()) >= 0
        assert max(labels.human.max(), labels.generated.max()) < buckets


@pytest.mark.parametrize("seeds", [(25,), (25, 26, 27)])
def test_seeds_side_by_side_give_the_same_and_leave_the_threads_as_they_were(seeds: tuple[int, ...]) -> None:
    people, model = draw(80, 8, 0), draw(80, 8, 1)
    settings = {**SETTINGS, "kmeans_seeds": seeds}
    one_by_one = cluster(people, model, settings)
    faiss.omp_set_num_threads(2)
    side_by_side = cluster(people, model, settings)
    assert faiss.omp_get_max_threads() == 2
    for first, second in zip(one_by_one, side_by_side, strict=True):
        np.testing.assert_array_equal(first.human, second.human)
        np.testing.assert_array_equal(first.generated, second.generated)


def broken(count: int) -> FeatureArray:
    features = draw(20, 4, 2)
    features[:count, 1] = [np.nan, np.inf, -np.inf][:count]
    return features


@pytest.mark.parametrize(
    ("human", "generated", "settings", "message"),
    [
        (draw(1, 4, 0), draw(20, 4, 1), {}, "at least two human and two generated texts; got 1 and 20"),
        (draw(20, 4, 0), draw(0, 4, 1), {}, "got 20 and 0"),
        (
            draw(20, 4, 0),
            draw(20, 5, 1),
            {},
            r"the same width.*\(20, 4\) \(human\) and \(20, 5\) \(generated\)",
        ),
        (draw(20, 4, 0), draw(20, 4, 1)[0], {}, r"two matrices.*\(4,\) \(generated\)"),
        (broken(3), draw(20, 4, 1), {}, "finite; those of 3 of 20 human texts are not"),
        (draw(20, 4, 1), broken(2), {}, "finite; those of 2 of 20 generated texts are not"),
        (draw(20, 4, 0), draw(10, 4, 1), {"buckets": 31}, "got 31 buckets for 20 human and 10 generated"),
        (np.ones((20, 4), np.float32), np.ones((10, 4), np.float32), {}, "all 20 human and 10 generated"),
        # Multiples of one vector are the same once they have length one.
        (
            np.outer(np.arange(1, 21), [1, 2, 3]),
            np.outer(np.arange(1, 11), [1, 2, 3]),
            {},
            "have one direction",
        ),
    ],
)
def test_what_cannot_be_clustered_is_invalid(
    human: FeatureArray, generated: FeatureArray, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        cluster(human.astype(np.float32), generated.astype(np.float32), {**SETTINGS, **settings})


def test_as_many_buckets_as_texts_are_allowed() -> None:
    (found, _) = cluster(draw(5, 4, 0), draw(6, 4, 1), {**SETTINGS, "buckets": 11})
    assert sorted([*found.human, *found.generated]) == list(range(11))
