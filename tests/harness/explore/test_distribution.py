"""Comparing a parameter with one number a token gives what the rules and the solver decide."""

from __future__ import annotations

import numpy as np
import pytest

import bat
from bat.rules import RuleForm, Summary, get_rule_form
from bat.thresholds import Verdict
from harness.explore.distribution import (
    Distribution,
    Interval,
    MethodCurve,
    describe_distribution,
    rules_with_a_parameter,
)

CONSTRAINTS = (0, 3, 8)


@pytest.fixture(scope="module")
def probs() -> np.ndarray:
    return bat.softmax(np.random.default_rng(2).normal(size=(1, 300)) * 2)[0]


@pytest.fixture(scope="module")
def bases() -> dict[int, bat.Basis]:
    weight = np.random.default_rng(5).normal(size=(300, 12))
    return {number: bat.Basis.from_matrix(weight, number) for number in CONSTRAINTS}


@pytest.fixture(scope="module")
def distribution(probs: np.ndarray, bases: dict[int, bat.Basis]) -> Distribution:
    return describe_distribution(probs, bases, tokens=80)


def verdicts(curve: MethodCurve, interval: Interval, parameter: float) -> list[Verdict]:
    """What a script does that knows no rule."""
    rejects = {
        "critical < parameter": np.less,
        "critical <= parameter": np.less_equal,
        "parameter <= critical": np.greater_equal,
    }[curve.comparison]
    certain, possible = rejects(interval.upper, parameter), rejects(interval.lower, parameter)
    return [
        Verdict.REJECT if sure else Verdict.UNDECIDED if maybe else Verdict.ACCEPT
        for sure, maybe in zip(certain, possible, strict=True)
    ]


@pytest.mark.parametrize("form", rules_with_a_parameter(), ids=str)
def test_comparing_is_deciding(
    form: RuleForm, distribution: Distribution, probs: np.ndarray, bases: dict[int, bat.Basis]
) -> None:
    [curve] = [curve for curve in distribution.methods if curve.form.name == form.name]
    tokens, rows = distribution.tokens, Summary(probs[None])
    seen = set()
    for index in range(3, len(curve.parameters), 12):
        rule = form(float(curve.parameters[index]))
        if not form.basis_aware:
            expected = np.where(rule.keep(rows)[0, tokens], Verdict.ACCEPT, Verdict.REJECT).tolist()
            assert verdicts(curve, curve.critical[None], rule.parameter) == expected
            seen.update(expected)
            continue
        assert curve.thresholds is not None
        threshold = float(rule.thresholds(rows)[0])
        assert curve.thresholds[index] == threshold
        for number, basis in bases.items():
            copies = np.repeat(probs[None], len(tokens), axis=0)
            expected = list(bat.decide(basis, copies, tokens, threshold).verdicts)
            assert verdicts(curve, curve.critical[number], rule.parameter) == expected, (rule, number)
            seen.update(expected)
    assert {Verdict.ACCEPT, Verdict.REJECT} <= seen


def test_a_rule_that_fails_leaves_the_others(probs: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    eta, epsilon = get_rule_form("eta"), get_rule_form("epsilon")
    monkeypatch.setattr(epsilon.rule, "invert", lambda *_: 1 / 0)
    found = describe_distribution(probs, {}, [epsilon, eta], tokens=10)
    assert [curve.form.name for curve in found.methods] == ["eta"]
    assert "division by zero" in found.problems["epsilon"]
