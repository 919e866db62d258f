"""Differences against their definitions, written out."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from math import comb

import numpy as np
import pytest

from harness.scoring.differences import Difference, difference, words
from harness.scoring.estimates import Estimate, Interval, Source, estimate
from tests.harness.report.made_results import stored
from tests.harness.scoring.made_scores import ends, means, seeded, students


def test_a_difference_is_paired() -> None:
    first, second = seeded(3, count=3, offset=0.05), seeded(4, count=3)
    found = difference(first, second)
    by_seed = [one.value - two.value for one, two in zip(first, second, strict=True)]
    assert found.value == pytest.approx(sum(by_seed) / 3)
    assert ends(found.interval(Source.GENERATION)) == pytest.approx(students(by_seed), rel=1e-5)
    for source, key in ((Source.KMEANS, "values"), (Source.PREFIXES, "resampled")):
        pairs = [one - two for one, two in zip(means(first, key), means(second, key), strict=True)]
        reach = 1.96 * statistics.stdev(pairs)
        wanted = students(pairs) if key == "values" else (found.value - reach, found.value + reach)
        assert ends(found.interval(source)) == pytest.approx(wanted, rel=1e-5)


def test_what_both_sides_share_cancels() -> None:
    shared = np.random.default_rng(5).normal(size=30)
    first = [stored("perplexity", 20.0, resampled=(20 + shared).tolist())]
    second = [stored("perplexity", 19.0, resampled=(19 + shared).tolist())]
    found = difference(first, second)
    assert ends(found.main) == pytest.approx((1.0, 1.0))
    assert estimate(first).main is not None
    assert ends(estimate(first).main)[1] > 20.5


def test_the_sign_test_is_over_what_each_block_adds() -> None:
    """For a mean over equal blocks the pseudo-values are the blocks' own means."""
    random = np.random.default_rng(6)
    blocks = random.normal(loc=0.3, size=20)
    blocks[3] = 0.0  # a tie, which does not count
    left_out = [(blocks.sum() - block) / 19 for block in blocks]
    first = [stored("length", 5 + blocks.mean(), left_out=[5 + value for value in left_out])]
    second = [stored("length", 5.0, left_out=[5.0] * 20)]
    test = difference(first, second).sign_test
    assert test is not None
    better, worse = int(np.sum(blocks > 0)), int(np.sum(blocks < 0))
    assert (test.better, test.worse) == (better, worse)
    assert better + worse == 19
    tail = sum(comb(19, k) for k in range(20) if comb(19, k) <= comb(19, better)) / 2**19
    assert test.p_value == pytest.approx(tail)
    same = difference(second, second).sign_test
    assert same is not None
    assert (same.better, same.worse, same.p_value) == (0, 0, 1.0)


def test_without_blocks_there_is_no_sign_test() -> None:
    assert difference([stored("length", 5.0)], [stored("length", 4.0)]).sign_test is None
    gap = [stored("length", 5.0, left_out=[5.0, None, 5.1])]
    assert difference(gap, gap).sign_test is None


def test_other_resamplings_are_not_paired() -> None:
    resampled = [1.0, 2.0, 3.0]
    one = [stored("length", 2.0, resampled=resampled, left_out=resampled)]
    other = [stored("length", 1.0, resampled=resampled, left_out=resampled, resampling=(50, 1))]
    found = difference(one, other)
    assert (found.value, found.paired, found.sign_test) == (1.0, False, None)
    reach = 1.96 * math.hypot(1.0, 1.0)  # both sides have a standard deviation of 1
    assert ends(found.main) == pytest.approx((1 - reach, 1 + reach))
    shorter = [stored("length", 1.0, resampled=resampled[:2])]
    assert difference(one, shorter).main is None


def test_scores_of_two_versions_are_compared_by_blocks() -> None:
    """Their weights differ, although the numbers and seeds of the resamplings are the same."""
    numbers = np.random.default_rng(9).normal(0.8, 0.01, size=(2, 20)).tolist()
    today, before = (
        [replace(score, detail={**(score.detail or {}), **dict(zip(keys, numbers, strict=True))})]
        for score, keys in zip(
            (stored("mauve", 0.8, left_out=numbers[0]), stored("mauve", 0.7, left_out=numbers[1])),
            (("weighed", "opposite"), ("raised", "lowered")),
            strict=True,
        )
    )
    for one in (today, before):
        assert difference(one, one).interval(Source.REWEIGHTED) is not None
    found = difference(today, before)
    assert found.paired
    assert found.main is not None
    assert found.main.source is Source.BLOCKS


