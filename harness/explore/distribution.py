"""One distribution for every parameter at once: at which parameter each method rejects each token.

A rule knows its inverse: from a token's probability, or its critical threshold, it computes the parameter at
which the token starts or stops being rejected. So a method is one number a token (two where only an interval
of the critical threshold is known), and whoever has these numbers decides for any parameter by comparing,
without knowing the rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

import bat
from bat.arrays import FloatArray, IntArray
from bat.context_thresholds import context_thresholds
from bat.errors import BatError
from bat.rules import RuleForm, ThresholdRule, get_rule_form, rule_names
from bat.rules.context import ContextSummary
from harness.explore.next_token import CRITICAL_CAP

# How a critical parameter is compared with the parameter; the token is rejected where this holds.
Comparison = Literal["critical < parameter", "critical <= parameter", "parameter <= critical"]


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Numbers that are known to lie between two bounds, one for each token."""

    lower: FloatArray  # [n]
    upper: FloatArray  # [n]


@dataclass(frozen=True, slots=True, eq=False)
class MethodCurve:
    """A method at all parameters."""

    form: RuleForm
    parameters: FloatArray  # [g]: from the rule's own grid
    thresholds: FloatArray | None  # [g]; None for a rule without one
    # By number of constraints; a plain method's, which has none, are under None. Bounds of thresholds: a
    # token is rejected where the upper one says so, and accepted where the lower one does.
    critical: Mapping[int | None, Interval]

    @property
    def comparison(self) -> Comparison:
        """What `RuleForm.rejects` does."""
        if not self.form.rises:
            return "parameter <= critical"
        return "critical <= parameter" if self.form.basis_aware else "critical < parameter"


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """The likeliest tokens of a distribution, most likely first, and every method on them."""

    tokens: IntArray  # [n]
    probabilities: FloatArray  # [n]
    entropy: float  # nats
    critical_thresholds: Mapping[int, Interval]  # by number of constraints
    methods: tuple[MethodCurve, ...]
    problems: Mapping[str, str]  # rules that failed, and why


def rules_with_a_parameter() -> list[RuleForm]:
    """All rules that are installed and have a parameter to vary."""
    forms = map(get_rule_form, rule_names())
    return [form for form in forms if not form.takes_no_parameter]


def describe_distribution(
    probs: FloatArray,
    bases: Mapping[int, bat.Basis],
    forms: Sequence[RuleForm] | None = None,
    *,
    tokens: int = 200,
    time_limit_seconds: float = 20.0,
) -> Distribution:
    """Compute the critical parameters of the likeliest tokens of one distribution, [v].

    ``bases`` are by number of constraints. ``time_limit_seconds`` is for each of them; tokens whose critical
    threshold is not found in this time have a wide interval.
    """
    shown = np.argsort(-probs, kind="stable")[:tokens]
    rows = ContextSummary(probs, len(shown))
    # No threshold exceeds the largest probability, so nobody asks how far beyond it a critical one lies.
    cap = min(CRITICAL_CAP, float(rows.maximum[0]))
    intervals = {}
    for number, basis in bases.items():
        found = context_thresholds(basis, probs, shown, cap=cap, time_limit_seconds=time_limit_seconds)
        intervals[number] = Interval(found.lower, found.upper)
    methods, problems = [], {}
    for form in rules_with_a_parameter() if forms is None else forms:
        try:
            methods.append(_curve(form, rows, probs[shown], intervals))
        except (BatError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            problems[form.name] = str(error)  # a rule of another package; the others are still of use
    return Distribution(shown, probs[shown], float(rows.entropy[0]), intervals, tuple(methods), problems)


def _curve(
    form: RuleForm, rows: ContextSummary, own: FloatArray, intervals: Mapping[int, Interval]
) -> MethodCurve:
    grid = form.default_parameters()
    thresholds = None
    if issubclass(form.rule, ThresholdRule):
        rules = (form.rule(form.check_parameter(parameter)) for parameter in grid.tolist())
        thresholds = np.array([float(rule.thresholds(rows)[0]) for rule in rules])
    critical: dict[int | None, Interval]
    if form.basis_aware:
        critical = {
            number: Interval(
                form.critical_parameter(rows, interval.lower, own),
                form.critical_parameter(rows, interval.upper, own),
            )
            for number, interval in intervals.items()
        }
    else:
        plain = form.critical_parameter(rows, own)
        critical = {None: Interval(plain, plain)}
    return MethodCurve(form, grid, thresholds, critical)
