"""The certified solver against exact arithmetic, on problems made to be hard."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest

from bat.certificates import expand, witness
from bat.program import Answer, Goal, Program, Status
from bat.solvers.certified import CertifiedSolver
from tests import exact

TOLERANCE = 1e-6
# The rows of a checked distribution sum to one only to 1e-14, and exact arithmetic sees the difference.
SUM_ERROR = Fraction(1, 10**13)


def solve(problem: exact.Problem, **goal: float) -> Answer:
    return CertifiedSolver().solve(Program(*problem), Goal(**goal))


def assert_interval_is_right(problem: exact.Problem, answer: Answer) -> None:
    truth = exact.exact_critical_threshold(*problem)
    assert Fraction(answer.lower) <= truth * (1 + SUM_ERROR)
    assert truth <= Fraction(answer.upper) * (1 + SUM_ERROR)
    exact.check_interval(*problem, answer.lower, answer.upper, answer.certificate)


def reachable(problem: exact.Problem, answer: Answer) -> float:
    """The relative width that float64 allows: y has entries of about tau* / p_i, each rounded, so beyond a
    ratio of a million (language models at c = 20 stay below a thousand) an interval may stay wider."""
    return max(TOLERANCE, 1e-12 * answer.upper / max(problem.probs[problem.token], 1e-300))


@pytest.mark.parametrize("token", [0, 1, 2])
def test_the_papers_toy_example(token: int) -> None:
    answer = solve(exact.toy_problem(token))
    expected = [0.42505, 1.0, 0.57495][token]
    assert answer.status is Status.CLOSED
    assert answer.lower == pytest.approx(expected, abs=5e-6)
    assert answer.upper == pytest.approx(expected, abs=5e-6)


def test_the_toy_examples_witness() -> None:
    program = Program(*exact.toy_problem(0))
    answer = CertifiedSolver().solve(program, Goal())
    assert answer.certificate is not None
    q = witness(program, expand(program, answer.certificate))
    assert q == pytest.approx([0.0, 0.70, 0.30], abs=0.005)
    assert program.rows @ q == pytest.approx(program.rows @ program.probs, abs=1e-12)


@pytest.mark.parametrize("seed", range(150))
def test_interval_contains_the_exact_value_and_closes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tokens = int(rng.integers(3, 10))
    directions = int(rng.integers(1, min(tokens, 4) + 1))
    roomy = tokens > 4
    problem = exact.random_problem(
        rng,
        tokens=tokens,
        directions=directions,
        entropy=min(float(rng.choice([0.01, 0.1, 0.5, 1.0, 1.5])), 0.95 * math.log(tokens)),
        smallest=float(rng.choice([0.0, 1e-12, 1e-9, 1e-5])),
        duplicates=int(rng.integers(0, 2)) * roomy,
        zeros=int(rng.integers(0, 2)) * roomy,
    )
    answer = solve(problem)
    assert_interval_is_right(problem, answer)
    assert answer.upper - answer.lower <= reachable(problem, answer) * answer.upper


@pytest.mark.parametrize("seed", range(60))
def test_decisions_are_never_wrong_however_close_the_threshold(seed: int) -> None:
    rng = np.random.default_rng(1000 + seed)
    tokens = int(rng.integers(5, 10))
    problem = exact.random_problem(
        rng,
        tokens=tokens,
        directions=int(rng.integers(2, 5)),
        entropy=float(rng.choice([0.01, 0.5, 1.4])),
        smallest=float(rng.choice([0.0, 1e-12, 1e-9, 1e-5])),
        duplicates=int(rng.integers(0, 2)),
    )
    truth = exact.exact_critical_threshold(*problem)
    settled = 0
    for distance in (-0.5, -1e-3, -1e-7, 1e-7, 1e-3, 1.0):
        tau = float(truth) * (1 + distance)
        if not problem.probs[problem.token] < tau < 1.0:
            continue
        answer = solve(problem, tolerance=1e-9, threshold=tau, prove=False)
        accepted, rejected = answer.lower > tau, answer.upper <= tau
        assert not (accepted and Fraction(tau) >= truth)
        assert not (rejected and Fraction(tau) < truth)
        settled += (accepted or rejected) and abs(distance) > 1e-4
    assert settled > 0 or truth > Fraction(999, 1000) or truth < Fraction(problem.probs[problem.token]) * 2


@pytest.mark.parametrize("entropy", [0.01, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("directions", [2, 6, 21])
def test_medium_problems_agree_with_sixty_digits(entropy: float, directions: int) -> None:
    rng = np.random.default_rng(directions)
    problem = exact.random_problem(rng, tokens=400, directions=directions, entropy=entropy, smallest=1e-9)
    answer = solve(problem)
    truth = float(exact.high_precision_critical_threshold(*problem))
    assert answer.lower * (1 - 1e-12) <= truth <= answer.upper * (1 + 1e-12)
    assert answer.upper - answer.lower <= reachable(problem, answer) * answer.upper
    exact.check_interval(*problem, answer.lower, answer.upper, answer.certificate, exact=False)


@pytest.mark.parametrize("entropy", [0.01, 1.0, 4.0, 7.0, 10.0])
@pytest.mark.parametrize("directions", [1, 6, 21, 61])
def test_a_whole_vocabulary_closes_and_its_certificate_checks(entropy: float, directions: int) -> None:
    rng = np.random.default_rng(int(entropy * 100) + directions)
    problem = exact.random_problem(
        rng, tokens=50_000, directions=directions, entropy=entropy, smallest=1e-12, duplicates=200, zeros=50
    )
    answer = solve(problem)
    assert answer.upper - answer.lower <= reachable(problem, answer) * answer.upper
    exact.check_interval(*problem, answer.lower, answer.upper, answer.certificate, exact=False)


@pytest.mark.parametrize(("tokens", "hidden"), [(12, 11), (40, 25), (300, 120)])
def test_full_rank(tokens: int, hidden: int) -> None:
    rng = np.random.default_rng(tokens)
    problem = exact.random_problem(rng, tokens=tokens, directions=hidden + 1, entropy=2.0)
    answer = solve(problem)
    assert answer.upper - answer.lower <= reachable(problem, answer) * answer.upper
    exact.check_interval(*problem, answer.lower, answer.upper, answer.certificate, exact=tokens < 50)


def test_as_many_directions_as_tokens_leave_no_other_distribution() -> None:
    problem = exact.random_problem(np.random.default_rng(0), tokens=6, directions=6, entropy=1.5)
    answer = solve(problem)
    assert answer.lower > 1 - 1e-6
    assert answer.upper == 1.0


def test_no_constraints_is_the_plain_threshold() -> None:
    rows = np.ones((1, 5))
    probs = np.array([0.4, 0.3, 0.2, 0.06, 0.04])
    for token in range(5):
        answer = CertifiedSolver().solve(Program(rows, probs, token), Goal())
        assert answer.lower == answer.upper == probs[token]
        assert answer.status is Status.CLOSED


def test_impossible_and_certain_tokens() -> None:
    rows = exact.random_problem(np.random.default_rng(1), tokens=4, directions=3).rows
    probs = np.array([0.0, 1.0, 0.0, 0.0])
    never = CertifiedSolver().solve(Program(rows, probs, 0), Goal())
    always = CertifiedSolver().solve(Program(rows, probs, 1), Goal())
    assert (never.lower, never.upper) == (0.0, 0.0)
    assert (always.lower, always.upper) == (1.0, 1.0)


def test_identical_tokens_replace_each_other() -> None:
    # Two tokens with one column: either can take over the other's probability, at the price of doubling it.
    rows = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, -0.5, -1.5]])
    probs = np.array([0.25, 0.25, 0.25, 0.25])
    answer = CertifiedSolver().solve(Program(rows, probs, 0), Goal())
    truth = float(exact.exact_critical_threshold(rows, probs, 0))
    assert answer.lower <= truth <= answer.upper
    assert truth <= 0.5


def test_a_vocabulary_of_copies_does_not_cycle() -> None:
    # Every vertex is degenerate thirty times over: the walk must still end.
    rng = np.random.default_rng(3)
    rows = np.repeat(np.vstack([np.ones(12), rng.normal(size=(3, 12))]), 30, axis=1)
    probs = rng.dirichlet(np.ones(rows.shape[1]))
    for token in range(0, rows.shape[1], 37):
        answer = CertifiedSolver().solve(Program(rows, probs, token), Goal())
        assert answer.status is Status.CLOSED
        exact.check_interval(rows, probs, token, answer.lower, answer.upper, answer.certificate, exact=False)


def test_a_pivot_budget_leaves_a_valid_interval_and_says_so() -> None:
    problem = exact.random_problem(np.random.default_rng(5), tokens=3000, directions=21, entropy=4.0)
    full = solve(problem)
    short = CertifiedSolver().solve(Program(*problem), Goal(max_pivots=5))
    assert full.status is Status.CLOSED
    assert short.status is Status.UNFINISHED
    assert short.effort.pivots <= 5
    assert short.lower <= full.upper
    assert full.lower <= short.upper
    exact.check_interval(*problem, short.lower, short.upper, short.certificate, exact=False)


def test_a_cap_stops_early_with_a_proof_of_being_above_it() -> None:
    problem = exact.random_problem(np.random.default_rng(6), tokens=2000, directions=21, entropy=3.0)
    heavy = exact.Problem(problem.rows, problem.probs, int(problem.probs.argmax()))
    free, capped = solve(heavy), solve(heavy, cap=0.5)
    assert free.lower > 0.5
    assert capped.status is Status.ABOVE_CAP
    assert capped.lower > 0.5
    assert capped.effort.pivots <= free.effort.pivots


def test_threads_share_a_solver() -> None:
    problems = [
        exact.random_problem(np.random.default_rng(s), tokens=900, directions=9, entropy=3.0)
        for s in range(24)
    ]
    solver = CertifiedSolver()
    programs = [Program(*problem) for problem in problems]
    alone = [solver.solve(program, Goal()) for program in programs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda program: solver.solve(program, Goal()), programs))
    assert [(a.lower, a.upper, a.effort.pivots) for a in alone] == [
        (a.lower, a.upper, a.effort.pivots) for a in together
    ]
