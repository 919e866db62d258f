"""Locally typical sampling: the one rule here without a threshold, hence without a basis-aware form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bat.arrays import BoolArray, FloatArray
from bat.rules.base import Rule
from bat.rules.facts import Facts, facts_of
from bat.rules.summary import Summary, check_levels, first_reaching


@dataclass(frozen=True, slots=True)
class Typical(Rule):
    """Keep the tokens whose surprisal is nearest the entropy, until their mass reaches the parameter.

    Meister et al. 2023. Tokens equally near as the last one are kept, as in transformers'
    TypicalLogitsWarper. The most likely token is not always among the kept. Rejection reads

        rejected at theta  when  theta <= critical_parameter

    where the critical parameter is the mass of the tokens strictly nearer than the token in question.
    """

    parameter: float

    name: ClassVar[str] = "typical"
    requirement: ClassVar[str] = "must lie in (0, 1)"
    advice: ClassVar[str] = "Use a mass such as 0.95."

    @classmethod
    def check_parameter(cls, parameter: object) -> float:
        return cls.open_fraction(parameter)

    def keep(self, probs: FloatArray | Summary) -> BoolArray:
        rows = Summary.of(probs)
        rank = first_reaching(rows.nearest_running_sums, self.parameter, rows.positives)
        last = np.take_along_axis(rows.nearest_first, rank[:, None], axis=1)  # [B, 1]
        return np.asarray(rows.distances <= np.take_along_axis(rows.distances, last, axis=1))

    @classmethod
    def critical_parameter(
        cls, probs: FloatArray | Facts, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None = None
    ) -> FloatArray:
        """See the class. Distance depends on a token only through its probability, ``critical``."""
        rows = facts_of(probs)
        return rows.mass_nearer(check_levels(critical, len(rows), "critical"))

    @classmethod
    def _compare(cls, critical_parameter: FloatArray, parameter: FloatArray) -> BoolArray:
        return np.asarray(parameter <= critical_parameter)
