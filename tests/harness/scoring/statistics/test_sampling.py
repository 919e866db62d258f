from __future__ import annotations

import math

import numpy as np
import pytest

from bat.acceptance import Acceptance
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio
from harness.scoring.statistics import get_statistic
from harness.scoring.texts import TextSet
from tests.harness.scoring.statistics.text_sets import find, make_texts, make_trace, value_of

COLUMNS = ("acceptance", "rejections", "undecided", "programs", "pivots", "passes")


def traced(seed: int = 0, count: int = 12) -> TextSet:
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 9, size=count)
    lengths[3] = 0
    traces = [
        make_trace([1] * length, **{name: random.integers(4, size=length).tolist() for name in COLUMNS})
        for length in lengths.tolist()
    ]
    return make_texts([[1] * length for length in lengths.tolist()], traces=traces)


def column(texts: TextSet, name: str) -> list[int]:
    assert texts.traces is not None
    return [value for trace in texts.traces for value in getattr(trace, name).tolist()]


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("accepted-threshold", Acceptance.THRESHOLD),
        ("accepted-certificate", Acceptance.CERTIFIED),
        ("accepted-greedy-fallback", Acceptance.GREEDY_FALLBACK),
        ("accepted-exact-fallback", Acceptance.EXACT_FALLBACK),
    ],
)
def test_ways_of_acceptance_are_shares_of_tokens(name: str, way: Acceptance) -> None:
    texts = traced()
    ways = column(texts, "acceptance")
    assert value_of("sampling", name, texts) == pytest.approx(ways.count(way) / len(ways))


def test_every_token_was_accepted_in_one_way() -> None:
    texts = traced(1)
    statistics = get_statistic("sampling")(texts, Resampling(texts.prefixes, 0))
    ways = [found.name for found in statistics if found.name.startswith("accepted-")]
    assert len(ways) == len(Acceptance)
    assert sum(value_of("sampling", name, texts) for name in ways) == pytest.approx(1)


@pytest.mark.parametrize("name", ["rejections", "undecided", "programs"])
def test_counts_a_token(name: str) -> None:
    texts = traced()
    counts = column(texts, name)
    assert value_of("sampling", name, texts) == pytest.approx(sum(counts) / len(counts))


@pytest.mark.parametrize("name", ["pivots", "passes"])
def test_counts_a_program(name: str) -> None:
    texts = traced()
    expected = sum(column(texts, name)) / sum(column(texts, "programs"))
    assert value_of("sampling", name, texts) == pytest.approx(expected)


def test_resampled_by_prefix_not_by_text() -> None:
    texts = traced()
    assert texts.traces is not None
    statistic = find("sampling", "programs", texts)
    assert isinstance(statistic, Ratio)
    weights = np.zeros((1, texts.prefixes))
    weights[0, [0, 5]] = [2, 1]
    first, other = texts.traces[0], texts.traces[5]
    expected = (2 * first.programs.sum() + other.programs.sum()) / (2 * len(first) + len(other))
    assert statistic.at(weights, texts.prefix_index) == pytest.approx(expected)


def test_plain_rules_solve_no_programs() -> None:
    texts = make_texts([[1, 2]], traces=[make_trace([1, 2], rejections=[1, 0])])
    assert value_of("sampling", "accepted-threshold", texts) == 1
    assert value_of("sampling", "rejections", texts) == 0.5
    assert value_of("sampling", "programs", texts) == 0
    assert math.isnan(value_of("sampling", "pivots", texts))


def test_people_do_not_sample() -> None:
    assert get_statistic("sampling")(make_texts([[1, 2]]), Resampling(1, 0)) == []
