from __future__ import annotations

import math

import numpy as np
import pytest

from harness.scoring.resampling import Resampling
from harness.scoring.statistics.repetition import ends_in_loop
from tests.harness.scoring.statistics.text_sets import (
    left_out_of,
    make_texts,
    make_trace,
    remaining,
    several_a_prefix,
    value_of,
)


def naive_seq_rep(token_ids: list[list[int]], order: int) -> float:
    shares = []
    for ids in token_ids:
        windows = [tuple(ids[start : start + order]) for start in range(len(ids) - order + 1)]
        if windows:
            shares.append(1 - len(set(windows)) / len(windows))
    return sum(shares) / len(shares) if shares else math.nan


def naive_loop(ids: list[int]) -> bool:
    return any(ids[-3 * size :] == ids[-size:] * 3 for size in range(2, len(ids) // 3 + 1))


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_seq_rep_is_its_definition_also_with_blocks_left_out(order: int, seed: int) -> None:
    texts = several_a_prefix(seed)
    whole = naive_seq_rep([ids.tolist() for ids in texts.token_ids], order)
    assert whole > 0
    assert value_of("repetition", f"seq-rep-{order}", texts) == pytest.approx(whole)
    resampling = Resampling(25, 0, seed)
    expected = [naive_seq_rep(kept, order) for kept in remaining(texts, resampling)]
    found = left_out_of("repetition", f"seq-rep-{order}", texts, resampling)
    assert found == pytest.approx(expected)


def test_texts_too_short_for_an_n_gram_do_not_count() -> None:
    texts = make_texts([[1, 1, 1], [5], [], [1, 2, 3]])
    assert value_of("repetition", "seq-rep-2", texts) == pytest.approx((1 / 2 + 0) / 2)
    assert math.isnan(value_of("repetition", "seq-rep-4", texts))


@pytest.mark.parametrize(
    ("ids", "loops"),
    [
        ([9, 1, 2, 1, 2, 1, 2], True),
        ([9, 1, 2, 1, 2], False),  # twice only
        ([1, 2, 1, 2, 1, 2, 9], False),  # not at the end
        ([2, 1, 2, 1, 2, 1], True),  # a phrase may begin anywhere
        ([7, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4], True),
        ([7, 1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3, 4], False),
        ([4, 4, 4, 4, 4], False),
        ([4, 4, 4, 4, 4, 4], True),  # a run of six is a phrase of two, three times
        ([], False),
        ([1], False),
        ([1, 1, 1], False),
    ],
)
def test_loops(ids: list[int], loops: bool) -> None:
    assert ends_in_loop(np.array(ids, dtype=np.int64)) is loops
    assert naive_loop(ids) is loops


def test_loops_are_those_of_the_definition() -> None:
    random = np.random.default_rng(0)
    found = []
    for _ in range(2000):
        ids = random.integers(2, size=random.integers(20)).tolist()
        found.append(ends_in_loop(np.array(ids, dtype=np.int64)))
        assert found[-1] == naive_loop(ids), ids
    assert 100 < sum(found) < 1900  # both happen often


def test_looping_is_the_share_of_texts_and_looks_past_an_end_token() -> None:
    token_ids = [[1, 2, 1, 2, 1, 2, 0], [1, 2, 1, 2, 1, 2], [3, 4, 5], []]
    ended = [True, False, False, False]
    traces = [make_trace(ids) for ids in token_ids]
    assert value_of("repetition", "looping", make_texts(token_ids, ended=ended, traces=traces)) == 0.5
    assert value_of("repetition", "looping", make_texts(token_ids, ended=ended)) == 0.25
