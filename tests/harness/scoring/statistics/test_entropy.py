from __future__ import annotations

import math

import numpy as np
import pytest

from harness.scoring.resampling import Resampling
from tests.harness.scoring.statistics.text_sets import (
    left_out_of,
    make_texts,
    remaining,
    several_a_prefix,
    value_of,
)


def naive(token_ids: list[list[int]]) -> float:
    """The mean over texts with a token of the entropy of its token frequencies, in nats."""
    entropies = []
    for ids in token_ids:
        shares = [ids.count(token) / len(ids) for token in set(ids)]
        if ids:
            entropies.append(-sum(share * math.log(share) for share in shares))
    return sum(entropies) / len(entropies)


def test_by_hand() -> None:
    assert value_of("entropy", "entropy", make_texts([[1, 1, 1], []])) == 0
    assert value_of("entropy", "entropy", make_texts([[1, 2, 3, 4]])) == pytest.approx(math.log(4))
    assert value_of("entropy", "entropy", make_texts([[7, 7], [1, 2]])) == pytest.approx(math.log(2) / 2)


def test_by_definition() -> None:
    texts = several_a_prefix()
    resampling = Resampling(25, 0)
    assert value_of("entropy", "entropy", texts) == pytest.approx(
        naive([ids.tolist() for ids in texts.token_ids])
    )
    expected = [naive(kept) for kept in remaining(texts, resampling)]
    np.testing.assert_allclose(left_out_of("entropy", "entropy", texts, resampling), expected)
