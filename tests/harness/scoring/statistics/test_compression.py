from __future__ import annotations

import io
import random
import zlib

import numpy as np
import pytest

from harness.scoring.resampling import Resampling
from harness.scoring.statistics import get_statistic
from tests.harness.scoring.statistics.text_sets import left_out_of, make_texts, value_of

WORDS = ["the", "rain", "in", "Spain", "stays", "mainly", "é", "on", "plains"]


def naive(texts: list[str]) -> float:
    """Bytes of the texts, joined by spaces, over the bytes of a gzip file of them: 18 beside the data."""
    data = " ".join(texts).encode()
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = io.BytesIO(packer.compress(data) + packer.flush())
    return len(data) / (len(packed.getvalue()) + 18)


def drawn(count: int) -> list[str]:
    choose = random.Random(0)
    return [" ".join(choose.choices(WORDS, k=choose.randrange(30))) for _ in range(count)]


def test_by_definition() -> None:
    strings = drawn(60)
    places = [text % 25 for text in range(60)]
    texts = make_texts([[1]] * 60, places=places, prefixes=25, strings=strings)
    resampling = Resampling(25, 0)
    assert value_of("compression", "compression-ratio", texts) == pytest.approx(naive(strings))
    blocks = resampling.blocks()
    expected = [
        naive([text for text, place in zip(strings, places, strict=True) if blocks[place] != block])
        for block in range(20)
    ]
    found = left_out_of("compression", "compression-ratio", texts, resampling)
    np.testing.assert_allclose(found, expected)


def test_copies_compress_better() -> None:
    different, same = (make_texts([[1]] * 40, strings=texts) for texts in (drawn(40), drawn(1) * 40))
    ratios = [value_of("compression", "compression-ratio", texts) for texts in (different, same)]
    assert ratios[1] > 3 * ratios[0]


def test_texts_that_are_not_at_hand_have_no_ratio() -> None:
    assert get_statistic("compression")(make_texts([[1]]), Resampling(1, 0)) == []
