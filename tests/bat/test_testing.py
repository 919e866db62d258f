"""The conformance tests accept every rule and solver of ours, and say what is wrong with bad ones."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from bat.arrays import BoolArray, FloatArray
from bat.program import Answer, Goal, Program
from bat.rules import Facts, Rule, Scale, Summary, ThresholdRule
from bat.rules.registry import RULES
from bat.solvers import SOLVER_NAMES, get_solver
from bat.solvers.certified import CertifiedSolver
from bat.testing import check_rule, check_solver

ROUNDED = {"eta", "min-p", "top-h", "top-n-sigma"}  # their boundary is a rounded formula


@pytest.mark.parametrize("name", RULES.builtins)
def test_our_rules_conform(name: str) -> None:
    check_rule(RULES.get(name), rounding=1e-12 if name in ROUNDED else 0.0)


@pytest.mark.parametrize("name", SOLVER_NAMES)
def test_our_solvers_conform(name: str) -> None:
    check_solver(get_solver(name))


class TopA(ThresholdRule):
    """Keep tokens with probability at least a times the square of the largest one."""

    parameter: float
    plain_name: ClassVar[str] = "top-a"
    example: ClassVar[float] = 0.2
    rises: ClassVar[bool] = True
    scale: ClassVar[Scale] = Scale.LOG

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(self.parameter * rows.maximum**2)

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return levels / rows.maximum**2


def test_a_rule_without_any_decorator_conforms() -> None:
    check_rule(TopA)
    check_rule(TopA, seed=7)
    assert str(TopA(0.2)) == f"{__name__}:TopA=0.2"


class Unfinished(TopA):
    thresholds = ThresholdRule.thresholds  # type: ignore[assignment]


class BadName(TopA):
    plain_name: ClassVar[str] = "ba-top-a"


class Uncapped(TopA):
    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        return np.full(len(Summary.of(probs)), self.parameter)


class WrongWay(TopA):
    rises: ClassVar[bool] = False


class WrongInverse(TopA):
    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        return levels / rows.maximum


class OnlyDistributions(TopA):
    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        assert isinstance(rows, Summary), "no distributions"
        return levels / rows.maximum**2


class TakesAnything(TopA):
    @classmethod
    def accept_parameter(cls, parameter: float) -> float | None:
        return parameter


class GrowingCounts(TopA):
    scale: ClassVar[Scale] = Scale.WHOLE


class CallsNumpy(TopA):
    takes_tensors: ClassVar[bool] = True

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        return rows.capped(self.parameter * np.square(rows.maximum))


class ChangesItsInput(TopA):
    def keep(self, probs: FloatArray | Summary) -> BoolArray:
        rows = Summary.of(probs)
        kept = rows.probs >= self.thresholds(rows)[:, None]
        rows.probs[~kept] = 0.0
        return kept


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (CallsNumpy, r"declares takes_tensors, so it must compute with operators and rows\.xp"),
        (Unfinished, "must define thresholds"),
        (int, "must be a subclass"),
        (BadName, "must not begin with ba-"),
        (Uncapped, "must not exceed the largest probability"),
        (WrongWay, "as the parameter falls"),
        (WrongInverse, "forwards and backwards disagree"),
        (OnlyDistributions, "no distributions"),
        (TakesAnything, "must raise InvalidInputError"),
        (GrowingCounts, "reject more as the count falls"),
        (ChangesItsInput, "must not change what it is given"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(rule: type[Rule], sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_rule(rule)


class TooSure(CertifiedSolver):
    """Claims that every token is rejected from twice its probability on."""

    name = "too-sure"

    def solve(self, program: Program, goal: Goal, prepared: object = None) -> Answer:
        true = super().solve(program, goal, prepared)
        claimed = 1.2 * float(program.probs[program.token])
        return Answer(true.lower, claimed, true.certificate, true.effort, true.status)


def test_a_solver_that_claims_too_much_is_found_out() -> None:
    with pytest.raises(AssertionError, match=r"too-sure: token .* the upper bound .* is too low"):
        check_solver(TooSure())
