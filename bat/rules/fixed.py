"""The two rules without a parameter, the ends of every scale: keep everything, keep one token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bat.arrays import BoolArray, FloatArray
from bat.rules.base import LARGEST_THRESHOLD, ThresholdRule
from bat.rules.facts import Facts, as_levels, facts_of
from bat.rules.summary import Summary, check_levels


@dataclass(frozen=True, slots=True)
class FixedRule(ThresholdRule):
    """A threshold rule with nothing to set."""

    parameter: None = None

    takes_no_parameter: ClassVar[bool] = True
    requirement: ClassVar[str] = "takes no parameter"
    advice: ClassVar[str] = "Write the name alone."

    @classmethod
    def check_parameter(cls, parameter: object) -> None:
        if parameter is not None:
            raise cls.refusal(parameter)


@dataclass(frozen=True, slots=True)
class Ancestral(FixedRule):
    """Sample from the distribution as it is: the threshold is zero and nothing is rejected."""

    name: ClassVar[str] = "ancestral"

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        return np.zeros(len(Summary.of(probs).probs))

    @classmethod
    def critical_parameter(
        cls, probs: FloatArray | Facts, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Zero for every token: there is no parameter, and nothing is ever rejected."""
        return np.zeros_like(check_levels(critical, len(facts_of(probs)), "critical"))

    @classmethod
    def _compare(cls, critical_parameter: FloatArray, parameter: FloatArray) -> BoolArray:
        return np.zeros(critical_parameter.shape, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Greedy(FixedRule):
    """Take the most likely token; among equals, the one with the lowest id.

    The threshold is the largest probability, which keeps all equals: ``keep`` alone breaks the tie, so
    that exactly one token of each row remains.
    """

    name: ClassVar[str] = "greedy"

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        return np.minimum(Summary.of(probs).maximum, LARGEST_THRESHOLD)

    def keep(self, probs: FloatArray | Summary) -> BoolArray:
        rows = Summary.of(probs)
        kept = np.zeros(rows.probs.shape, dtype=np.bool_)
        kept[np.arange(len(kept)), rows.probs.argmax(axis=1)] = True
        return kept

    @classmethod
    def critical_parameter(
        cls, probs: FloatArray | Facts, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None = None
    ) -> FloatArray:
        """The number of likelier tokens: as top-k would have it, with k = 1."""
        rows = facts_of(probs)
        return rows.rank(*as_levels(len(rows), critical, None, basis_aware=False)).astype(np.float64)

    @classmethod
    def _compare(cls, critical_parameter: FloatArray, parameter: FloatArray) -> BoolArray:
        # Rejected when some token is likelier. The ids that would break a tie are not known here.
        return np.asarray(critical_parameter >= 1)
