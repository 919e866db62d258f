from __future__ import annotations

import pytest

from harness.scoring.resampling import Resampling
from tests.harness.scoring.statistics.text_sets import left_out_of, make_texts, make_trace, value_of

TOKEN_IDS = [[5, 6, 0], [0], [], [7], [7, 8, 9, 9]]
ENDED = [True, True, False, False, False]


def test_texts_of_a_model() -> None:
    texts = make_texts(TOKEN_IDS, ended=ENDED, traces=[make_trace(ids) for ids in TOKEN_IDS])
    assert value_of("length", "length", texts) == pytest.approx(9 / 5)  # end-of-text tokens count
    assert value_of("length", "ended", texts) == pytest.approx(2 / 5)
    assert value_of("length", "empty", texts) == pytest.approx(2 / 5)  # [0] and []


def test_a_person_may_end_with_one_word() -> None:
    texts = make_texts(TOKEN_IDS, ended=[True] * 5)
    assert value_of("length", "ended", texts) == 1
    assert value_of("length", "empty", texts) == pytest.approx(1 / 5)  # [] alone


def test_blocks_left_out_take_all_texts_of_a_prefix() -> None:
    texts = make_texts([[1] * 2, [1] * 4, [1] * 9], places=[0, 0, 1], prefixes=2)
    resampling = Resampling(2, 0)
    own = int(resampling.blocks()[0])  # the block of the first prefix
    found = left_out_of("length", "length", texts, resampling)
    assert [found[own], found[1 - own]] == [9, 3]
