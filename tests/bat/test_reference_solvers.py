"""HiGHS and CBC over the full program: right when scaled, and visibly wrong when not."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from bat.certificates import expand
from bat.errors import SolverUnavailableError
from bat.program import Goal, Program, Solver, Status
from bat.solvers import cbc, highs
from bat.solvers.reference import answer_from_solution, polish
from tests.exact import (
    Problem,
    check_interval,
    exact_critical_threshold,
    high_precision_critical_threshold,
    random_problem,
    toy_problem,
)

SOLVERS = {"highs": highs.HighsSolver, "cbc": cbc.CbcSolver}


@pytest.fixture(params=sorted(SOLVERS))
def solver(request: pytest.FixtureRequest) -> Solver:
    made: Solver = SOLVERS[request.param]()
    assert made.name == request.param
    return made


def assert_right(solver: Solver, problem: Problem, exact: float, tolerance: float = 1e-6) -> None:
    """The interval holds the exact value and its certificate proves it; it is closed where float64 allows."""
    answer = solver.solve(Program(*problem), Goal(tolerance=tolerance))
    assert answer.lower * (1 - 1e-15) <= exact <= answer.upper * (1 + 1e-15)
    check_interval(*problem, answer.lower, answer.upper, answer.certificate, exact=problem.probs.size < 100)
    # Beyond this ratio no float64 direction proves a relative 1e-6 (bat.certificates); the status says so.
    if exact <= 1e8 * problem.probs[problem.token]:
        assert answer.status is Status.CLOSED, answer
        assert answer.upper - answer.lower <= tolerance * answer.upper


@pytest.mark.parametrize(("token", "critical"), [(0, 0.42505), (1, 1.0), (2, 0.57495)])
def test_toy_example(solver: Solver, token: int, critical: float) -> None:
    answer = solver.solve(Program(*toy_problem(token)), Goal())
    assert answer.status is Status.CLOSED
    assert answer.lower == pytest.approx(critical, abs=5e-6)
    assert_right(solver, toy_problem(token), float(exact_critical_threshold(*toy_problem(token))))


@pytest.mark.parametrize("entropy", [0.01, 0.3, 1.2])
@pytest.mark.parametrize("kind", ["plain", "tiny", "ties", "zeros"])
@pytest.mark.parametrize("seed", range(3))
def test_small_problems_against_rationals(solver: Solver, entropy: float, kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, int(100 * entropy), len(kind)])
    problem = random_problem(
        rng,
        tokens=9,
        directions=2 + seed,
        entropy=entropy,
        smallest=0.0 if kind == "plain" else 1e-12,
        duplicates=3 if kind == "ties" else 0,
        zeros=3 if kind == "zeros" else 0,
    )
    assert_right(solver, problem, float(exact_critical_threshold(*problem)))


@pytest.mark.parametrize(
    ("tokens", "directions", "entropy", "smallest"),
    [
        (60, 2, 0.01, 1e-12),
        (60, 12, 2.0, 1e-12),
        (300, 6, 4.0, 0.0),
        (300, 21, 3.0, 1e-10),
        (1000, 11, 5.0, 1e-12),
    ],
)
def test_medium_problems_against_sixty_digits(
    solver: Solver, tokens: int, directions: int, entropy: float, smallest: float
) -> None:
    rng = np.random.default_rng(tokens + directions)
    for _ in range(3):
        problem = random_problem(
            rng, tokens=tokens, directions=directions, entropy=entropy, smallest=smallest, duplicates=5
        )
        assert_right(solver, problem, float(high_precision_critical_threshold(*problem)))


def test_full_rank_leaves_one_distribution(solver: Solver) -> None:
    # As many rows as tokens: nothing but p itself agrees with p, so no token can be rejected.
    problem = random_problem(np.random.default_rng(5), tokens=6, directions=6)
    assert exact_critical_threshold(*problem) == 1
    assert_right(solver, problem, 1.0)


@pytest.mark.parametrize(
    ("probs", "token", "critical"), [([0.0, 0.6, 0.4], 0, 0.0), ([0.0, 1.0, 0.0], 1, 1.0)], ids=["p=0", "p=1"]
)
def test_nothing_to_solve(solver: Solver, probs: list[float], token: int, critical: float) -> None:
    answer = solver.solve(Program(toy_problem(0).rows, np.array(probs), token), Goal())
    assert (answer.lower, answer.upper, answer.status) == (critical, critical, Status.CLOSED)
    assert answer.effort.pivots == 0


def test_without_directions_the_threshold_is_the_probability(solver: Solver) -> None:
    probs = np.array([0.5, 0.3, 0.2])
    answer = solver.solve(Program(np.ones((1, 3)), probs, 2), Goal())
    assert (answer.lower, answer.upper, answer.status) == (0.2, 0.2, Status.CLOSED)


def test_time_limit_leaves_a_valid_interval(solver: Solver) -> None:
    problem = random_problem(np.random.default_rng(8), tokens=3000, directions=21, entropy=5.0)
    full = highs.HighsSolver().solve(Program(*problem), Goal())
    answer = solver.solve(Program(*problem), Goal(time_limit_seconds=0.0))
    assert answer.status in {Status.UNFINISHED, Status.FAILED}
    assert answer.lower <= full.lower <= full.upper <= answer.upper
    check_interval(*problem, answer.lower, answer.upper, answer.certificate, exact=False)


def test_effort_is_counted(solver: Solver) -> None:
    problem = random_problem(np.random.default_rng(9), tokens=200, directions=6, entropy=3.0)
    answer = solver.solve(Program(*problem), Goal())
    assert answer.effort.pivots >= 5  # five basic tokens have to come in
    assert answer.effort.passes > 0
    assert answer.effort.seconds > 0.0


def test_a_certificate_is_small(solver: Solver) -> None:
    problem = random_problem(np.random.default_rng(10), tokens=3000, directions=11, entropy=5.0)
    # A likely token has to be paid for by many others, nearly all of them whole.
    program = Program(*problem._replace(token=int(np.argmax(problem.probs))))
    certificate = solver.solve(program, Goal()).certificate
    assert np.count_nonzero(expand(program, certificate)) > 100
    assert 10 <= certificate.tokens.size <= 3 * 11


def unlikely_token() -> Problem:
    """A peaked distribution over ten thousand tokens, and a token of probability 3.6e-9 in its tail."""
    problem = random_problem(np.random.default_rng(11), tokens=10_000, directions=11, entropy=1.0)
    return problem._replace(token=int(np.argsort(-problem.probs)[8000]))


def test_raw_probabilities_mislead_highs_and_the_interval_shows_it() -> None:
    program = Program(*unlikely_token())
    right = highs.HighsSolver().solve(program, Goal())
    assert right.status is Status.CLOSED
    raw = highs.HighsSolver(raw=True)
    claimed = raw.claimed_threshold(program, Goal())
    assert claimed > 10 * right.upper  # a hundred times too large with HiGHS 1.15
    answer = raw.solve(program, Goal())
    assert answer.status is Status.UNFINISHED
    assert answer.lower <= right.lower <= right.upper <= answer.upper
    assert highs.HighsSolver().claimed_threshold(program, Goal()) == pytest.approx(right.upper, rel=1e-6)


def test_polish_recovers_what_eight_digits_lose() -> None:
    problem = random_problem(np.random.default_rng(4), tokens=300, directions=8, entropy=3.0, smallest=1e-10)
    program = Program(*problem)
    answer = highs.HighsSolver().solve(program, Goal())
    y = np.array([float(f"{x:.8g}") for x in answer.certificate.direction])
    phi = np.array([float(f"{x:.8g}") for x in expand(program, answer.certificate).clip(0.0)])
    plain = answer_from_solution(program, Goal(), y, phi, iterations=0, seconds=0.0, polished=False)
    y, phi = polish(program, y, phi)
    again = answer_from_solution(program, Goal(), y, phi, iterations=0, seconds=0.0, polished=False)
    assert again.upper - again.lower < 1e-9 * again.upper
    assert again.upper - again.lower < 0.1 * (plain.upper - plain.lower)


def test_a_wrong_solution_is_visible() -> None:
    problem = random_problem(np.random.default_rng(6), tokens=50, directions=5, entropy=2.0)
    program = Program(*problem)
    exact = float(high_precision_critical_threshold(*problem))
    rng = np.random.default_rng(0)
    answer = answer_from_solution(
        program, Goal(), rng.normal(size=5), rng.uniform(size=50), iterations=1, seconds=0.0
    )
    assert answer.status is Status.UNFINISHED
    assert answer.lower <= exact <= answer.upper


def test_no_solution_is_a_failure_with_the_trivial_interval() -> None:
    problem = toy_problem(0)
    answer = answer_from_solution(Program(*problem), Goal(), None, None, iterations=0, seconds=0.0)
    assert (answer.lower, answer.upper, answer.status) == (problem.probs[0], 1.0, Status.FAILED)
    check_interval(*problem, answer.lower, answer.upper, answer.certificate)


@pytest.mark.parametrize(
    ("threshold", "status"), [(0.2, Status.DECIDED), (0.43, Status.DECIDED), (0.425, Status.UNFINISHED)]
)
def test_an_open_interval_may_still_decide(threshold: float, status: Status) -> None:
    program = Program(*toy_problem(0))
    phi = np.array([1.0, 0.2, 0.0])  # reaches 0.42505; the direction below proves 0.42 only
    goal = Goal(tolerance=1e-6, threshold=threshold)
    answer = answer_from_solution(
        program, goal, np.array([1.0, -0.75]), phi, iterations=0, seconds=0.0, polished=False
    )
    assert 0.3 < answer.lower < 0.4249
    assert answer.upper == pytest.approx(0.42505, abs=5e-6)
    assert answer.status is status


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_missing_package_names_the_remedy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    package = {"highs": "highspy", "cbc": "pulp"}[name]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SolverUnavailableError, match=f'"pip install {package}"'):
        SOLVERS[name]().solve(Program(*toy_problem(0)), Goal())


def test_cbc_cleans_up_after_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    answer = cbc.CbcSolver().solve(Program(*toy_problem(0)), Goal())
    assert answer.status is Status.CLOSED
    assert list(tmp_path.iterdir()) == []
