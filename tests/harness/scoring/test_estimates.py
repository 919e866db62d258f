"""Estimates against their definitions, written out."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.scoring.estimates import Source, estimate
from harness.scoring.scores import StoredScore
from tests.harness.report.made_results import stored
from tests.harness.scoring.made_scores import T, ends, means, seeded, students


def test_an_estimate_has_an_interval_for_each_source() -> None:
    scores = seeded(1, count=3)
    found = estimate(scores)
    values = [score.value for score in scores if score.value is not None]
    assert found.value == pytest.approx(sum(values) / 3)
    assert ends(found.interval(Source.KMEANS)) == pytest.approx(students(means(scores, "values")), rel=1e-5)
    assert ends(found.interval(Source.GENERATION)) == pytest.approx(students(values), rel=1e-5)
    reach = 1.96 * statistics.stdev(means(scores, "resampled"))
    assert ends(found.interval(Source.PREFIXES)) == pytest.approx((found.value - reach, found.value + reach))
    assert found.interval(Source.BLOCKS) is None  # resampling says more
    assert found.main is found.interval(Source.PREFIXES)
    assert [interval.count for interval in found.intervals] == [5, 3, 40]


def test_blocks_are_left_out_where_nothing_is_resampled() -> None:
    left_out = (0.6 + 0.01 * np.random.default_rng(2).normal(size=20)).tolist()
    found = estimate([stored("zipf", 0.61, left_out=left_out)])
    mean = sum(left_out) / 20
    error = math.sqrt(19 / 20 * sum((value - mean) ** 2 for value in left_out))
    assert ends(found.main) == pytest.approx((0.61 - T[19] * error, 0.61 + T[19] * error), rel=1e-5)
    assert found.main is not None
    assert (found.main.source, found.main.count) == (Source.BLOCKS, 20)


def test_the_main_interval_is_the_first_there_is() -> None:
    pair = [stored("mauve", 0.8, values=[0.79, 0.81]), stored("mauve", 0.6, values=[0.6, 0.6])]
    found = estimate(pair)
    assert found.main is found.interval(Source.GENERATION)
    only = estimate(pair[:1])
    assert only.main is only.interval(Source.KMEANS)
    assert ends(only.main) == pytest.approx(students([0.79, 0.81]), rel=1e-5)
    assert estimate([stored("length", 3.0)]).main is None
    # Two clusterings that disagree this much tell nothing, but no MAUVE is negative or above one.
    assert ends(estimate([stored("mauve", 0.8, values=[0.7, 0.9])]).main) == (0.0, 1.0)


def test_entries_that_are_not_defined_are_passed_over() -> None:
    resampled = [None, 0.1, 0.2, 0.3]
    found = estimate(
        [stored("looping", 0.2, resampled=resampled), stored("looping", None, resampled=resampled)]
    )
    assert found.value == 0.2
    assert found.main is not None
    assert found.main.count == 3
    assert ends(found.main) == pytest.approx((0.2 - 1.96 * 0.1, 0.2 + 1.96 * 0.1))
    assert math.isnan(estimate([stored("looping", None)]).value)


@pytest.mark.parametrize("scores", [[], [stored("zipf", 1.0), stored("length", 2.0)]])
def test_what_is_no_score_of_several_seeds_is_invalid(scores: list[StoredScore]) -> None:
    with pytest.raises(InvalidInputError, match=r"estimate.*got"):
        estimate(scores)
