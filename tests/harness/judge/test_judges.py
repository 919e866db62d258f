"""Agreement, who is left out, strengths of several settings, and what a study can show."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import binomtest

from harness.judge.agreement import agreement, krippendorff_alpha
from harness.judge.exclusion import ExclusionRules, find_excluded
from harness.judge.power import passes_by_chance, power_of, smallest_preference
from harness.judge.strengths import fit, strengths
from harness.store.study_records import Answer
from tests.harness.judge.simulated import Taste, check, simulate_pair, study, vote

ANSWERS = (Answer.FIRST, Answer.SECOND, Answer.TIE)


def test_alpha_is_one_for_equal_answers_and_near_zero_for_chance() -> None:
    same = [vote(f"j {j}", 0, f"p {p}", ANSWERS[p % 3]) for j in range(3) for p in range(9)]
    assert krippendorff_alpha(same) == 1
    random = np.random.default_rng(0)
    chance = [vote(f"j {j}", 0, f"p {p}", ANSWERS[random.integers(3)]) for j in range(5) for p in range(200)]
    assert abs(krippendorff_alpha(chance) or 1) < 0.05
    # A win against a loss is a larger disagreement than a win against a tie.
    far = [vote("a", 0, f"p {p}", ANSWERS[p % 2]) for p in range(8)]
    near = [*far, *(vote("b", 0, f"p {p}", ANSWERS[p % 2] if p else Answer.TIE) for p in range(8))]
    opposite = [*far, *(vote("b", 0, f"p {p}", ANSWERS[p % 2 if p else 1]) for p in range(8))]
    assert (krippendorff_alpha(near) or 0) > (krippendorff_alpha(opposite) or 0)


def test_alpha_is_not_defined_without_two_votes_on_an_item() -> None:
    assert krippendorff_alpha([vote("a", 0, "p 1", Answer.FIRST), vote("b", 0, "p 2", Answer.TIE)]) is None
    assert krippendorff_alpha([vote("a", 0, "p 1", Answer.TIE), vote("b", 0, "p 1", Answer.TIE)]) is None


def test_self_agreement_and_time() -> None:
    votes = [
        vote("a", 0, "p 1", Answer.FIRST, seconds=10),
        vote("a", 0, "p 1", Answer.FIRST, is_repeat=True, swapped=True, seconds=20),
        vote("a", 0, "p 2", Answer.TIE, seconds=30),
        vote("a", 0, "p 2", Answer.SECOND, is_repeat=True, seconds=100),
        check("a", 1, passed=True, seconds=20),
    ]
    found = agreement(votes)
    assert (found.alike, found.repeated) == (1, 2)
    assert (found.median_seconds, found.seconds) == (20, 180)
    assert (found.passed_checks, found.checks) == (1, 1)


def test_judges_who_click_at_random_or_too_fast_are_left_out() -> None:
    random = np.random.default_rng(1)
    votes = []
    for number in range(100):
        # Eight checks; one in three answers of a random judge is right.
        votes += [check(f"random {number}", n, passed=bool(random.random() < 1 / 3)) for n in range(8)]
        votes += [check(f"careful {number}", n, passed=bool(random.random() < 0.97)) for n in range(8)]
    votes += [vote("fast", 0, f"p {n}", Answer.FIRST, seconds=3) for n in range(5)]
    votes += [vote("slow", 0, f"p {n}", Answer.FIRST, seconds=30) for n in range(5)]
    excluded = find_excluded(study(votes), ExclusionRules())
    names = [each.judge.split()[0] for each in excluded]
    expected = 100 * (1 - passes_by_chance(8, 0.75))  # 98
    assert names.count("random") == pytest.approx(expected, abs=4)
    assert names.count("careful") <= 1
    assert names.count("slow") == 0
    [fast] = [each for each in excluded if each.judge == "fast"]
    assert fast.reason == "answered at 3,000 words a minute"
    assert passes_by_chance(8, 0.75) == pytest.approx(
        sum(comb(8, k) * 2 ** (8 - k) for k in (6, 7, 8)) / 3**8
    )


def test_strengths_are_those_of_the_model() -> None:
    # Counts in the proportions of Davidson's model are fitted by its parameters.
    truth, tie = np.array([0.8, 0.1, -0.9]), -0.5
    ends = np.array([[0, 1], [1, 2], [2, 0]])
    counts = []
    for first, second in ends:
        odds = np.exp([truth[first], truth[second], tie + (truth[first] + truth[second]) / 2])
        counts.append(1e6 * odds / odds.sum())
    np.testing.assert_allclose(fit(np.array(counts), ends, 3), truth, atol=1e-3)


def test_strengths_have_intervals_and_need_pairs_that_connect() -> None:
    random = np.random.default_rng(3)
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    votes = []
    for number, preference in enumerate((0.9, 0.0, 0.9)):
        votes += simulate_pair(random, Taste(preference), prefixes=40, judges=12, pair=number)
    found = strengths(("a", "b", "c"), pairs, votes, resamples=40)
    assert found is not None
    assert found[0].setting == "a"
    assert found[0].strength.low > 0 > found[2].strength.value
    assert all(each.strength.low < each.strength.value < each.strength.high for each in found)
    assert strengths(("a", "b"), pairs[:1], votes[:120], resamples=10) is None
    assert strengths(("a", "b", "c", "d"), [("a", "b"), ("c", "d")], votes[:120], resamples=10) is None


def test_power_is_that_of_the_literal_definition() -> None:
    items, votes, ties, preference = 7, 2, 0.2, 0.9
    chances = {1: (1 - ties) * preference, -1: (1 - ties) * (1 - preference), 0: ties}
    signs = {1: 0.0, -1: 0.0, 0: 0.0}
    for steps in product(chances, repeat=votes):
        signs[int(np.sign(sum(steps)))] += float(np.prod([chances[step] for step in steps]))
    power = 0.0
    for outcome in product(signs, repeat=items):
        first, second = outcome.count(1), outcome.count(-1)
        if first + second and binomtest(first, first + second).pvalue <= 0.05:
            power += float(np.prod([signs[sign] for sign in outcome]))
    assert power_of(preference, items, votes, ties) == pytest.approx(power)


def test_the_smallest_preference_has_that_power() -> None:
    found = smallest_preference(60, 3, 0.1)
    assert found.preference is not None
    assert power_of(found.preference, 60, 3, 0.1) >= 0.8 > power_of(found.preference - 2e-4, 60, 3, 0.1)
    assert smallest_preference(5, 3, 0.1).preference is None  # five signs cannot reach 5%
    assert "too few" in str(smallest_preference(5, 3))
