"""What the inverse of a rule asks about a token of each row, and the answers worth storing.

A ``Summary`` answers from the whole distribution. ``TokenFacts`` are the answers themselves, a handful of
numbers a row: they give every rule's critical parameter bit for bit, long after the distribution is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from bat.arrays import BoolArray, FloatArray, IntArray
from bat.errors import InvalidInputError
from bat.rules.summary import Summary, check_levels

# What only some rules ask, and what older measurements of human text lack; see ``Rule.extra_facts``.
EXTRA_FACTS = ("deviation", "collision", "entropy_share")


class Facts(Protocol):
    """Questions about a batch, one level for each row: a token's probability, or its critical threshold."""

    @property
    def maximum(self) -> FloatArray: ...  # [B]: the largest probability

    @property
    def entropy(self) -> FloatArray: ...  # [B], nats

    @property
    def deviation(self) -> FloatArray: ...  # [B]: the standard deviation of log p over the possible tokens

    @property
    def collision(self) -> FloatArray: ...  # [B]: the sum of squared probabilities

    def __len__(self) -> int: ...

    def rank(self, levels: FloatArray, ties_kept: BoolArray) -> IntArray:
        """How many tokens have a probability that, taken as the threshold, rejects the level, [B]."""

    def mass(self, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """The largest mass those tokens reach without a further one, [B]; what nucleus is inverted with."""

    def mass_nearer(self, levels: FloatArray) -> FloatArray:
        """The mass of the tokens whose surprisal is nearer the entropy than the level's, [B]."""

    def entropy_share(self, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        """The largest share of the entropy that the tokens of ``rank`` and one more exceed, [B].

        That is what top-h is inverted with.
        """


@dataclass(frozen=True, slots=True, eq=False)
class TokenFacts:
    """Stored answers at one level a row. Asking about any other level is an error."""

    levels: FloatArray  # [B]
    ties_kept: BoolArray  # [B]: whether a threshold equal to the level keeps the token
    maximum: FloatArray  # [B]
    entropy: FloatArray  # [B]
    ranks: IntArray  # [B]
    masses: FloatArray  # [B]
    masses_nearer: FloatArray | None = None  # [B]; None for critical thresholds: typical has no use for them
    extra: Mapping[str, FloatArray] = field(default_factory=dict)  # [B] each: those of EXTRA_FACTS known

    @classmethod
    def of(
        cls,
        rows: Summary,
        critical: npt.ArrayLike,
        token_probs: npt.ArrayLike | None = None,
        extra: Sequence[str] = EXTRA_FACTS,
    ) -> TokenFacts:
        """Collect what plain rules ask about ``critical``, a token's probability in each row; or, with
        ``token_probs``, what basis-aware rules ask about ``critical``, its critical threshold.
        """
        basis_aware = token_probs is not None
        levels, ties_kept = as_levels(len(rows), critical, token_probs, basis_aware=basis_aware)
        return cls(
            levels,
            ties_kept,
            rows.maximum,
            rows.entropy,
            rows.rank(levels, ties_kept),
            rows.mass(levels, ties_kept),
            None if basis_aware else rows.mass_nearer(levels),
            {
                name: rows.entropy_share(levels, ties_kept)
                if name == "entropy_share"
                else getattr(rows, name)
                for name in extra
            },
        )

    def __len__(self) -> int:
        return len(self.levels)

    def rank(self, levels: FloatArray, ties_kept: BoolArray) -> IntArray:
        self._require(levels, ties_kept)
        return self.ranks

    def mass(self, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        self._require(levels, ties_kept)
        return self.masses

    def mass_nearer(self, levels: FloatArray) -> FloatArray:
        self._require(levels, np.ones(len(levels), dtype=np.bool_))
        if self.masses_nearer is None:
            raise InvalidInputError(
                "typical needs facts about tokens' probabilities; these are about critical thresholds."
            )
        return self.masses_nearer

    @property
    def deviation(self) -> FloatArray:
        return self._extra("deviation")

    @property
    def collision(self) -> FloatArray:
        return self._extra("collision")

    def entropy_share(self, levels: FloatArray, ties_kept: BoolArray) -> FloatArray:
        self._require(levels, ties_kept)
        return self._extra("entropy_share")

    def _extra(self, name: str) -> FloatArray:
        if name not in self.extra:
            raise InvalidInputError(
                f"human text must be measured with the fact {name!r} for this rule; it was measured without. "
                "Measure it again, in a sweep that has the rule among its methods."
            )
        return self.extra[name]

    def _require(self, levels: FloatArray, ties_kept: BoolArray) -> None:
        known = (levels == self.levels) & (ties_kept == self.ties_kept)
        if not known.all():
            row = int(np.argmin(known))
            raise InvalidInputError(
                f"stored facts answer only about the level they were taken at, {self.levels[row]!r} in row "
                f"{row}; got {levels[row]!r}. Ask with what they were made with."
            )


def facts_of(probs: FloatArray | Facts) -> Facts:
    """The facts given, or those of the distributions given."""
    return probs if isinstance(probs, Summary | TokenFacts) else Summary(probs)  # type: ignore[arg-type]


def as_levels(
    batch: int, critical: npt.ArrayLike, token_probs: npt.ArrayLike | None, *, basis_aware: bool
) -> tuple[FloatArray, BoolArray]:
    """The checked level of each token, [B], and whether a threshold equal to the level keeps it, [B]."""
    level = check_levels(critical, batch, "critical")
    if not basis_aware:
        return level, np.ones(batch, dtype=np.bool_)
    if token_probs is None:
        return level, np.zeros(batch, dtype=np.bool_)
    own = check_levels(token_probs, batch, "token_probs")
    # tau* >= p_i always; a bound that rounding put below p_i says no less.
    return np.maximum(level, own), np.asarray(level <= own)
