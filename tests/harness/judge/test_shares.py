"""Intervals and tests on simulated judges whose preference is known. Seeds are fixed, so nothing is luck."""

from __future__ import annotations

import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.judge.shares import pair_result, position_bias, sign_test, wilson
from harness.store.study_records import Answer
from tests.harness.judge.simulated import Taste, simulate_pair, vote

STUDIES = 200
RESAMPLES = 100


def outcomes(taste: Taste, **sizes: int) -> list[tuple[bool, bool, bool]]:
    """For each study: whether the intervals of both shares and of the difference cover, the sign test
    rejects, and a preference is called shown."""
    first, second = taste.shares()
    found = []
    for number in range(STUDIES):
        result = pair_result(simulate_pair(np.random.default_rng(number), taste, **sizes), RESAMPLES)
        ends = (result.first, first), (result.second, second), (result.difference, first - second)
        covers = np.mean([estimate.low <= truth <= estimate.high for estimate, truth in ends])
        found.append((float(covers), result.sign_test.p_value < 0.05, result.is_shown))
    return found


@pytest.mark.parametrize(
    ("taste", "sizes"),
    [
        (Taste(0.4), {}),  # votes differ by chance alone
        (Taste(0.4, of_prefixes=1.0), {"judges": 30, "votes": 5}),
        (Taste(0.4, of_prefixes=1.0, of_judges=0.7), {}),
        (Taste(0.3, of_prefixes=0.5, of_judges=0.7, ties=0.03), {"judges": 5, "prefixes": 30}),
    ],
)
def test_intervals_cover_the_truth(taste: Taste, sizes: dict[str, int]) -> None:
    # 95% of 200 studies, less two standard errors, is 92%. Far more than 95% would be intervals too wide.
    coverage = np.mean([covers for covers, _, _ in outcomes(taste, **sizes)])
    assert 0.92 <= coverage <= 0.995


@pytest.mark.parametrize("taste", [Taste(), Taste(of_prefixes=1.5)])
def test_the_sign_test_keeps_its_size_where_prefixes_differ(taste: Taste) -> None:
    found = outcomes(taste)
    # At most 5% of 200 studies, plus two standard errors.
    assert np.mean([rejects for _, rejects, _ in found]) <= 0.08
    assert np.mean([shown for _, _, shown in found]) <= 0.05


def test_a_preference_of_a_few_judges_is_not_called_shown() -> None:
    # Four judges with tastes of their own, which are nothing on average: the sign test alone is misled.
    found = outcomes(Taste(of_judges=0.7), judges=4)
    assert np.mean([rejects for _, rejects, _ in found]) > 0.1
    assert np.mean([shown for _, _, shown in found]) <= 0.05


def test_a_strong_preference_is_shown() -> None:
    found = outcomes(Taste(1.5, of_prefixes=0.5, of_judges=0.5))
    assert np.mean([shown for _, _, shown in found]) > 0.95


def test_a_share_of_nothing_has_an_interval_that_is_not_empty() -> None:
    votes = [vote(f"judge {n % 3}", 0, f"prefix {n // 3}", Answer.FIRST) for n in range(30)]
    ties = pair_result(votes, RESAMPLES).ties
    assert (ties.value, ties.low) == (0, 0)
    assert 0.05 < ties.high < 1
    known = wilson(0.0, 10, 1.959964)  # Wilson 1927: z^2 / (n + z^2)
    assert known.high == pytest.approx(0.2775, abs=1e-4)


def test_the_sign_test_counts_each_prefix_once() -> None:
    answers = {
        "prefix 1": [Answer.FIRST, Answer.FIRST, Answer.SECOND],
        "prefix 2": [Answer.FIRST, Answer.TIE, Answer.TIE],
        "prefix 3": [Answer.SECOND, Answer.FIRST, Answer.TIE],  # as many of both
        "prefix 4": [Answer.SECOND],
        "prefix 5": [Answer.FIRST],
        "prefix 6": [Answer.FIRST],
    }
    votes = [vote(f"j {n}", 0, name, each) for name, given in answers.items() for n, each in enumerate(given)]
    test = sign_test(votes)
    assert (test.first, test.second) == (4, 1)
    assert test.p_value == pytest.approx(2 * (5 + 1) / 2**5)


def test_a_position_bias_is_seen_and_does_not_bias_shares() -> None:
    taste = Taste(shown_first=1.0, ties=0.1)
    votes = simulate_pair(np.random.default_rng(5), taste, prefixes=150, judges=20, votes=3)
    bias = position_bias(votes, RESAMPLES)
    assert bias.low < 1 / (1 + np.exp(-1)) < bias.high
    assert bias.low > 0.5
    difference = pair_result(votes, RESAMPLES).difference
    assert difference.low < 0 < difference.high


def test_no_votes_are_no_result() -> None:
    with pytest.raises(InvalidInputError, match="needs votes"):
        pair_result([])