def test_seeds_are_paired_only_where_there_are_as_many() -> None:
    found = difference(seeded(7, count=3), seeded(8, count=1))
    assert found.interval(Source.GENERATION) is None
    assert found.interval(Source.PREFIXES) is not None
    hole = [stored("length", None), stored("length", 4.0)]
    full = [stored("length", 100.0), stored("length", 1.0)]
    assert difference(hole, full).value == 3.0  # the seed that one side lacks is left out of both


def test_scaling_keeps_everything_else() -> None:
    found = difference(seeded(9, count=2), seeded(10, count=2))
    scaled = found.scaled(100)
    assert scaled.value == pytest.approx(100 * found.value)
    assert ends(scaled.main) == pytest.approx(tuple(100 * end for end in ends(found.main)))
    assert scaled.sign_test == found.sign_test
    assert isinstance(scaled, Difference)
    assert Estimate(2.0).scaled(0.5) == Estimate(1.0)


def test_words_say_what_is_shown_and_what_is_not() -> None:
    wide = Difference(0.6, (Interval(Source.PREFIXES, -1.9, 3.1, 1000),))
    said = words(wide, first="ba-eta", second="eta", unit="points", show="{:.1f}".format)
    assert said == (
        "ba-eta and eta: no difference shown (+0.6 points, 95% interval -1.9 to 3.1 over resampled prefixes)"
    )
    lower = Difference(-2.0, (Interval(Source.BLOCKS, -3.0, -1.0, 20),))
    assert words(lower, first="ba-eta", second="eta") == (
        "eta is higher than ba-eta by 2 (95% interval 1 to 3 over blocks of prefixes left out)"
    )
    assert "nothing can be said about +1," in words(Difference(1.0), first="a", second="b")
    assert "not defined" in words(Difference(math.nan), first="a", second="b")


def test_words_have_the_sign_test() -> None:
    found = difference(seeded(11), seeded(11))
    assert found.value == 0
    said = words(found, first="a", second="b")
    assert said.startswith("a and b: no difference shown (0, 95% interval 0 to 0")
    assert said.endswith("the two are equal on each of 20 blocks of prefixes)")


def test_texts_of_different_prefixes_are_not_paired_and_the_words_say_so() -> None:
    first, second = seeded(12, count=2, offset=0.05), seeded(13, count=3)
    found = difference(first, second, paired=False)
    assert not found.paired
    assert found.sign_test is None
    for source in (Source.PREFIXES, Source.GENERATION, Source.KMEANS):
        sides = [estimate(side).interval(source) for side in (first, second)]
        reach = math.hypot(*(side.half_width for side in sides if side is not None))
        low, high = ends(found.interval(source))
        # The intervals of the sides may be cut at 0 and 1, so their widths are at most those added up.
        assert (high - low) / 2 >= reach - 1e-12
        assert (high + low) / 2 == pytest.approx(found.value)
    still = [stored("looping", 0.0, resampled=[0.0] * 9)]
    assert difference(still, still, paired=False).main is None  # not varying here says nothing about others
    assert "over resampled prefixes, not paired" in words(found, first="a", second="b")
    assert difference(second, first, paired=False).reversed() == found


def test_a_difference_of_shares_stays_between_minus_one_and_one() -> None:
    scattered = [0.0, 1.0] * 10
    low = [stored("mauve", 0.01, resampled=scattered)]
    high = [stored("mauve", 0.99, resampled=scattered[::-1])]
    for paired in (True, False):
        assert ends(difference(low, high, paired=paired).main)[0] == -1.0
        assert ends(difference(high, low, paired=paired).main)[1] == 1.0
    counts = [stored("length", 1.0, resampled=scattered)], [stored("length", 9.0, resampled=scattered[::-1])]
    assert ends(difference(*counts).main)[0] < -9.0  # a length may differ by more
