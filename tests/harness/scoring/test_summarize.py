from __future__ import annotations

import json
import math
import statistics

import numpy as np
import pytest
from scipy.special import polygamma

from bat.errors import InvalidInputError
from harness.jobs import canonical_json
from harness.scoring.mauve_score import ClusterScore
from harness.scoring.resampling import STEP, FloatArray, Resampling
from harness.scoring.scores import ScoreEntry
from harness.scoring.statistic import Ratio, Whole
from harness.scoring.summarize import (
    cluster_entry,
    interval_from_blocks,
    interval_from_resamples,
    interval_from_reweighting,
    interval_from_symmetric_reweighting,
    rounded,
    summarize,
)
from tests.harness.scoring.statistics.text_sets import make_texts

PLACES = [0, 0, 1, 2, 3, 3, 3, 5]  # no text of prefix 4
TEXTS = make_texts([[1]] * len(PLACES), places=PLACES, prefixes=6)
NUMERATORS = np.array([1.0, 2.5, 0.5, 4, 1, 0, 3, 2])
DENOMINATORS = np.array([1.0, 3, 1, 5, 2, 1, 3, 4])
RATIO = Ratio("ratio", NUMERATORS, DENOMINATORS)


def only(entries: list[ScoreEntry]) -> ScoreEntry:
    (entry,) = entries
    return entry


def naive_ratio(weights: FloatArray) -> float:
    above = sum(weights[place] * number for place, number in zip(PLACES, NUMERATORS, strict=True))
    below = sum(weights[place] * number for place, number in zip(PLACES, DENOMINATORS, strict=True))
    return float(above / below)


def test_a_ratio_under_every_resampling() -> None:
    resampling = Resampling(6, 250, seed=3)
    entry = only(summarize([RATIO], TEXTS, resampling))
    assert entry.name == "ratio"
    assert entry.value == pytest.approx(14 / 20)
    drawn = [naive_ratio(weights) for chunk in resampling.draws() for weights in chunk]
    assert len(drawn) == 250
    assert entry.detail["source"] == "resampled prefixes"
    assert entry.detail["resampled"] == pytest.approx(drawn, rel=1e-6)
    assert entry.detail["left_out"] == pytest.approx(
        [naive_ratio(weights) for weights in resampling.left_out()], rel=1e-6
    )
    spread = math.sqrt(sum((x - np.mean(drawn)) ** 2 for x in drawn) / 249)
    assert (entry.low, entry.high) == pytest.approx((0.7 - 1.96 * spread, 0.7 + 1.96 * spread))


def test_a_transform_comes_last() -> None:
    entry = only(summarize([Ratio("exp", NUMERATORS, DENOMINATORS, np.exp)], TEXTS, Resampling(6, 10)))
    plain = only(summarize([RATIO], TEXTS, Resampling(6, 10)))
    assert entry.value == pytest.approx(math.exp(0.7))
    assert entry.detail["resampled"] == pytest.approx(np.exp(plain.detail["resampled"]), rel=1e-6)
    assert entry.detail["left_out"] == pytest.approx(np.exp(plain.detail["left_out"]), rel=1e-6)


def test_without_resamplings_a_ratio_has_its_interval_from_blocks() -> None:
    entry = only(summarize([RATIO], TEXTS, Resampling(6, 0)))
    assert entry.detail["source"] == "blocks of prefixes left out"
    assert "resampled" not in entry.detail
    assert len(entry.detail["left_out"]) == 6
    assert (entry.low, entry.high) == pytest.approx(
        interval_from_blocks(0.7, entry.detail["left_out"]), rel=1e-6
    )


def test_a_whole() -> None:
    left_out = np.array([0.4, 0.5, 0.45, 0.6, 0.5, 0.5])
    entry = only(summarize([Whole("whole", 0.5, left_out)], TEXTS, Resampling(6, 100)))
    assert (entry.name, entry.value) == ("whole", 0.5)
    assert entry.detail == {"source": "blocks of prefixes left out", "left_out": left_out.tolist()}
    assert (entry.low, entry.high) == interval_from_blocks(0.5, left_out)


