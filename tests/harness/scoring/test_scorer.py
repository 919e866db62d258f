"""Scores of one set of texts, from several statistics."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.scoring.resampling import Resampling
from harness.scoring.scorer import score_texts
from harness.scoring.statistic import Ratio, Statistic
from harness.scoring.texts import TextSet
from tests.harness.scoring.statistics.text_sets import make_texts


def my_length(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    return [Ratio("length", np.zeros(len(texts)), np.ones(len(texts)))]


def test_a_statistic_may_be_named_by_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "my_statistics", sys.modules[__name__])
    texts, resampling = make_texts([[1, 2], [3]]), Resampling(2, 0)
    [score] = score_texts(texts, ["my_statistics:my_length"], resampling)
    assert (score.name, score.value) == ("length", 0.0)
    with pytest.raises(InvalidInputError, match="must have different names; got 'length' twice"):
        score_texts(texts, ["length", "my_statistics:my_length"], resampling)
    with pytest.raises(InvalidInputError, match="statistic must be one of perplexity"):
        score_texts(texts, ["lenght"], resampling)
