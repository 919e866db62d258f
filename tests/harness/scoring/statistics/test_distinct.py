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


def naive_distinct(token_ids: list[list[int]], order: int) -> float:
    windows = [
        tuple(ids[start : start + order]) for ids in token_ids for start in range(len(ids) - order + 1)
    ]
    return len(set(windows)) / len(windows) if windows else math.nan


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_is_its_definition_also_with_blocks_left_out(order: int, seed: int) -> None:
    texts = several_a_prefix(seed)
    whole = naive_distinct([ids.tolist() for ids in texts.token_ids], order)
    assert 0 < whole < 1
    assert value_of("distinct", f"distinct-{order}", texts) == pytest.approx(whole)
    resampling = Resampling(25, 0, seed)
    expected = [naive_distinct(kept, order) for kept in remaining(texts, resampling)]
    assert len(set(expected)) > 1
    assert left_out_of("distinct", f"distinct-{order}", texts, resampling) == pytest.approx(expected)


def test_a_block_with_all_the_tokens() -> None:
    texts = make_texts([[1, 2, 1], []])
    resampling = Resampling(2, 0)
    assert value_of("distinct", "distinct-1", texts) == pytest.approx(2 / 3)
    found = left_out_of("distinct", "distinct-1", texts, resampling)
    own = int(resampling.blocks()[0])  # the block of the first text
    assert np.isnan(found[own])
    assert found[1 - own] == pytest.approx(2 / 3)


def test_a_text_written_twice_halves_what_is_distinct() -> None:
    assert value_of("distinct", "distinct-2", make_texts([[1, 2, 3]])) == 1
    assert value_of("distinct", "distinct-2", make_texts([[1, 2, 3], [1, 2, 3]])) == 0.5
