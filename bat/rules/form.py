"""A rule without its parameter: "eta" or "ba-eta" as such.

This is what a sweep asks about a method whose parameter is not known yet, and what rejection rates at every
parameter are computed with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat.arrays import BoolArray, FloatArray
from bat.errors import InvalidInputError
from bat.rules.base import Rule, Scale, ThresholdRule
from bat.rules.facts import Facts, as_levels, facts_of

BASIS_AWARE_PREFIX = "ba-"


@dataclass(frozen=True, slots=True)
class RuleForm:
    """A rule, plain or basis-aware. Call it with a parameter to get the rule itself."""

    rule: type[Rule]
    basis_aware: bool = False

    def __call__(self, parameter: float | None = None) -> Rule:
        return self.rule(parameter, self.basis_aware)

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """What ``get_rule`` finds it by: "eta", "ba-eta"."""
        return f"{BASIS_AWARE_PREFIX}{self.plain_name}" if self.basis_aware else self.plain_name

    @property
    def plain_name(self) -> str:
        """The name of the plain form: the class's own where it is registered so, else module:Class."""
        from bat.rules.registry import name_of

        return name_of(self.rule)

    @property
    def takes_no_parameter(self) -> bool:
        return self.rule.takes_no_parameter

    @property
    def requirement(self) -> str:
        """What the parameter must be, as in "must lie in (0, 1)"."""
        return "takes no parameter" if self.takes_no_parameter else self.rule.requirement

    @property
    def advice(self) -> str:
        """What to write instead of an invalid parameter."""
        if self.takes_no_parameter:
            return "Write the name alone."
        example = self.rule.basis_aware_example if self.basis_aware else None
        return f"Use a {self.rule.quantity} such as {self.rule.example if example is None else example:g}."

    @property
    def rises(self) -> bool:
        """Whether a larger parameter rejects more."""
        return self.rule.rises

    @property
    def scale(self) -> Scale:
        return self.rule.scale

    @property
    def limits(self) -> tuple[float, float]:
        """The interval that the parameter lies in."""
        return self.rule.limits

    def default_parameters(self) -> FloatArray:
        """The grid that curves of the rule are drawn on."""
        return self.rule.default_parameters()

    def check_parameter(self, parameter: object) -> float | None:
        """The parameter as the rule stores it; InvalidInputError when the rule does not take it."""
        if self.takes_no_parameter:
            if parameter is not None:
                raise self.invalid_parameter(parameter)
            return None
        accepted = self.rule.accept_parameter(_as_number(parameter))
        if accepted is None:
            raise self.invalid_parameter(parameter)
        return accepted

    def invalid_parameter(self, parameter: object) -> InvalidInputError:
        """The error for a parameter that the rule does not take, or that is missing."""
        if parameter is None:
            return InvalidInputError(f"{self.name} needs a value, which {self.requirement}. {self.advice}")
        return InvalidInputError(f"{self.name} {self.requirement}; got {parameter!r}. {self.advice}")

    def critical_parameter(
        self, probs: FloatArray | Facts, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None = None
    ) -> FloatArray:
        """The parameter at which a token of each row starts or stops being rejected, [B].

        ``probs`` may be stored facts about the tokens instead of distributions: the answer is the same.
        ``critical`` is the token's probability for a plain rule and its critical threshold tau* for a
        basis-aware one. ``token_probs`` matters to basis-aware rules only: where tau* equals the
        token's probability (always with no constraints) a threshold on the tie keeps the token.
        Read the answer with ``rejects``.
        """
        rows = facts_of(probs)
        levels, ties_kept = as_levels(len(rows), critical, token_probs, basis_aware=self.basis_aware)
        boundary = self.rule.invert(rows, levels, ties_kept)
        if not self.rises:
            return boundary
        if self.basis_aware:
            # "rejected from just above": the next number makes <= mean what < means for a plain rule.
            boundary = np.where(ties_kept, np.nextafter(boundary, np.inf), boundary)
        never = self.limits[1]  # which no parameter reaches
        if issubclass(self.rule, ThresholdRule):
            # No threshold exceeds the largest probability, so nothing rejects a token beyond it.
            beyond = (levels > rows.maximum) | (ties_kept & (levels == rows.maximum))
            boundary = np.where(beyond, never, boundary)
        return np.minimum(boundary, never)

    def rejects(self, critical_parameter: npt.ArrayLike, parameter: npt.ArrayLike | None) -> BoolArray:
        """Whether tokens with these critical parameters are rejected at ``parameter`` (broadcast).

            rises, plain          critical_parameter <  parameter
            rises, basis-aware    critical_parameter <= parameter
            falls                 parameter <= critical_parameter

        Rules without a parameter take None, and read as falling ones at a parameter of 1.
        """
        if (parameter is None) != self.takes_no_parameter:
            raise self.invalid_parameter(parameter)
        boundary = np.asarray(critical_parameter, dtype=np.float64)
        value = np.asarray(1.0 if parameter is None else parameter, dtype=np.float64)
        if not self.rises:
            return np.asarray(value <= boundary)
        return np.asarray(boundary <= value if self.basis_aware else boundary < value)


def _as_number(parameter: object) -> float:
    """A real number as float; NaN, which lies in no interval, for anything else."""
    is_real = isinstance(parameter, int | float | np.integer | np.floating)
    return float(parameter) if is_real and not isinstance(parameter, bool) else float("nan")  # type: ignore[arg-type]
