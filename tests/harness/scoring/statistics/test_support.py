from __future__ import annotations

import numpy as np
import pytest

from bat.arrays import SingleArray
from harness.scoring.resampling import Resampling
from harness.scoring.statistics import get_statistic, support
from harness.scoring.texts import Features
from tests.harness.scoring.statistics.text_sets import left_out_of, make_features, make_texts, value_of

Vectors = list[list[float]]


def distance(first: list[float], second: list[float]) -> float:
    lengths = [sum(x * x for x in vector) ** 0.5 for vector in (first, second)]
    return sum((x / lengths[0] - y / lengths[1]) ** 2 for x, y in zip(first, second, strict=True)) ** 0.5


def naive(points: Vectors, cover: Vectors) -> float:
    """The share of points within reach of a vector of the cover: as far as its third nearest other one."""
    reaches = [
        sorted(distance(vector, other) for j, other in enumerate(cover) if i != j)[2]
        for i, vector in enumerate(cover)
    ]
    covered = [
        any(distance(point, vector) <= reach for vector, reach in zip(cover, reaches, strict=True))
        for point in points
    ]
    return sum(covered) / len(covered)


@pytest.mark.parametrize("looked_up", [16, 3])  # with so few neighbours, more have to be found one by one
def test_by_definition(monkeypatch: pytest.MonkeyPatch, looked_up: int) -> None:
    monkeypatch.setattr(support, "_LOOKED_UP", looked_up)
    places = np.random.default_rng(1).integers(40, size=70)
    features = make_features(70, 40, width=4)
    assert features.human is not None
    texts = make_texts([[1]] * 70, places=places.tolist(), prefixes=40, features=features)
    resampling = Resampling(40, 0)
    blocks = resampling.blocks()

    def expected(block: int) -> tuple[float, float]:
        assert features.human is not None
        human: Vectors = features.human[blocks != block].tolist()
        generated: Vectors = features.texts[blocks[places] != block].tolist()
        return naive(generated, human), naive(human, generated)

    whole = expected(-1)
    for index, name in enumerate(("precision", "recall")):
        assert value_of("support", name, texts) == pytest.approx(whole[index])
        found = left_out_of("support", name, texts, resampling)
        np.testing.assert_allclose(found, [expected(block)[index] for block in range(20)])
    assert 0 < whole[1] < whole[0] or 0 < whole[0] < 1


def test_quality_and_diversity_apart() -> None:
    random = np.random.default_rng(0)
    human: SingleArray = random.normal(size=(100, 4)).astype(np.float32)

    def scores(generated: SingleArray) -> tuple[float, float]:
        texts = make_texts([[1]] * 100, features=Features(generated, human))
        return value_of("support", "precision", texts), value_of("support", "recall", texts)

    copies = np.tile(human[:4], (25, 1)) + np.float32(1e-4) * random.normal(size=(100, 4)).astype(np.float32)
    precision, recall = scores(copies)  # four good texts again and again
    assert precision == 1
    assert recall < 0.1
    assert scores(human.copy()) == (1, 1)
    far = np.float32(0.01) * human + np.array([0, 0, 0, -1], np.float32)
    assert scores(far)[1] < 0.1  # all in one corner


def test_too_few_texts_are_not_defined() -> None:
    features = make_features(3, 3)
    texts = make_texts([[1]] * 3, features=features)
    assert np.isnan(value_of("support", "precision", texts))
    assert get_statistic("support")(make_texts([[1]]), Resampling(1, 0)) == []
