from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from harness.scoring.resampling import Resampling
from harness.scoring.statistics.zipf import coefficient
from tests.harness.scoring.statistics.text_sets import (
    left_out_of,
    make_texts,
    remaining,
    several_a_prefix,
    value_of,
)


def naive_zipf(token_ids: list[list[int]], most: int = 5000) -> float:
    counts = Counter(token for ids in token_ids for token in ids)
    frequent = sorted(counts.values(), reverse=True)[:most]
    ranks = range(1, len(frequent) + 1)
    return -float(np.polyfit([math.log(rank) for rank in ranks], [math.log(n) for n in frequent], 1)[0])


@pytest.mark.parametrize("seed", range(3))
def test_is_its_definition_also_with_blocks_left_out(seed: int) -> None:
    texts = several_a_prefix(seed)
    whole = naive_zipf([ids.tolist() for ids in texts.token_ids])
    assert value_of("zipf", "zipf", texts) == pytest.approx(whole)
    resampling = Resampling(25, 0, seed)
    expected = [naive_zipf(kept) for kept in remaining(texts, resampling)]
    assert len(set(expected)) > 1
    assert left_out_of("zipf", "zipf", texts, resampling) == pytest.approx(expected)


def test_a_power_law_has_its_exponent() -> None:
    assert coefficient(np.array([3600, 1800, 1200, 900, 720, 600])) == pytest.approx(1)
    assert coefficient(np.array([900, 3600, 0, 400, 225])) == pytest.approx(2)
    assert coefficient(np.array([7, 7, 7])) == pytest.approx(0)


def test_only_the_most_frequent_tokens_count() -> None:
    common = np.arange(5002, 2, -1)  # 5,000 tokens
    rare = np.ones(3000, dtype=np.int64)
    counts = np.random.default_rng(0).permutation(np.concatenate([common, rare]))
    assert coefficient(counts) == pytest.approx(coefficient(common))
    everything = np.sort(counts)[::-1]
    slope = np.polyfit(np.log(np.arange(1, 8001)), np.log(everything), 1)[0]
    assert coefficient(counts) < -slope - 0.1


def test_not_defined_for_fewer_than_two_tokens() -> None:
    assert math.isnan(value_of("zipf", "zipf", make_texts([[3, 3, 3], [3]])))
    assert math.isnan(value_of("zipf", "zipf", make_texts([[], []])))


def test_blocks_without_which_it_is_not_defined() -> None:
    resampling = Resampling(2, 0)
    found = left_out_of("zipf", "zipf", make_texts([[1, 1, 2], [1]]), resampling)
    own = int(resampling.blocks()[0])
    assert math.isnan(found[own])
    assert found[1 - own] == pytest.approx(1)
