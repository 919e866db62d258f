"""Locally typical sampling: the one rule here without a threshold, hence without a basis-aware form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bat.arrays import BoolArray, FloatArray
from bat.rules.base import Rule
from bat.rules.facts import Facts
from bat.rules.summary import Summary


@dataclass(frozen=True, slots=True)
class Typical(Rule):
    """Keep the tokens whose surprisal is nearest the entropy, until their mass reaches the parameter.

    Meister et al. 2023. Tokens equally near as the last one are kept, as in transformers'
    TypicalLogitsWarper. The most likely token is not always among the kept. The critical parameter is the
    mass of the tokens strictly nearer than the token in question.
    """

    parameter: float

    plain_name: ClassVar[str] = "typical"
    quantity: ClassVar[str] = "mass"
    example: ClassVar[float] = 0.95
    takes_tensors: ClassVar[bool] = True

    def keep(self, probs: FloatArray | Summary) -> BoolArray:
        rows = Summary.of(probs)
        return rows.distances <= rows.farthest_reaching(self.parameter).reshape(-1, 1)

    @classmethod
    def invert(cls, rows: Facts, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """See the class. Distance depends on a token only through its probability, its level."""
        return rows.mass_nearer(levels)
