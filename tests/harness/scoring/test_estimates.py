"""Estimates and differences against their definitions, written out."""

from __future__ import annotations

import math
import statistics
from math import comb

import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.scoring.estimates import Difference, Estimate, Interval, Source, difference, estimate, words
from harness.scoring.scores import StoredScore
from tests.harness.report.made_results import stored

# 97.5% quantiles of Student's t with 1, 2, 4 and 19 degrees of freedom, from a printed table.
T = {1: 12.7062, 2: 4.30265, 4: 2.77645, 19: 2.09302}


def seeded(seed: int, name: str = "mauve", count: int = 1, offset: float = 0.0) -> list[StoredScore]:
    """A score for each of several generation seeds, with all kinds of detail."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        values = 0.8 + offset + 0.02 * random.normal(size=5)
        middle = float(values.mean())
        made.append(
            stored(
                name,
                middle,
                f"s{number}",
                resampled=(middle - 0.05 + 0.03 * random.normal(size=40)).tolist(),
                left_out=(middle + 0.005 * random.normal(size=20)).tolist(),
                values=values.tolist(),
            )
        )
    return made


def means(scores: list[StoredScore], key: str) -> list[float]:
    """The mean over seeds of each entry."""
    lists = [score.detail[key] for score in scores if score.detail is not None]
    return [sum(entries) / len(entries) for entries in zip(*lists, strict=True)]


def students(values: list[float]) -> tuple[float, float]:
    reach = T[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values) - reach, statistics.mean(values) + reach


def ends(found: Interval | None) -> tuple[float, float]:
    assert found is not None
    return found.low, found.high


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
    assert difference(one, other) == Difference(1.0)
    shorter = [stored("length", 1.0, resampled=resampled[:2])]
    assert difference(one, shorter).main is None


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
    assert said.endswith("the first is higher on 0 of 0 blocks, p = 1)")
