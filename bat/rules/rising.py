"""Rules that reject more as their parameter rises: epsilon, eta and min-p, plain and basis-aware.

Their critical parameter is where rejection begins:

    plain           rejected at theta  when  critical_parameter <  theta
    basis-aware     rejected at theta  when  critical_parameter <= theta

It is at most 1, which lies outside every interval and means "never". Thresholds and inverses are rounded
float64 formulas, so for eta and min-p the two directions may disagree within about 1e-12 of the boundary
(relative), or where a parameter near 1e-308 makes the threshold underflow; epsilon's are exact.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bat.arrays import BoolArray, FloatArray
from bat.rules.base import LARGEST_THRESHOLD, ThresholdRule
from bat.rules.facts import Facts, as_levels, facts_of
from bat.rules.summary import Summary


@dataclass(frozen=True, slots=True)
class RisingRule(ThresholdRule):
    """A threshold that grows with a parameter in (0, 1)."""

    parameter: float

    requirement: ClassVar[str] = "must lie in (0, 1)"

    @classmethod
    def check_parameter(cls, parameter: object) -> float:
        return cls.open_fraction(parameter)

    def thresholds(self, probs: FloatArray | Summary) -> FloatArray:
        rows = Summary.of(probs)
        ceiling = np.minimum(rows.maximum, LARGEST_THRESHOLD)  # the most likely token is always kept
        return np.minimum(self._formula(rows), ceiling)

    @classmethod
    def critical_parameter(
        cls, probs: FloatArray | Facts, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None = None
    ) -> FloatArray:
        rows = facts_of(probs)
        level, ties_kept = as_levels(len(rows), critical, token_probs, basis_aware=cls.basis_aware)
        boundary = cls._inverse(rows, level)
        if cls.basis_aware:
            # "rejected from just above": the next number makes <= mean what < means for a plain rule.
            boundary = np.where(ties_kept, np.nextafter(boundary, np.inf), boundary)
        # No threshold exceeds the largest probability, so nothing rejects a token beyond it.
        never = (level > rows.maximum) | (ties_kept & (level == rows.maximum))
        return np.where(never, 1.0, np.minimum(boundary, 1.0))

    @classmethod
    def _compare(cls, critical_parameter: FloatArray, parameter: FloatArray) -> BoolArray:
        if cls.basis_aware:
            return np.asarray(critical_parameter <= parameter)
        return np.asarray(critical_parameter < parameter)

    @abstractmethod
    def _formula(self, rows: Summary) -> FloatArray:
        """The threshold before it is held to the largest probability, [B] or [1]."""

    @classmethod
    @abstractmethod
    def _inverse(cls, rows: Facts, level: FloatArray) -> FloatArray:
        """The parameter whose threshold is ``level``, [B]."""


@dataclass(frozen=True, slots=True)
class Epsilon(RisingRule):
    """Keep tokens with probability at least epsilon (Hewitt et al. 2022)."""

    name: ClassVar[str] = "epsilon"
    advice: ClassVar[str] = "Use a probability such as 0.0006."

    def _formula(self, rows: Summary) -> FloatArray:
        return np.full(1, self.parameter)

    @classmethod
    def _inverse(cls, rows: Facts, level: FloatArray) -> FloatArray:
        return level


@dataclass(frozen=True, slots=True)
class Eta(RisingRule):
    """Keep tokens with probability at least min(eta, sqrt(eta) exp(-entropy)) (Hewitt et al. 2022).

    The entropy is in nats. The paper prints the second arm as sqrt(eta) times the entropy; its code, Hewitt
    et al. and transformers use exp(-entropy), and so do we.
    """

    name: ClassVar[str] = "eta"
    advice: ClassVar[str] = "Use a probability such as 0.002."

    def _formula(self, rows: Summary) -> FloatArray:
        return np.asarray(np.minimum(self.parameter, np.sqrt(self.parameter) * np.exp(-rows.entropy)))

    @classmethod
    def _inverse(cls, rows: Facts, level: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(level, (level * np.exp(rows.entropy)) ** 2))


@dataclass(frozen=True, slots=True)
class MinP(RisingRule):
    """Keep tokens at least alpha times as likely as the most likely one (Nguyen et al. 2024)."""

    name: ClassVar[str] = "min-p"
    advice: ClassVar[str] = "Use a fraction such as 0.05."

    def _formula(self, rows: Summary) -> FloatArray:
        return self.parameter * rows.maximum

    @classmethod
    def _inverse(cls, rows: Facts, level: FloatArray) -> FloatArray:
        return level / rows.maximum


@dataclass(frozen=True, slots=True)
class BasisAwareEpsilon(Epsilon):
    """Epsilon's threshold, with the program deciding about tokens below it."""

    name: ClassVar[str] = "ba-epsilon"
    basis_aware: ClassVar[bool] = True
    advice: ClassVar[str] = "Use a probability such as 0.006."


@dataclass(frozen=True, slots=True)
class BasisAwareEta(Eta):
    """Eta's threshold, with the program deciding about tokens below it: the paper's BA-eta."""

    name: ClassVar[str] = "ba-eta"
    basis_aware: ClassVar[bool] = True
    advice: ClassVar[str] = "Use a probability such as 0.024."


@dataclass(frozen=True, slots=True)
class BasisAwareMinP(MinP):
    """Min-p's threshold, with the program deciding about tokens below it."""

    name: ClassVar[str] = "ba-min-p"
    basis_aware: ClassVar[bool] = True
