"""The bounds hold, whatever they are given, and are sharp when they are given the optimum."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bat.certificates import certify_direction, compress, expand, lower_bound, upper_bound, witness
from bat.errors import InvalidInputError
from bat.program import Program
from tests.exact import (
    Problem,
    check_interval,
    exact_critical_threshold,
    exact_optimum,
    random_problem,
    toy_problem,
)

SEEDS = range(60)
ULP = Fraction(2) ** -50  # p_i stands for p_i / sum(p), and probabilities sum to one only up to rounding


def small_problem(seed: int) -> Problem:
    """Four kinds in turn: plain, probabilities down to 1e-12, ties, underflowed zeros."""
    rng = np.random.default_rng(seed)
    tokens = int(rng.integers(4, 10))
    kind = seed % 4
    return random_problem(
        rng,
        tokens=tokens,
        directions=int(rng.integers(2, min(tokens - 1, 5))),
        entropy=float(10 ** rng.uniform(-2, 0.1)),
        smallest=1e-12 if kind else 0.0,
        duplicates=2 if kind == 2 else 0,
        zeros=int(rng.integers(1, tokens - 1)) if kind == 3 else 0,
    )


def optimal_fractions(problem: Problem, direction: np.ndarray) -> np.ndarray:
    """phi by the signs of an optimal direction; the tokens at zero are left to the repair."""
    inside = direction @ problem.rows
    scale = np.abs(direction) @ np.abs(problem.rows)
    return np.where(inside < -1e-9 * scale, 1.0, 0.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_lower_bound_is_sharp_at_the_optimum(seed: int) -> None:
    problem = small_problem(seed)
    exact, direction = exact_optimum(*problem)
    bound = lower_bound(Program(*problem), np.array([float(x) for x in direction]))
    assert Fraction(bound) <= exact * (1 + ULP)
    # A float64 direction is orthogonal to the heavy tokens only up to rounding, which costs the more the
    # further tau* is above p_i; see the module's docstring.
    ratio = float(exact) / problem.probs[problem.token]
    assert bound >= float(exact) * (1 - 1e-13 - 2e-14 * ratio)


def test_shift_saves_a_small_threshold_beside_heavy_tokens() -> None:
    rng = np.random.default_rng(7)
    problem = random_problem(rng, tokens=9, directions=4, entropy=1.5, smallest=1e-12)
    exact, direction = exact_optimum(*problem)
    assert float(exact) < 1e-8
    y = np.array([float(x) for x in direction])
    y = y / np.abs(y).max() + 1e-9 * rng.normal(size=y.size)
    inside = y @ problem.rows
    weight = np.where(np.arange(9) == problem.token, 0.0, problem.probs)
    plain = problem.probs[problem.token] * inside[problem.token] - np.sum(weight * np.maximum(-inside, 0.0))
    assert plain < 0.0  # as it stands, this direction proves nothing at all
    assert float(exact) * (1 - 1e-6) < lower_bound(Program(*problem), y) <= float(exact)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_no_direction_proves_too_much(seed: int, data: st.DataObject) -> None:
    problem = small_problem(seed)
    entries = st.floats(allow_nan=True, allow_infinity=True) | st.floats(-1, 1)
    size = problem.rows.shape[0]
    direction = np.array(data.draw(st.lists(entries, min_size=size, max_size=size)))
    bound, proof = certify_direction(Program(*problem), direction)
    assert problem.probs[problem.token] <= bound <= 1.0
    assert Fraction(bound) <= exact_critical_threshold(*problem) * (1 + ULP)
    assert np.isfinite(proof).all()


@pytest.mark.parametrize(
    "direction", [np.zeros(3), -np.eye(3)[0], np.full(3, np.nan), np.array([1, np.inf, 0])]
)
def test_useless_direction_gives_the_probability_itself(direction: np.ndarray) -> None:
    problem = random_problem(np.random.default_rng(0), tokens=8, directions=3)
    assert lower_bound(Program(*problem), direction) == problem.probs[problem.token]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_no_fractions_reach_too_low(seed: int, data: st.DataObject) -> None:
    problem = small_problem(seed)
    entries = st.sampled_from([0.0, 1.0]) | st.floats(-0.5, 1.5) | st.just(float("nan"))
    size = problem.probs.size
    bound, phi = upper_bound(
        Program(*problem), np.array(data.draw(st.lists(entries, min_size=size, max_size=size)))
    )
    assert phi.max() <= 1.0
    assert Fraction(bound) * (1 + ULP) >= exact_critical_threshold(*problem)


def test_a_light_token_taken_whole_does_not_hide_behind_a_heavy_one() -> None:
    # Tokens of mass 1e-12 are taken with one of mass 0.9. Nothing that is left can balance them, which
    # the rounding of the heavy one would conceal.
    problem = small_problem(302)
    fractions = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    assert problem.probs[5] < 1e-11
    assert exact_critical_threshold(*problem) == 1
    assert upper_bound(Program(*problem), fractions)[0] == 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_both_bounds_meet_at_the_optimum_and_pass_the_checker(seed: int) -> None:
    problem = small_problem(seed)
    program = Program(*problem)
    y = np.array([float(x) for x in exact_optimum(*problem)[1]])
    lower, proof = certify_direction(program, y)
    upper, phi = upper_bound(program, optimal_fractions(problem, y))
    assert lower <= upper
    check_interval(*problem, lower, upper, compress(program, proof, phi))


def test_upper_bound_absorbs_the_errors_of_a_solver() -> None:
    rng = np.random.default_rng(3)
    problem = toy_problem(0)
    exact = float(exact_critical_threshold(*problem))
    for _ in range(20):
        phi = np.array([1.0, 1.0 - 0.70 * (1 - exact) / problem.probs[1], 0.0]) + 1e-9 * rng.normal(size=3)
        upper, repaired = upper_bound(Program(*problem), phi)
        assert exact * (1 - 1e-15) <= upper <= exact * (1 + 1e-7)
        tau = float(problem.probs @ repaired)
        np.testing.assert_allclose(problem.rows @ (problem.probs * (tau - repaired)), 0.0, atol=1e-15)


def test_a_token_that_nothing_else_can_replace_has_the_bound_one() -> None:
    # Three tokens carry probability, and the first alone has a component along the last row.
    rows = np.array([[1.0, 1, 1, 1], [0.3, -1, 1, 0.5], [2.0, 0, 0, 1]])
    program = Program(rows, np.array([0.2, 0.4, 0.4, 0.0]), 0)
    assert exact_critical_threshold(*Problem(rows, program.probs, 0)) == 1
    assert upper_bound(program, np.zeros(4))[0] == 1.0
    assert lower_bound(program, np.array([0.0, 0.0, 1.0])) == pytest.approx(1.0, abs=1e-12)


def test_dependent_support_is_balanced_all_the_same() -> None:
    # Only two of the three rows are independent over the tokens that carry probability.
    rows = np.array([[1.0, 1, 1, 1], [0.3, -1, 1, 0.5], [0.6, -2, 2, 7]])
    problem = Problem(rows, np.array([0.2, 0.4, 0.4, 0.0]), 0)
    upper, phi = upper_bound(Program(*problem), np.zeros(4))
    exact = exact_critical_threshold(*problem)
    assert 0 < exact < 1
    assert float(exact) * (1 - 1e-15) <= upper <= float(exact) * (1 + 1e-12)
    np.testing.assert_allclose(rows @ witness(Program(*problem), phi), rows @ problem.probs, atol=1e-15)


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_a_certificate_stands_for_its_fractions(seed: int) -> None:
    problem = small_problem(seed)
    program = Program(*problem)
    y = np.array([float(x) for x in exact_optimum(*problem)[1]])
    phi = upper_bound(program, optimal_fractions(problem, y))[1]
    certificate = compress(program, y, phi)
    carried = problem.probs > 0.0
    np.testing.assert_array_equal(expand(program, certificate)[carried], phi[carried])
    assert certificate.tokens.dtype == np.int64
    assert problem.token not in certificate.tokens


def test_witness_agrees_with_the_model_and_leaves_the_token_out() -> None:
    problem = toy_problem(0)
    program = Program(*problem)
    upper, phi = upper_bound(program, np.array([1.0, 0.2, 0.0]))
    q = witness(program, phi)
    np.testing.assert_allclose(q, [0.0, 0.70, 0.30], atol=0.005)  # the paper prints two digits
    np.testing.assert_allclose(problem.rows @ q, problem.rows @ problem.probs, atol=1e-15)
    assert q[0] == 0.0
    assert np.all(q * (1 - upper) <= problem.probs * (1 + 1e-12))


def test_witness_of_threshold_one_is_invalid() -> None:
    with pytest.raises(InvalidInputError, match="token 1"):
        witness(Program(*toy_problem(1)), np.ones(3))


def test_nothing_kept_but_the_sum_is_plain_threshold_sampling() -> None:
    probs = np.array([0.5, 0.3, 0.2])
    program = Program(np.ones((1, 3)), probs, 1)
    assert lower_bound(program, np.ones(1)) == upper_bound(program, np.full(3, 0.7))[0] == 0.3


def test_a_token_without_probability_is_always_rejected() -> None:
    rows = toy_problem(0).rows
    program = Program(rows, np.array([0.0, 0.6, 0.4]), 0)
    assert lower_bound(program, np.array([1.0, -0.5])) == upper_bound(program, np.full(3, 0.7))[0] == 0.0


def test_a_certain_token_is_never_rejected() -> None:
    program = Program(toy_problem(0).rows, np.array([0.0, 1.0, 0.0]), 1)
    assert lower_bound(program, np.array([1.0, 0.0])) == upper_bound(program, np.zeros(3))[0] == 1.0
