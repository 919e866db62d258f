"""The one shape of every rule.

A rule answers in two directions. Forwards: what it keeps of a distribution (``keep``, and for threshold
rules ``thresholds``). Backwards: from which parameter on it refuses a token (``critical_parameter``, read
by ``rejects``), so that one pass over human text gives rejection rates at every parameter.

    plain rule           a token is rejected when  p_i < tau                    (ties kept)
    basis-aware rule     a token is rejected when  tau*_i <= tau and p_i < tau  (ties kept)

``tau`` never exceeds the row's largest probability, so the most likely token is always kept, and stays
below one, where the program that defines the critical threshold tau*_i ends.

Backwards questions are class methods: they need no particular parameter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bat.arrays import BoolArray, FloatArray
from bat.errors import InvalidInputError
from bat.rules.facts import Facts
from bat.rules.summary import Summary

LARGEST_THRESHOLD = float(np.nextafter(1.0, 0.0))


@dataclass(frozen=True, slots=True)
class Rule(ABC):
    """A way to decide which tokens of a distribution may be sampled. Compare with ==, print with str()."""

    parameter: float | None

    name: ClassVar[str]
    basis_aware: ClassVar[bool] = False
    takes_no_parameter: ClassVar[bool] = False
    requirement: ClassVar[str]  # "must lie in (0, 1)"
    advice: ClassVar[str]  # what to write instead, shown in errors

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameter", self.check_parameter(self.parameter))

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}={self.parameter!r}"

    @classmethod
    @abstractmethod
    def check_parameter(cls, parameter: object) -> float | None:
        """The parameter as the rule stores it; InvalidInputError when it lies outside the interval."""

    @classmethod
    def open_fraction(cls, parameter: object) -> float:
        """The parameter of a rule that takes one strictly between 0 and 1."""
        value = as_fraction(parameter)
        if not 0.0 < value < 1.0:
            raise cls.refusal(parameter)
        return value

    @abstractmethod
    def keep(self, probs: FloatArray | Summary) -> BoolArray:
        """What the rule keeps without solving any program, [B, v].

        For a plain rule that is all it keeps. For a basis-aware rule it is what needs no program.
        """

    @classmethod
    @abstractmethod
    def critical_parameter(
        cls,
        probs: FloatArray | Facts,
        critical: npt.ArrayLike,
        token_probs: npt.ArrayLike | None = None,
    ) -> FloatArray:
        """The parameter at which a token of each row starts or stops being rejected, [B].

        ``probs`` may be stored facts about the tokens instead of distributions: the answer is the same.
        ``critical`` is the token's probability for a plain rule and its critical threshold tau* for a
        basis-aware one. ``token_probs`` matters to basis-aware rules only: where tau* equals the
        token's probability (always with no constraints) a threshold on the tie keeps the token.
        Read the answer with ``rejects``.
        """

    @classmethod
    def rejects(cls, critical_parameter: npt.ArrayLike, parameter: npt.ArrayLike | None) -> BoolArray:
        """Whether tokens with these critical parameters are rejected at ``parameter`` (broadcast).

        Rules without a parameter take None.
        """
        if (parameter is None) != cls.takes_no_parameter:
            raise cls.refusal(parameter)
        boundary = np.asarray(critical_parameter, dtype=np.float64)
        return cls._compare(boundary, np.asarray(parameter, dtype=np.float64))

    @classmethod
    @abstractmethod
    def _compare(cls, critical_parameter: FloatArray, parameter: FloatArray) -> BoolArray:
        """What ``rejects`` answers, on arrays; ``parameter`` is NaN for a rule that takes none."""

    @classmethod
    def refusal(cls, parameter: object) -> InvalidInputError:
        return InvalidInputError(f"{cls.name} {cls.requirement}; got {parameter!r}. {cls.advice}")


@dataclass(frozen=True, slots=True)
class ThresholdRule(Rule):
    """A rule that compares each token with one threshold per row; these have basis-aware forms."""

    @abstractmethod
    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        """The threshold tau of each row, [B], in [0, 1) and at most the row's largest probability."""

    def keep(self, probs: FloatArray | Summary) -> BoolArray:
        rows = Summary.of(probs)
        return np.asarray(rows.probs >= self.thresholds(rows)[:, None])


def as_fraction(parameter: object) -> float:
    """A real number as float; NaN, which lies in no interval, for anything else."""
    is_real = isinstance(parameter, int | float | np.integer | np.floating)
    return float(parameter) if is_real and not isinstance(parameter, bool) else float("nan")  # type: ignore[arg-type]