def test_entries_keep_the_order_of_statistics() -> None:
    other = Ratio("other", DENOMINATORS, NUMERATORS)
    whole = Whole("whole", 1.0, np.ones(6))
    entries = summarize(iter([RATIO, whole, other]), TEXTS, Resampling(6, 30))
    assert [entry.name for entry in entries] == ["ratio", "whole", "other"]
    alone = [only(summarize([one], TEXTS, Resampling(6, 30))) for one in (RATIO, whole, other)]
    assert entries == alone


def test_resamplings_without_a_value_are_passed_over() -> None:
    few = np.zeros(len(PLACES))
    few[2] = 1.0  # prefix 1 alone, which a third of the resamplings leaves out
    entry = only(summarize([Ratio("few", 3 * few, few)], TEXTS, Resampling(6, 200)))
    # The one that is left says nothing of how much others would differ.
    assert (entry.value, entry.low, entry.high) == (3, None, None)
    assert set(entry.detail["resampled"]) == {None, 3}
    assert entry.detail["left_out"].count(None) == 1


def test_a_ratio_over_nothing_is_not_defined() -> None:
    nothing = np.zeros(len(PLACES))
    entry = only(summarize([Ratio("nothing", nothing, nothing)], TEXTS, Resampling(6, 5)))
    assert (entry.value, entry.low, entry.high) == (None, None, None)
    assert entry.detail["resampled"] == [None] * 5
    assert entry.detail["left_out"] == [None] * 6


def test_infinite_values_are_not_stored() -> None:
    infinite = Ratio("infinite", np.ones(len(PLACES)), np.zeros(len(PLACES)))
    entry = only(summarize([infinite], TEXTS, Resampling(6, 5)))
    assert (entry.value, entry.low, entry.high) == (None, None, None)
    assert json.loads(canonical_json(entry.detail))["resampled"] == [None] * 5


def test_one_prefix_says_nothing_about_others() -> None:
    texts = make_texts([[1], [1, 1]], places=[0, 0], prefixes=1)
    ratio = Ratio("length", np.array([1.0, 2.0]), np.ones(2))
    entry = only(summarize([ratio], texts, Resampling(1, 50)))
    assert (entry.value, entry.low, entry.high) == (1.5, None, None)
    assert "resampled" not in entry.detail


def test_a_resampling_of_other_prefixes_is_invalid() -> None:
    with pytest.raises(InvalidInputError, match="as many prefixes as the texts, 6; got one of 7"):
        summarize([RATIO], TEXTS, Resampling(7, 10))


def test_the_same_statistics_give_the_same_bytes() -> None:
    first, again = (
        canonical_json([entry.detail for entry in summarize([RATIO], TEXTS, Resampling(6, 150, seed))])
        for seed in (1, 1)
    )
    other = canonical_json([entry.detail for entry in summarize([RATIO], TEXTS, Resampling(6, 150, 2))])
    assert first == again
    assert first != other


def test_interval_from_resamples() -> None:
    # 1, 2, 3, 4 have a sample variance of 5/3.
    half = 1.96 * math.sqrt(5 / 3)
    assert interval_from_resamples(10.0, [1, None, 2, 3, math.nan, 4]) == pytest.approx(
        (10 - half, 10 + half)
    )
    assert interval_from_resamples(10.0, np.array([1.0, 1.0])) == (10, 10)


@pytest.mark.parametrize("resampled", [[], [1.0], [1.0, math.nan], [None, None]])
def test_fewer_than_two_resamplings_make_no_interval(resampled: list[float | None]) -> None:
    assert interval_from_resamples(1.0, resampled) == (None, None)


def test_interval_from_blocks() -> None:
    # Deviations -1, 0, 1 of three blocks: se = sqrt(2/3 * 2); 4.302653 is Student's t for two degrees.
    half = 4.302653 * math.sqrt(4 / 3)
    assert interval_from_blocks(7.0, [4, 5, 6]) == pytest.approx((7 - half, 7 + half))


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=20)
    left_out = [(values.sum() - value) / 19 for value in values]
    low, high = interval_from_blocks(values.mean(), left_out)
    assert low is not None
    assert high is not None
    assert (high - low) / 2 == pytest.approx(2.093024 * values.std(ddof=1) / math.sqrt(20))


