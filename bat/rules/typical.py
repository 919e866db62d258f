"""Locally typical sampling: the one rule here without a threshold, hence without a basis-aware form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from bat.program import FloatArray
from bat.rules.base import BoolArray, Rule
from bat.rules.summary import Summary, check_levels, first_reaching, largest_target_before


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
        distances = _distances(rows)
        order = np.argsort(distances, axis=1)
        running_sums = _running_sums(rows, order)
        rank = first_reaching(running_sums, self.parameter, rows.positives)
        last = np.take_along_axis(order, rank[:, None], axis=1)  # [B, 1]
        return np.asarray(distances <= np.take_along_axis(distances, last, axis=1))

    @classmethod
    def critical_parameter(
        cls, probs: FloatArray | Summary, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None = None
    ) -> FloatArray:
        """See the class. Distance depends on a token only through its probability, ``critical``."""
        rows = Summary.of(probs)
        level = check_levels(critical, len(rows.probs), "critical")
        distances = _distances(rows)
        with np.errstate(divide="ignore"):
            own = np.abs(-np.log(level) - rows.entropy)  # [B]
        # The logarithm of one number may differ in the last bit between an array of one shape and another,
        # so tokens of equal probability are told apart by the probability itself.
        nearer = (distances < own[:, None]) & (rows.probs != level[:, None])
        order = np.argsort(distances, axis=1)
        return largest_target_before(
            _running_sums(rows, order), np.count_nonzero(nearer, axis=1), rows.positives
        )

    @classmethod
    def _compare(cls, critical_parameter: FloatArray, parameter: FloatArray) -> BoolArray:
        return np.asarray(parameter <= critical_parameter)


def _distances(rows: Summary) -> FloatArray:
    """How far each token's surprisal is from the entropy, [B, v]; infinite for probability zero."""
    return np.asarray(np.abs(rows.surprisals - rows.entropy[:, None]))


def _running_sums(rows: Summary, order: npt.NDArray[np.intp]) -> FloatArray:
    return np.asarray(np.cumsum(np.take_along_axis(rows.probs, order, axis=1), axis=1))
