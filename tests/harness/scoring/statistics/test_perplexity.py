from __future__ import annotations

import math

import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio
from tests.harness.scoring.statistics.text_sets import find, left_out_of, make_texts, value_of


def test_is_exp_of_the_mean_negative_log_likelihood_a_token() -> None:
    probs = [0.5, 0.25, 0.1, 0.9, 0.03]
    texts = make_texts([[1, 2], [3], [], [4, 5]], likelihood=([0, 0, 1, 3, 3], [math.log(p) for p in probs]))
    assert value_of("perplexity", "perplexity", texts) == pytest.approx(math.prod(probs) ** (-1 / 5))


def test_a_uniform_model_has_the_perplexity_of_its_vocabulary() -> None:
    texts = make_texts([[1, 2, 3]] * 4, likelihood=([0, 0, 2, 3], [math.log(1 / 50)] * 4))
    assert value_of("perplexity", "perplexity", texts) == pytest.approx(50)


def test_tokens_in_any_order_and_prefixes_by_their_weight() -> None:
    random = np.random.default_rng(0)
    rows = random.integers(9, size=40)
    logs = np.log(random.uniform(0.01, 1, size=40))
    places = [0, 0, 1, 2, 2, 2, 3, 5, 5]
    texts = make_texts([[1]] * 9, places=places, prefixes=6, likelihood=(rows.tolist(), logs.tolist()))
    weights = random.integers(4, size=6)
    statistic = find("perplexity", "perplexity", texts)
    assert isinstance(statistic, Ratio)
    drawn = [log for row, log in zip(rows, logs, strict=True) for _ in range(weights[places[row]])]
    assert statistic.at(weights[None].astype(float), texts.prefix_index) == pytest.approx(
        math.exp(-np.mean(drawn))
    )


def test_blocks_left_out() -> None:
    texts = make_texts([[1], [1]], likelihood=([0, 1, 1], [math.log(p) for p in (0.5, 0.2, 0.2)]))
    resampling = Resampling(2, 0)
    expected = {0: 5.0, 1: 2.0}  # by the text that is left out
    found = left_out_of("perplexity", "perplexity", texts, resampling)
    assert found == pytest.approx([expected[int(text)] for text in np.argsort(resampling.blocks())])


def test_not_defined_without_measured_tokens() -> None:
    assert math.isnan(value_of("perplexity", "perplexity", make_texts([[1, 2], [3]])))


@pytest.mark.parametrize("bad", [-math.inf, math.nan])
def test_tokens_without_a_probability_are_invalid(bad: float) -> None:
    texts = make_texts([[1, 2], [3]], likelihood=([0, 0, 1], [bad, -1.0, bad]))
    with pytest.raises(InvalidInputError, match="got 2 of 3 tokens without one"):
        value_of("perplexity", "perplexity", texts)
