"""Intervals and decisions through the public door: every solver, every way to ask wrongly."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

import bat
from tests.bat.problems import TOY_THRESHOLD, random_model, toy

SOLVERS = ("certified", "highs", "cbc")


@pytest.mark.parametrize("solver", SOLVERS)
def test_toy_example(solver: str) -> None:
    basis, probs = toy()
    answer = bat.critical_thresholds(basis, np.repeat(probs, 3, axis=0), [0, 1, 2], solver=solver)
    assert answer.lower == pytest.approx([0.42505, 1.0, 0.57495], abs=5e-6)
    assert answer.upper == pytest.approx([0.42505, 1.0, 0.57495], abs=5e-6)
    assert answer.closed.all()
    assert answer.solver == solver
    decisions = bat.decide(basis, np.repeat(probs, 3, axis=0), [0, 1, 2], TOY_THRESHOLD, solver=solver)
    assert decisions.verdicts == (bat.Verdict.REJECT, bat.Verdict.ACCEPT, bat.Verdict.ACCEPT)
    assert decisions.used_program.tolist() == [True, False, True]  # token 1 is above the threshold


@pytest.mark.parametrize("solver", ["highs", "cbc"])
def test_reference_solvers_agree_with_ours(solver: str) -> None:
    basis, logits = random_model(4, tokens=300, hidden=12, constraints=10, batch=6, scale=1.5)
    probs = bat.softmax(logits)
    tokens = [int(np.argsort(row)[-rank]) for row, rank in zip(probs, (1, 3, 10, 40, 120, 290), strict=True)]
    ours = bat.critical_thresholds(basis, probs, tokens)
    theirs = bat.critical_thresholds(basis, probs, tokens, solver=solver)
    assert ours.closed.all()
    # The first token holds nearly all mass and tau* is one. CBC gives up there; it must say so.
    assert theirs.closed[1:].all()
    assert theirs.closed[0] or theirs.status[0] is bat.Status.FAILED
    assert (theirs.lower <= ours.upper).all()
    assert (ours.lower <= theirs.upper).all()


def test_reports_certificates_effort_and_status() -> None:
    basis, logits = random_model(1, tokens=200, constraints=6)
    probs = bat.softmax(logits)
    answer = bat.critical_thresholds(basis, probs, [10, 20, 30])
    assert answer.status == (bat.Status.CLOSED,) * 3
    assert (answer.effort.passes >= 1).all()
    assert (answer.effort.seconds > 0).all()
    for certificate in answer.certificates:
        assert certificate is not None
        assert certificate.direction.shape == (7,)
    copy = pickle.loads(pickle.dumps(answer))
    assert (copy.lower == answer.lower).all()
    assert copy.status == answer.status


def test_a_decision_costs_less_than_an_interval_and_can_be_proved() -> None:
    basis, logits = random_model(2, tokens=5000, hidden=30, constraints=20, batch=8, scale=1.0)
    probs = bat.softmax(logits)
    tokens = [int(np.argsort(row)[-200]) for row in probs]
    interval = bat.critical_thresholds(basis, probs, tokens)
    # Thresholds well away from the critical ones, on both sides.
    taus = np.where(np.arange(8) % 2 == 0, interval.lower / 3, np.minimum(3 * interval.upper, 0.9))
    taus = np.maximum(taus, 1.01 * probs[np.arange(8), tokens])
    decisions = bat.decide(basis, probs, tokens, taus)
    assert not decisions.undecided.any()
    assert (decisions.accepted == (taus < interval.lower)).all()
    assert decisions.effort.passes.sum() < interval.effort.passes.sum()
    assert decisions.certificates == (None,) * 8
    proved = bat.decide(basis, probs, tokens, taus, certificates=True)
    assert proved.verdicts == decisions.verdicts
    assert all(certificate is not None for certificate in proved.certificates)


def test_a_tie_with_the_threshold_is_accepted_without_a_program() -> None:
    basis, probs = toy()
    decisions = bat.decide(basis, probs, [2], float(probs[0, 2]))
    assert decisions.verdicts == (bat.Verdict.ACCEPT,)
    assert not decisions.used_program[0]
    assert decisions.upper[0] == 1.0  # nothing was proved from above


def test_the_critical_threshold_itself_is_undecided_rather_than_guessed() -> None:
    basis, probs = toy()
    # 0.4250...: within one rounding of the critical threshold of token 0.
    answer = bat.critical_thresholds(basis, probs, [0], tolerance=1e-12)
    middle = float((answer.lower[0] + answer.upper[0]) / 2)
    decisions = bat.decide(basis, probs, [0], middle)
    assert decisions.verdicts == (bat.Verdict.UNDECIDED,)
    assert decisions.lower[0] <= middle <= decisions.upper[0]


def test_an_impossible_token_is_rejected() -> None:
    basis, _ = toy()
    decisions = bat.decide(basis, np.array([[0.5, 0.5, 0.0]]), [2], 0.1)
    assert decisions.verdicts == (bat.Verdict.REJECT,)
    assert (decisions.lower[0], decisions.upper[0]) == (0.0, 0.0)


def test_all_probability_on_one_token() -> None:
    basis, _ = random_model(0, tokens=20, constraints=4)
    probs = np.zeros((2, 20))
    probs[:, 3] = 1.0
    answer = bat.critical_thresholds(basis, probs, [3, 5])
    assert answer.lower.tolist() == [1.0, 0.0]
    assert answer.upper.tolist() == [1.0, 0.0]


def test_underflowed_probabilities_are_no_obstacle() -> None:
    basis, logits = random_model(9, tokens=400, hidden=12, constraints=8, batch=2, scale=200.0)
    probs = bat.softmax(logits)
    assert (probs == 0.0).sum() > 50  # the point of the test
    tokens = [int(np.argsort(row)[-2]) for row in probs]
    answer = bat.critical_thresholds(basis, probs, tokens)
    assert (answer.lower >= probs[np.arange(2), tokens]).all()
    assert (answer.lower <= answer.upper).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_of_any_float_type(dtype: torch.dtype) -> None:
    basis, logits = random_model(5, tokens=50, constraints=4)
    probs = torch.softmax(torch.tensor(logits).to(dtype).float(), dim=-1).to(dtype)
    answer = bat.critical_thresholds(basis, probs, torch.tensor([1, 2, 3]))
    exactly = bat.critical_thresholds(basis, bat.softmax(logits), [1, 2, 3])
    assert answer.upper == pytest.approx(
        exactly.upper, rel=0.2 if dtype in (torch.float16, torch.bfloat16) else 1e-3
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probs": np.full((1, 3), 0.5)}, "sum to one"),
        ({"probs": np.array([[0.5, np.nan, 0.5]])}, "finite"),
        ({"probs": np.array([[1.5, -0.5, 0.0]])}, "negative"),
        ({"probs": np.array([0.5, 0.25, 0.25])}, "shape"),
        ({"probs": np.full((1, 4), 0.25)}, "basis's 3 tokens"),
        ({"tokens": [3]}, r"\[0, 3\)"),
        ({"tokens": [-1]}, r"\[0, 3\)"),
        ({"tokens": [0, 1]}, "shape"),
        ({"tokens": [0.5]}, "integers"),
        ({"solver": "hihgs"}, "Did you mean 'highs'"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": 2.0}, "tolerance"),
        ({"threads": 0}, "threads"),
    ],
)
def test_bad_input_gets_a_clear_error(change: dict[str, object], message: str) -> None:
    basis, probs = toy()
    arguments = {"basis": basis, "probs": probs, "tokens": [0], **change}
    with pytest.raises(bat.InvalidInputError, match=message):
        bat.critical_thresholds(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("threshold", [1.0, -0.1, np.nan, [0.1, 0.2]])
def test_bad_thresholds(threshold: object) -> None:
    basis, probs = toy()
    with pytest.raises(bat.InvalidInputError, match="thresholds"):
        bat.decide(basis, probs, [0], threshold)  # type: ignore[arg-type]
