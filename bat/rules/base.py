"""What a rule must answer. ``docs/extending.md`` shows how to write one; ``bat.testing`` checks it.

Forwards: what the rule keeps of a distribution at its parameter.

    keep          every rule
    thresholds    a threshold rule, in place of ``keep``

    plain rule           a token is rejected when  p_i < tau                    (ties kept)
    basis-aware form     a token is rejected when  tau*_i <= tau and p_i < tau  (ties kept)

``tau`` never exceeds the row's largest probability, so the most likely token is always kept, and stays
below one, where the program that defines the critical threshold tau*_i ends.

Backwards: at which parameter a token starts or stops being rejected.

    invert        every rule; a class method, because it needs no particular parameter

so that one pass over human text gives rejection rates at every parameter. ``bat.rules.form`` turns that into
``critical_parameter`` and ``rejects``, for the plain and the basis-aware form alike.

About its parameter: which values it takes (``limits``, ``requirement``), whether a larger one rejects more
(``rises``), and how values are spread (``scale``, ``default_parameters``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from bat.arrays import BoolArray, FloatArray
from bat.errors import InvalidInputError
from bat.rules.facts import Facts
from bat.rules.summary import Summary

if TYPE_CHECKING:
    from bat.rules.form import RuleForm


class Scale(StrEnum):
    """How the values of a parameter are spread, which decides what lies in the middle of two of them."""

    LOG = "log"  # probabilities, which span decades
    LINEAR = "linear"  # masses and other shares
    WHOLE = "whole"  # counts, which span decades too; only for rules that reject more as the count falls


@dataclass(frozen=True, slots=True)
class Rule(ABC):
    """A way to decide which tokens of a distribution may be sampled. Compare with ==, print with str()."""

    parameter: float | None = None
    basis_aware: bool = False  # whether the program decides about tokens below the threshold

    plain_name: ClassVar[str]  # "eta"; the basis-aware form is called "ba-eta"
    has_basis_aware_form: ClassVar[bool] = False  # threshold rules have one
    takes_no_parameter: ClassVar[bool] = False
    keeps_every_token: ClassVar[bool] = False  # ancestral: there is no truncation before or after anything
    keeps_one_token: ClassVar[bool] = False  # greedy: nothing is left to draw
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)  # the parameter lies between
    requirement: ClassVar[str] = "must lie in (0, 1)"  # the same in words, for errors
    quantity: ClassVar[str] = "number"  # what the parameter is, for errors: "Use a number such as 0.1."
    example: ClassVar[float]  # a parameter that people use
    basis_aware_example: ClassVar[float | None] = None  # one for the basis-aware form, if it is another
    rises: ClassVar[bool] = False  # whether a larger parameter rejects more
    scale: ClassVar[Scale] = Scale.LINEAR
    # Whether ``thresholds`` and ``keep`` ask a Summary alone and compute with operators and ``Summary.xp``.
    # Then they work where the logits are; otherwise whole distributions go to the host first.
    takes_tensors: ClassVar[bool] = False
    # Names of ``facts.EXTRA_FACTS`` that ``invert`` asks. Human text is measured with what a sweep needs.
    extra_facts: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.basis_aware and not self.has_basis_aware_form:
            raise InvalidInputError(f"{self.form.plain_name} has no basis-aware form. Use it without.")
        object.__setattr__(self, "parameter", self.form.check_parameter(self.parameter))

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}={self.parameter!r}"

    @property
    def form(self) -> RuleForm:
        """The rule without its parameter, for questions that need none."""
        from bat.rules.form import RuleForm

        return RuleForm(type(self), self.basis_aware)

    @property
    def name(self) -> str:
        """What ``get_rule`` finds it by: "eta", "ba-eta"."""
        return self.form.name

    @classmethod
    def accept_parameter(cls, parameter: float) -> float | None:
        """The parameter as the rule stores it; None when it lies outside the interval."""
        low, high = cls.limits
        if not low < parameter < high:  # also NaN
            return None
        if cls.scale is Scale.WHOLE:
            return int(parameter) if float(parameter).is_integer() else None
        return parameter

    @classmethod
    def default_parameters(cls) -> FloatArray:
        """The grid that curves are drawn on: even steps, on the scale on which the parameter is chosen."""
        match cls.scale:
            case Scale.LOG:
                return np.geomspace(1e-6, 0.9, 100)
            case Scale.WHOLE:
                return np.unique(np.geomspace(1, 100_000, 100).round())
        return np.linspace(0.01, 0.99, 99)

    @abstractmethod
    def keep(self, probs: FloatArray | Summary) -> BoolArray:
        """What the rule keeps without solving any program, [B, v].

        For a plain rule that is all it keeps. For a basis-aware one it is what needs no program.
        """

    @classmethod
    @abstractmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """The parameter at which a token at each level starts or stops being rejected, [B].

        ``levels`` [B] are tokens' probabilities for a plain rule, and their critical thresholds for a
        basis-aware form. ``ties_kept`` [B] says whether a threshold equal to the level keeps the token, as it
        always does for a plain rule. ``rows`` may be stored facts instead of distributions, so ask it for
        nothing but what ``Facts`` has, and for that only at these levels.

            rises    the parameter whose threshold is the level; from there on the token is rejected
            falls    the largest parameter that still rejects the token, the lower limit when none does
        """

    def critical_parameter(
        self, probs: FloatArray | Facts, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None = None
    ) -> FloatArray:
        """See ``RuleForm.critical_parameter``."""
        return self.form.critical_parameter(probs, critical, token_probs)

    def rejects(self, critical_parameter: npt.ArrayLike, parameter: npt.ArrayLike | None) -> BoolArray:
        """See ``RuleForm.rejects``."""
        return self.form.rejects(critical_parameter, parameter)


@dataclass(frozen=True, slots=True)
class ThresholdRule(Rule):
    """A rule that compares each token with one threshold per row; these have basis-aware forms."""

    has_basis_aware_form: ClassVar[bool] = True

    @abstractmethod
    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        """The threshold tau of each row, [B], in [0, 1) and at most the row's largest probability.

        ``Summary.of(probs)`` gives what rules ask of rows, and its ``capped`` keeps tau within these bounds.
        """

    def keep(self, probs: FloatArray | Summary) -> BoolArray:
        rows = Summary.of(probs)
        return rows.probs >= self.thresholds(rows).reshape(-1, 1)


def check_rule(rule: object) -> None:
    """Raise unless this is a rule with its parameter."""
    if isinstance(rule, Rule):
        return
    if isinstance(rule, str):
        received, advice = f"the string {rule!r}", f"Use bat.get_rule({rule!r})."
    else:
        kind = (
            "a class" if isinstance(rule, type) else "a function" if callable(rule) else type(rule).__name__
        )
        received, advice = f"{kind} ({rule!r})", 'Use bat.get_rule("eta", 0.002), or a Rule of your own.'
    raise InvalidInputError(f"rule must be a bat.rules.Rule with its parameter; got {received}. {advice}")
