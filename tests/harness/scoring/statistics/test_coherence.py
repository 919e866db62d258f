from __future__ import annotations

import numpy as np
import pytest

from harness.scoring.resampling import Resampling
from harness.scoring.statistics import get_statistic
from harness.scoring.texts import Features
from tests.harness.scoring.statistics.text_sets import left_out_of, make_features, make_texts, value_of


def cosine(first: list[float], second: list[float]) -> float:
    dot = sum(x * y for x, y in zip(first, second, strict=True))
    return dot / (sum(x * x for x in first) * sum(y * y for y in second)) ** 0.5


def test_by_definition() -> None:
    places = np.random.default_rng(1).integers(25, size=60)
    features = make_features(60, 25)
    texts = make_texts([[1]] * 60, places=places.tolist(), prefixes=25, features=features)
    assert features.prefixes is not None
    own, prefixes = features.texts.tolist(), features.prefixes.tolist()
    cosines = [cosine(own[text], prefixes[place]) for text, place in enumerate(places)]
    assert value_of("coherence", "coherence", texts) == pytest.approx(sum(cosines) / 60)
    resampling = Resampling(25, 0)
    blocks = resampling.blocks()[places]
    expected = [
        np.mean([c for c, b in zip(cosines, blocks, strict=True) if b != block]) for block in range(20)
    ]
    np.testing.assert_allclose(left_out_of("coherence", "coherence", texts, resampling), expected)


def test_vectors_without_a_direction_are_like_nothing() -> None:
    features = Features(np.zeros((2, 3), np.float32), prefixes=np.ones((2, 3), np.float32))
    assert value_of("coherence", "coherence", make_texts([[1], [2]], features=features)) == 0


def test_prefixes_without_vectors_have_no_coherence() -> None:
    texts = make_texts([[1]], features=Features(np.ones((1, 3), np.float32)))
    assert get_statistic("coherence")(texts, Resampling(1, 0)) == []
