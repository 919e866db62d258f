"""Critical thresholds of many tokens of one context, and every rule's critical parameters from them."""

from __future__ import annotations

import numpy as np
import pytest

import bat
from bat.context_thresholds import context_thresholds
from bat.program import Status
from bat.rules import get_rule_form, rule_names
from bat.rules.context import ContextSummary
from tests.bat.problems import random_model

PATIENCE = 1000.0  # the first program waits for the compiler


def context(seed: int, constraints: int) -> tuple[bat.Basis, np.ndarray]:
    basis, logits = random_model(seed, tokens=150, hidden=10, constraints=constraints, batch=1, scale=1.5)
    return basis, bat.softmax(logits)[0]


@pytest.mark.parametrize("constraints", [1, 4, 10])
def test_intervals_are_those_of_one_program_a_row(constraints: int) -> None:
    basis, probs = context(constraints, constraints)
    tokens = np.argsort(-probs)[:60]
    found = context_thresholds(basis, probs, tokens, time_limit_seconds=PATIENCE)
    expected = bat.critical_thresholds(basis, np.repeat(probs[None], 60, axis=0), tokens)
    # Both contain the same number, and are closed to 1e-6 of it.
    assert found.closed.all()
    np.testing.assert_allclose(found.upper, expected.upper, rtol=2e-6)
    np.testing.assert_allclose(found.lower, expected.lower, rtol=2e-6)


def test_without_constraints_the_critical_threshold_is_the_probability() -> None:
    basis, probs = context(3, 0)
    found = context_thresholds(basis, probs, np.arange(150))
    np.testing.assert_array_equal(found.lower, probs)
    np.testing.assert_array_equal(found.upper, probs)


def test_out_of_time_intervals_are_wide_but_right() -> None:
    basis, probs = context(5, 6)
    tokens = np.argsort(-probs)[:80]
    closed = context_thresholds(basis, probs, tokens, time_limit_seconds=PATIENCE)
    hasty = context_thresholds(basis, probs, tokens, time_limit_seconds=0.0)
    assert Status.UNFINISHED in hasty.status
    assert (hasty.lower <= closed.upper).all()
    assert (hasty.upper >= closed.lower).all()
    assert (
        hasty.upper[np.array(hasty.status) == Status.UNFINISHED] < 1.0
    ).any()  # spreading proves something


def test_beyond_the_cap_nobody_looks() -> None:
    basis, probs = context(5, 6)
    tokens = np.argsort(-probs)[:20]
    cap = float(probs[tokens[2]])
    found = context_thresholds(basis, probs, tokens, cap=cap, time_limit_seconds=PATIENCE)
    assert [status is Status.ABOVE_CAP for status in found.status[:3]] == [True] * 3
    exact = context_thresholds(basis, probs, tokens, time_limit_seconds=PATIENCE)
    assert ((found.lower > cap) == (exact.lower > cap))[3:].all()


@pytest.mark.parametrize(
    "name", [name for name in rule_names() if not get_rule_form(name).takes_no_parameter]
)
def test_one_row_inverts_every_rule_as_its_copies_do(name: str) -> None:
    # Few distinct probabilities, so that tokens tie with each other and with critical thresholds.
    generator = np.random.default_rng(7)
    probs = bat.softmax(np.round(generator.normal(size=(1, 40))))[0]
    own = probs[np.arange(40)]
    critical = np.maximum(own, probs[generator.integers(40, size=40)])
    critical[::9] = 1.0
    form = get_rule_form(name)
    levels = critical if form.basis_aware else own
    expected = form.critical_parameter(np.repeat(probs[None], 40, axis=0), levels, own)
    np.testing.assert_array_equal(form.critical_parameter(ContextSummary(probs, 40), levels, own), expected)