@pytest.mark.parametrize("left_out", [[], [1.0], [1.0, 2.0, math.nan], [1.0, 2.0, None]])
def test_a_block_without_which_nothing_is_defined_leaves_no_interval(left_out: list[float | None]) -> None:
    assert interval_from_blocks(1.0, left_out) == (None, None)


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_not_defined_has_no_interval(value: float | None) -> None:
    assert interval_from_resamples(value, [1.0, 2.0, 3.0]) == (None, None)
    assert interval_from_blocks(value, [1.0, 2.0, 3.0]) == (None, None)


def test_seven_digits() -> None:
    values = [1 / 3, 123456789.0, -1.23456789e-12, 0.0, math.nan, math.inf]
    assert rounded(values) == [0.3333333, 123456800.0, -1.234568e-12, 0.0, None, None]
    assert rounded(np.array([2.0])) == [2.0]
    assert rounded([]) == []


def weights_of(resampling: Resampling, *, symmetric: bool = False) -> list[FloatArray]:
    pairs = resampling.reweightings(symmetric=symmetric)
    return [np.concatenate(side) for side in zip(*pairs, strict=True)]


@pytest.mark.parametrize("slope", [0.0, 3.0])
def test_reweighting_finds_the_variance_with_and_without_a_slope(slope: float) -> None:
    # A score of the means of 50 normal coordinates: a slope times the first, plus the sum of their squares.
    # Its variance is known. Without a slope, the first-order variance is twice too large on average. The
    # standard error of the mean of 40 estimates, which share their weights, is at most 0.07.
    count, coordinates = 1000, 50
    random = np.random.default_rng(0)
    weights = weights_of(Resampling(count))
    variance = slope**2 / count + coordinates * 2 / count**2
    estimates, first_order = [], []
    for _ in range(40):
        numbers = random.normal(size=(count, coordinates))
        means = [side @ numbers / count for side in weights]
        up, down = (slope * mean[:, 0] + (mean**2).sum(axis=1) for mean in means)
        low, high = interval_from_reweighting(0.0, up, down)
        assert low is not None
        assert high is not None
        estimates.append(((high - low) / 2 / 1.96) ** 2 / variance)
        first_order.append(np.var((up - down) / (2 * STEP)) / variance)
    assert np.mean(estimates) == pytest.approx(1.0 if slope else 1.2, abs=0.25)
    assert np.mean(first_order) == pytest.approx(1.0 if slope else 2.0, abs=0.25)


def test_skewed_weights_find_what_skewed_numbers_add_to_the_variance() -> None:
    # The logarithm of the mean of 20 exponential numbers has variance psi'(20). The mean of 2,000 estimates
    # has a standard error of 0.012 times that, or less.
    numbers = np.random.default_rng(0).exponential(size=(20, 2000))
    share = {}
    for interval_from, symmetric in (
        (interval_from_reweighting, False),
        (interval_from_symmetric_reweighting, True),
    ):
        weights = weights_of(Resampling(20), symmetric=symmetric)
        up, down = (np.log(side @ numbers / side.sum(axis=1, keepdims=True)) for side in weights)
        ends = np.array([interval_from(0.0, *pair) for pair in zip(up.T, down.T, strict=True)])
        share[symmetric] = np.mean((np.diff(ends) / (2 * 1.96)) ** 2) / polygamma(1, 20)
    assert share[True] == pytest.approx(0.88, abs=0.05)
    assert share[False] == pytest.approx(1, abs=0.05)


def test_a_score_that_varies_less_near_its_best_value_has_an_interval_away_from_it() -> None:
    # Minus the square of the mean of 50 normal numbers around 0.7. Around the values, 8% of the intervals
    # would be too high, and 1% too low. Of 1,000 intervals, shares have a standard error of up to 0.9 points.
    numbers = np.random.default_rng(0).normal(0.7, 1, size=(50, 1000))
    up, down = (
        -np.square(side @ numbers / side.sum(axis=1, keepdims=True)) for side in weights_of(Resampling(50))
    )
    values = -np.square(numbers.mean(axis=0))
    mean = -(0.49 + 1 / 50)
    ends = np.array([interval_from_reweighting(*each) for each in zip(values, up.T, down.T, strict=True)])
    assert (ends[:, 0] <= values).all()
    assert (values <= ends[:, 1]).all()
    half_widths = np.diff(ends)[:, 0] / 2
    assert np.mean(values - half_widths > mean) > 0.065
    assert np.mean(ends[:, 0] > mean) < 0.06
    assert np.mean(ends[:, 1] < mean) < 0.04


