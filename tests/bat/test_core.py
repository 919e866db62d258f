"""Decisions that the heavy tokens of a context settle alone, and those they hand on."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import bat
from bat.program import Answer, Goal, Program, Status
from bat.solvers.certified import CertifiedSolver
from bat.thresholds import DECISION_TOLERANCE, decision_goal
from tests import exact
from tests.bat.problems import random_model

FEW = CertifiedSolver(start_tokens=40)  # heavy tokens, of hundreds


def decide(program: Program, threshold: float) -> Answer:
    return FEW.solve(program, replace(decision_goal(), threshold=threshold))


@pytest.mark.parametrize("directions", [2, 6])
def test_decisions_are_never_wrong_however_close_the_threshold(directions: int) -> None:
    settled: Counter[str] = Counter()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        entropy = (1.0, 3.0, 5.0)[seed % 3]
        problem = exact.random_problem(
            rng, tokens=400, directions=directions, entropy=entropy, smallest=1e-9, duplicates=seed % 2 * 20
        )
        own = problem.probs[problem.token]
        truth = float(exact.high_precision_critical_threshold(*problem))
        for distance in (-0.9, -0.3, -1e-3, -1e-6, 1e-6, 1e-3, 0.3, 1.0, 10.0):
            tau = truth * (1 + distance)
            if not own < tau < 1.0:
                continue
            answer = decide(Program(*problem), tau)
            assert answer.status is Status.DECIDED
            assert (answer.lower > tau) == (distance < 0.0)
            assert (answer.upper <= tau) == (distance > 0.0)
            assert answer.lower <= truth * (1 + 1e-12)
            assert answer.upper >= truth * (1 - DECISION_TOLERANCE)
            settled["before the climb"] += answer.effort.pivots == 0
            settled["without a pass"] += answer.effort.pivots > 0 and answer.effort.passes == 0
            settled["by one pass"] += answer.effort.passes == 1
            settled["by more"] += answer.effort.passes > 1
    assert min(settled.values()) > 0, settled  # every way of settling a question was taken


def test_a_token_that_is_not_heavy_can_be_refused_before_the_climb() -> None:
    problem = exact.random_problem(np.random.default_rng(5), tokens=600, directions=3, entropy=4.0)
    light = np.argsort(problem.probs)[:300]
    answers = [decide(Program(problem.rows, problem.probs, int(token)), 0.05) for token in light]
    refused = [answer for answer in answers if answer.effort.pivots == 0]
    assert len(refused) > 100
    assert all(answer.upper <= 0.05 for answer in refused)


@pytest.mark.parametrize("seed", [3, 239])
def test_light_tokens_that_change_sides_in_crowds_do_not_end_a_decision(seed: int) -> None:
    basis, logits = random_model(seed, 1500, hidden=16, constraints=2, batch=1)
    probs = bat.softmax(logits)[0]
    few = CertifiedSolver(start_tokens=8)
    for token in np.argsort(-probs)[1:25]:
        threshold = 1.5 * float(probs[token])
        answer = few.solve(
            Program(basis.rows, probs, int(token)), replace(decision_goal(), threshold=threshold)
        )
        assert answer.lower > threshold or answer.upper <= threshold


def test_a_batch_and_a_step_decide_what_single_programs_do() -> None:
    basis, logits = random_model(3, tokens=900, hidden=12, constraints=6, batch=24, scale=0.7)
    probs = bat.softmax(logits)
    tokens = np.argsort(-probs, axis=1)[np.arange(24), 20 + 10 * np.arange(24)]
    taus = 4.0 * probs[np.arange(24), tokens]
    alone = [decide(Program(basis.rows, probs[row], int(tokens[row])), float(taus[row])) for row in range(24)]
    expected = [(a.lower, a.upper, a.effort.pivots, a.effort.passes) for a in alone]
    for threads in (1, 3):
        together = bat.decide(basis, probs, tokens, taus, FEW, threads=threads)
        effort = together.effort
        found = zip(together.lower, together.upper, effort.pivots, effort.passes, strict=True)
        assert list(found) == expected
    assert len(set(together.verdicts)) == 2
    rule = bat.get_rule("ba-eta", 0.3)
    numbers = bat.uniforms([bat.Key(0, "core", row, 0) for row in range(24)], 0, 11)
    ours, whole = (bat.sample(basis, logits, rule, numbers, solver=s) for s in (FEW, "highs"))
    assert ours.programs.sum() > 5
    np.testing.assert_array_equal(ours.tokens, whole.tokens)
    np.testing.assert_array_equal(ours.rejections, whole.rejections)


def test_intervals_and_proofs_are_those_of_the_whole_distribution() -> None:
    problem = exact.random_problem(np.random.default_rng(2), tokens=400, directions=4, entropy=4.0)
    program = Program(*problem)
    closed = FEW.solve(program, Goal())
    tau = 1.5 * closed.upper
    proven = FEW.solve(program, Goal(1e-9, threshold=tau))
    assert proven.certificate is not None
    assert proven.upper <= tau
    exact.check_interval(*problem, proven.lower, proven.upper, proven.certificate, exact=False)
    assert math.isclose(closed.lower, closed.upper, rel_tol=1e-6)
