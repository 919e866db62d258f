from __future__ import annotations

import numpy as np
import pytest

from harness.scoring.statistics.ngrams import ngrams, without_end
from tests.harness.scoring.statistics.text_sets import make_texts, make_trace, random_token_ids


@pytest.mark.parametrize("seed", range(5))
def test_ids_are_equal_exactly_where_windows_are(seed: int) -> None:
    token_ids = random_token_ids(seed, 12, vocabulary=3)
    for order, grams in enumerate(ngrams([np.array(ids, dtype=np.int64) for ids in token_ids]), start=1):
        windows = [
            (text, tuple(ids[start : start + order]))
            for text, ids in enumerate(token_ids)
            for start in range(len(ids) - order + 1)
        ]
        assert grams.order == order
        assert grams.texts.tolist() == [text for text, _ in windows]
        pairs = set(zip(grams.ids.tolist(), [window for _, window in windows], strict=True))
        distinct = {window for _, window in windows}
        assert len(pairs) == len(distinct) == grams.distinct
        assert {number for number, _ in pairs} == set(range(grams.distinct))


def test_windows_stay_within_a_text() -> None:
    bigrams = list(ngrams([np.array([1]), np.array([2]), np.array([], dtype=np.int64), np.array([1, 2])], 2))[
        1
    ]
    assert bigrams.texts.tolist() == [3]
    assert bigrams.distinct == 1


def test_ids_stay_apart_for_large_vocabularies() -> None:
    random = np.random.default_rng(0)
    tokens = random.integers(2**31 - 1, size=5000)
    assert [grams.distinct for grams in ngrams([tokens])] == [5000, 4999, 4998, 4997]


def test_no_texts() -> None:
    assert [(len(grams.ids), grams.distinct) for grams in ngrams([])] == [(0, 0)] * 4


def test_only_texts_of_a_model_close_with_an_end_token() -> None:
    token_ids = [[5, 6, 0], [5, 6, 7], [0]]
    ended = [True, False, True]
    written = make_texts(token_ids, ended=ended, traces=[make_trace(ids) for ids in token_ids])
    human = make_texts(token_ids, ended=ended)
    assert [ids.tolist() for ids in without_end(written)] == [[5, 6], [5, 6, 7], []]
    assert [ids.tolist() for ids in without_end(human)] == token_ids