def test_symmetric_weights_keep_the_rule_of_their_version() -> None:
    random = np.random.default_rng(1)
    signs = random.normal(size=100)
    raised, lowered = (0.5 + 0.01 * way * signs + random.normal(0, 0.0005, 100) for way in (1, -1))
    first = statistics.variance((raised - lowered) / (2 * STEP))
    second = statistics.variance((raised + lowered) / (2 * STEP**2))
    assert 0.01 < second / first < 0.5
    half_width = 1.96 * math.sqrt(first - 2 * second**2 / first)
    found = interval_from_symmetric_reweighting(0.5, raised, lowered)
    assert found == pytest.approx((0.5 - half_width, 0.5 + half_width), abs=1e-12)


@pytest.mark.parametrize("pairs", [([], []), ([1.0], [2.0]), ([1.0, math.nan], [2.0, 3.0])])
def test_fewer_than_two_pairs_of_weights_make_no_interval(
    pairs: tuple[list[float], list[float]],
) -> None:
    for interval_from in (interval_from_reweighting, interval_from_symmetric_reweighting):
        assert interval_from(1.0, *pairs) == (None, None)
        assert interval_from(None, [1.0, 2.0], [2.0, 1.0]) == (None, None)


def test_scores_of_clusters() -> None:
    random = np.random.default_rng(0)
    weighed, opposite = random.normal(0.85, 0.01, (2, 40))
    left_out = random.normal(0.85, 0.001, 20)
    behind = {"left_out": left_out, "weighed": weighed, "opposite": opposite}
    entry = cluster_entry([25, 26, 27], ClusterScore("mauve", (0.9, 0.8, 0.85), behind))
    assert entry.name == "mauve"
    assert entry.value == pytest.approx(0.85)
    low, high = interval_from_reweighting(0.85, weighed, opposite)
    assert high is not None
    assert high > 1
    assert (entry.low, entry.high) == (pytest.approx(low), 1)  # MAUVE is at most 1
    assert set(entry.detail) == {"source", "kmeans_seeds", "values", "weighed", "opposite", "left_out"}
    assert entry.detail["source"] == "reweighted prefixes"
    assert entry.detail["kmeans_seeds"] == [25, 26, 27]
    assert entry.detail["values"] == [0.9, 0.8, 0.85]
    assert entry.detail["weighed"] == rounded(weighed)
    assert entry.detail["left_out"] == rounded(left_out)


def test_scores_of_clusters_from_older_jobs() -> None:
    random = np.random.default_rng(0)
    left_out, resampled = random.normal(0.5, 0.001, 20), random.normal(0.5, 0.01, 40)
    raised, lowered = 0.5 + 0.01 * random.normal(size=40) * [[1], [-1]] + random.normal(0, 0.001, (2, 40))
    oldest = cluster_entry(
        [25], ClusterScore("mauve", (0.5,), {"left_out": left_out, "resampled": resampled})
    )
    assert (oldest.low, oldest.high) == pytest.approx(interval_from_resamples(0.5, resampled))
    assert list(oldest.detail) == ["source", "kmeans_seeds", "values", "left_out", "resampled"]
    assert oldest.detail["source"] == "resampled prefixes"
    older = cluster_entry([25], ClusterScore("mauve", (0.5,), {"raised": raised, "lowered": lowered}))
    assert (older.low, older.high) == pytest.approx(interval_from_symmetric_reweighting(0.5, raised, lowered))
    assert older.detail["source"] == "reweighted prefixes"


def test_scores_of_clusters_without_resamplings() -> None:
    left_out = np.array([0.4, 0.5, 0.6])
    entry = cluster_entry((25,), ClusterScore("kl-human", (0.5,), {"left_out": left_out}))
    assert (entry.low, entry.high) == interval_from_blocks(0.5, left_out)
    assert entry.detail["source"] == "blocks of prefixes left out"


@pytest.mark.parametrize("seeds", [[], [25], [25, 26, 27]])
def test_scores_of_clusters_need_a_value_for_each_seed(seeds: list[int]) -> None:
    with pytest.raises(InvalidInputError, match="one value for each k-means seed"):
        cluster_entry(seeds, ClusterScore("mauve", (0.5, 0.6), {}))
