"""What is known about each score: its range, and which values are better.

Scores that describe texts are best where they equal those of human text: more variety or less repetition than
people have is no merit. Names that are not here belong to plug-ins, about which nothing is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Better(StrEnum):
    """Which values of a score are better."""

    HIGHER = "higher"
    LOWER = "lower"
    HUMAN = "human"  # those close to human text


@dataclass(frozen=True, slots=True)
class Facts:
    """The range of a score, which values are better (None: it says nothing about quality), and its family.

    The family is the name in scoring.statistics; None for scores of the clusters of MAUVE, which every sweep
    has.
    """

    family: str | None
    better: Better | None
    low: float = 0.0
    high: float = math.inf

    @property
    def of_human_text(self) -> bool:
        """Whether human text may have the score, too; it is not compared with itself, and not sampled."""
        return self is _UNKNOWN or self.family not in (None, "support", "sampling")


def _facts(
    family: str | None, better: Better | None, *names: str, high: float = math.inf
) -> dict[str, Facts]:
    return {name: Facts(family, better, 0.0, high) for name in names}


SCORES: dict[str, Facts] = {
    **_facts(None, Better.HIGHER, "mauve", "mauve-star", high=1.0),
    **_facts(None, Better.LOWER, "frontier-integral", high=1.0),
    **_facts(None, Better.LOWER, "kl-human", "kl-generated"),
    **_facts(None, Better.LOWER, "jensen-shannon", high=math.log(2)),
    **_facts("support", Better.HIGHER, "precision", "recall", high=1.0),
    "coherence": Facts("coherence", Better.HUMAN, -1.0, 1.0),
    **_facts("perplexity", Better.HUMAN, "perplexity"),
    **_facts("entropy", Better.HUMAN, "entropy"),
    **_facts("repetition", Better.HUMAN, "seq-rep-2", "seq-rep-3", "seq-rep-4", "looping", high=1.0),
    **_facts("distinct", Better.HUMAN, "distinct-1", "distinct-2", "distinct-3", "distinct-4", high=1.0),
    **_facts("compression", Better.HUMAN, "compression-ratio"),
    **_facts("zipf", Better.HUMAN, "zipf"),
    **_facts("self-bleu", Better.HUMAN, "self-bleu", high=1.0),
    **_facts("length", Better.HUMAN, "length"),
    **_facts("length", Better.HUMAN, "ended", "empty", high=1.0),
    **_facts(
        "sampling",
        None,
        "accepted-threshold",
        "accepted-certificate",
        "accepted-greedy-fallback",
        "accepted-exact-fallback",
        high=1.0,
    ),
    **_facts("sampling", None, "rejections", "undecided", "programs", "pivots", "passes"),
}

# Intervals of scores of plug-ins end at 0, as they always did.
_UNKNOWN = Facts(None, None)


def facts_of(name: str) -> Facts:
    """What is known about a score; nothing but that it is not negative for one of a plug-in."""
    return SCORES.get(name, _UNKNOWN)
