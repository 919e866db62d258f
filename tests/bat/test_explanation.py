"""Explanations carry checkable numbers and readable words."""

from __future__ import annotations

import numpy as np
import pytest

import bat
from tests.bat.problems import TOY_THRESHOLD, random_model, toy


def test_a_rejected_token_comes_with_its_witness() -> None:
    basis, probs = toy()
    told = bat.explain(basis, probs, 0, TOY_THRESHOLD)
    assert told.verdict is bat.Verdict.REJECT
    assert told.witness is not None
    q = told.witness
    assert q == pytest.approx([0.0, 0.703139, 0.296861], abs=1e-6)
    assert basis.rows @ q == pytest.approx(basis.rows @ probs[0], abs=1e-12)
    assert (q <= probs[0] / (1 - TOY_THRESHOLD) * (1 + 1e-9)).all()
    words = str(told)
    assert "rejected" in words
    assert "0.425049" in words
    assert "at most 1.9 times" in words
    assert "token 1: 0.498096 becomes 0.703139" in words


def test_an_accepted_token_comes_with_its_proof() -> None:
    basis, logits = random_model(4, tokens=300, hidden=16, constraints=12, batch=1)
    probs = bat.softmax(logits)
    answer = bat.critical_thresholds(basis, np.repeat(probs, 300, axis=0), list(range(300)))
    # a token that the basis rescues by a wide margin
    token = int(np.argmax(np.where(answer.lower < 0.5, answer.lower / probs[0], 0.0)))
    tau = float(np.sqrt(answer.lower[token] * probs[0, token]))
    told = bat.explain(basis, probs, token, tau, decode=lambda t: f"<{t}>")
    assert told.verdict is bat.Verdict.ACCEPT
    assert told.needed_program
    assert told.witness is None
    values = told.direction @ basis.rows
    against = probs[0] * np.maximum(-values, 0.0)
    weight = probs[0, token] * values[token]
    assert (weight - against.sum()) / (probs[0] @ values) == pytest.approx(told.lower, rel=1e-6)
    shares = {change.token: change.replacement for change in told.changes}
    assert shares == pytest.approx({t: against[t] / weight for t in shares})
    assert "accepted although less likely" in str(told)
    assert f"'<{token}>' ({token})" in str(told)


def test_a_token_above_the_threshold_needs_no_program() -> None:
    basis, probs = toy()
    told = bat.explain(basis, probs, 1, 0.1)
    assert told.verdict is bat.Verdict.ACCEPT
    assert not told.needed_program
    assert "outright" in str(told)
    assert "no threshold rejects it" in str(told)


def test_a_threshold_within_rounding_is_called_undecided() -> None:
    basis, probs = toy()
    answer = bat.critical_thresholds(basis, probs, [0], tolerance=1e-12)
    told = bat.explain(basis, probs, 0, float((answer.lower[0] + answer.upper[0]) / 2))
    assert told.verdict is bat.Verdict.UNDECIDED
    assert "undecided" in str(told)


def test_bad_input() -> None:
    basis, probs = toy()
    with pytest.raises(bat.InvalidInputError, match="one context"):
        bat.explain(basis, np.repeat(probs, 2, axis=0), 0, 0.1)
    with pytest.raises(bat.InvalidInputError, match=r"\[0, 3\)"):
        bat.explain(basis, probs, 7, 0.1)
