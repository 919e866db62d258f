"""What must hold for every model, context and token (hypothesis draws them)."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import bat
from tests.bat.problems import random_model

# Intervals are compared through their ends: two answers to the same question overlap.
WIDTH = 2e-6

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(5, 80)
many = settings(max_examples=40, deadline=None)


def model(seed: int, tokens: int, constraints: int, scale: float = 1.0):  # type: ignore[no-untyped-def]
    hidden = min(8, tokens - 1)
    return random_model(seed, tokens, hidden, min(constraints, hidden), batch=3, scale=scale)


def solve(basis: bat.Basis, probs: np.ndarray, tokens: list[int]) -> bat.CriticalThresholds:
    return bat.critical_thresholds(basis, probs, tokens, threads=1)


@many
@given(seeds, sizes, st.integers(0, 8), st.floats(0.1, 6.0))
@example(7, 17, 7, 4.0)
def test_never_below_the_tokens_own_probability(seed: int, tokens: int, c: int, scale: float) -> None:
    basis, logits = model(seed, tokens, c, scale)
    probs = bat.softmax(logits)
    ids = [seed % tokens, (seed // 7) % tokens, 0]
    answer = solve(basis, probs, ids)
    own = probs[np.arange(3), ids]
    assert (answer.lower >= own).all()
    assert (answer.lower <= answer.upper).all()
    # beyond a ratio of a million float64 cannot place tau* (see docs/method.md)
    ordinary = answer.upper <= 1e6 * own
    # ... and where others are lighter still, rounding may leave a little more than the tolerance of 1e-6
    assert (answer.upper - answer.lower <= 1e-5 * answer.upper)[ordinary].all()
    if c == 0:
        assert (answer.upper == own).all()


@many
@given(seeds, sizes, st.integers(0, 7))
def test_more_constraints_never_lower_it(seed: int, tokens: int, c: int) -> None:
    basis, logits = model(seed, tokens, c)
    wider, _ = model(seed, tokens, c + 1)
    probs = bat.softmax(logits)
    ids = [seed % tokens] * 3
    assert (solve(wider, probs, ids).upper >= solve(basis, probs, ids).lower).all()


@many
@given(seeds, sizes)
def test_permuting_the_vocabulary_permutes_the_answer(seed: int, tokens: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.standard_t(5, size=(tokens, 4))
    probs = bat.softmax(rng.normal(size=(1, 4)) @ weight.T)
    order = rng.permutation(tokens)
    token = int(rng.integers(tokens))
    there = bat.critical_thresholds(bat.Basis.from_matrix(weight, 3), probs, [token], threads=1)
    back = bat.critical_thresholds(
        bat.Basis.from_matrix(weight[order], 3), probs[:, order], [int(np.argsort(order)[token])], threads=1
    )
    assert there.lower[0] <= back.upper[0] * (1 + WIDTH)
    assert back.lower[0] <= there.upper[0] * (1 + WIDTH)


@many
@given(seeds, sizes, st.floats(1e-6, 1e6))
def test_rescaling_the_output_matrix_changes_nothing(seed: int, tokens: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.standard_t(5, size=(tokens, 4))
    probs = bat.softmax(rng.normal(size=(1, 4)) @ weight.T)
    token = [int(rng.integers(tokens))]
    one = bat.critical_thresholds(bat.Basis.from_matrix(weight, 3), probs, token, threads=1)
    other = bat.critical_thresholds(bat.Basis.from_matrix(weight * factor, 3), probs, token, threads=1)
    assert one.lower[0] <= other.upper[0] * (1 + WIDTH)
    assert other.lower[0] <= one.upper[0] * (1 + WIDTH)


@many
@given(seeds, sizes, st.integers(1, 6), st.floats(0.001, 0.5), st.floats(0.001, 0.5))
def test_candidate_sets_are_nested_as_the_threshold_grows(
    seed: int, tokens: int, c: int, one: float, other: float
) -> None:
    basis, logits = model(seed, tokens, c, 2.0)
    probs = bat.softmax(logits)[:1]
    low, high = sorted((one, other))
    larger = bat.candidate_set(basis, probs, low, threads=1)
    smaller = bat.candidate_set(basis, probs, high, threads=1)
    assert set(smaller.accepted) <= set(larger.accepted) | set(larger.undecided)


@many
@given(seeds, sizes, st.integers(1, 6), st.floats(0.001, 0.6))
def test_decisions_agree_with_the_interval(seed: int, tokens: int, c: int, tau: float) -> None:
    basis, logits = model(seed, tokens, c, 2.0)
    probs = bat.softmax(logits)
    ids = [seed % tokens, (seed // 5) % tokens, (seed // 11) % tokens]
    answer = solve(basis, probs, ids)
    decisions = bat.decide(basis, probs, ids, tau, threads=1)
    own = probs[np.arange(3), ids]
    for row, verdict in enumerate(decisions.verdicts):
        if own[row] >= tau or tau < answer.lower[row]:
            assert verdict is bat.Verdict.ACCEPT
        elif tau >= answer.upper[row]:
            assert verdict is bat.Verdict.REJECT


@many
@given(seeds, sizes, st.integers(1, 6))
def test_batching_and_threads_change_no_bit(seed: int, tokens: int, c: int) -> None:
    basis, logits = model(seed, tokens, c, 2.0)
    probs = bat.softmax(logits)
    ids = [seed % tokens, (seed // 5) % tokens, (seed // 11) % tokens]
    together = bat.critical_thresholds(basis, probs, ids, threads=3)
    for row in range(3):
        alone = bat.critical_thresholds(basis, probs[row : row + 1], ids[row : row + 1], threads=1)
        assert alone.lower[0] == together.lower[row]
        assert alone.upper[0] == together.upper[row]
    backwards = bat.critical_thresholds(basis, probs[::-1], ids[::-1], threads=2)
    assert (backwards.lower[::-1] == together.lower).all()
    assert (backwards.upper[::-1] == together.upper).all()
