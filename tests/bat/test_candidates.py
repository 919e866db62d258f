"""Exact candidate sets against one program per token."""

from __future__ import annotations

import numpy as np
import pytest

import bat
from bat import spreading
from bat.program import Goal, Program
from bat.solvers.certified import CertifiedSolver
from tests.bat.problems import TOY_THRESHOLD, random_model, toy


def one_by_one(basis: bat.Basis, probs: np.ndarray, tau: float) -> list[int]:
    """The definition: a program for every token."""
    v = probs.shape[1]
    answer = bat.critical_thresholds(basis, np.repeat(probs, v, axis=0), list(range(v)))
    assert not ((answer.lower <= tau) & (tau < answer.upper)).any()  # else the definition itself is undecided
    return np.flatnonzero((probs[0] >= tau) | (answer.lower > tau)).tolist()


def test_toy_example() -> None:
    basis, probs = toy()
    found = bat.candidate_set(basis, probs, TOY_THRESHOLD)
    assert found.accepted.tolist() == [1, 2]
    assert found.exact
    assert found.mask().tolist() == [False, True, True]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tau", [0.002, 0.02, 0.2])
def test_is_what_one_program_a_token_gives(seed: int, tau: float) -> None:
    basis, logits = random_model(seed, tokens=150, hidden=10, constraints=1 + seed, batch=1, scale=1.5)
    probs = bat.softmax(logits)
    found = bat.candidate_set(basis, probs, tau)
    assert found.accepted.tolist() == one_by_one(basis, probs, tau)
    assert found.exact
    assert found.programs + found.rejected_by_spreading == int(((probs > 0) & (probs < tau)).sum())


def test_needs_far_fewer_programs_than_tokens() -> None:
    basis, logits = random_model(3, tokens=8000, hidden=32, constraints=20, batch=1)
    probs = bat.softmax(logits)
    tau = float(np.sort(probs[0])[-20])
    found = bat.candidate_set(basis, probs, tau)
    assert found.exact
    assert len(found.accepted) > 20  # the basis lets some tokens below the threshold in
    assert found.programs < 0.2 * 8000


def test_what_a_budget_cannot_settle_is_undecided_not_guessed() -> None:
    basis, logits = random_model(3, tokens=800, hidden=16, constraints=12, batch=1)
    probs = bat.softmax(logits)
    tau = float(np.sort(probs[0])[-10])
    full = bat.candidate_set(basis, probs, tau)
    assert full.programs > 5
    short = bat.candidate_set(basis, probs, tau, max_programs=5)
    assert short.programs == 5
    assert short.undecided.size == full.programs - 5
    assert not short.exact
    assert set(short.accepted) <= set(full.accepted)
    assert set(full.accepted) <= set(short.accepted) | set(short.undecided)
    # The budget goes to the likeliest tokens first.
    decided = np.setdiff1d(np.flatnonzero(probs[0] < tau), short.undecided)
    by_program = [t for t in decided if t in full.accepted]
    assert not by_program or probs[0, by_program].min() >= probs[0, short.undecided].max()
    out_of_time = bat.candidate_set(basis, probs, tau, time_limit_seconds=0.0)
    assert out_of_time.undecided.size == full.programs


def test_without_constraints_it_is_the_plain_rule() -> None:
    basis, logits = random_model(0, tokens=30, constraints=0, batch=1)
    probs = bat.softmax(logits)
    found = bat.candidate_set(basis, probs, 0.02)
    assert found.accepted.tolist() == np.flatnonzero(probs[0] >= 0.02).tolist()
    assert found.programs == 0


@pytest.mark.parametrize("seed", range(8))
def test_spreading_bounds_every_critical_threshold_from_above(seed: int) -> None:
    basis, logits = random_model(seed, tokens=120, hidden=8, constraints=1 + seed % 6, batch=1, scale=2.0)
    probs = bat.softmax(logits)[0]
    solver = CertifiedSolver(start_tokens=60)  # so that tokens inside and outside the heavy set are tried
    bounds = spreading.upper_bounds(solver.prepare(basis.rows, probs).core, np.arange(120))
    lower = np.array([solver.solve(Program(basis.rows, probs, t), Goal()).lower for t in range(120)])
    assert (bounds >= lower * (1 - 1e-9)).all()
    assert (bounds < 1.0).sum() > 30  # it does prove something


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": 1.0}, r"\[0, 1\)"),
        ({"probs": np.full((2, 3), 1 / 3)}, "one context"),
        ({"probs": np.full(5, 0.2)}, "basis's 3 tokens"),
        ({"max_programs": -1}, "max_programs"),
    ],
)
def test_bad_input(arguments: dict[str, object], message: str) -> None:
    basis, probs = toy()
    with pytest.raises(bat.InvalidInputError, match=message):
        bat.candidate_set(**{"basis": basis, "probs": probs, "threshold": 0.1, **arguments})  # type: ignore[arg-type]
