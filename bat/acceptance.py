"""How a token comes to be sampled. Apart from the sampler: whoever reads traces or sweeps needs no solver."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, get_args

from bat.errors import InvalidInputError

# What happens after max_tries rejections: take the most likely token, or draw from the exact candidate set.
Fallback = Literal["greedy", "exact"]
FALLBACKS: tuple[Fallback, ...] = get_args(Fallback)


def check_fallback(fallback: object) -> None:
    """Raise unless this is the name of a fallback."""
    if fallback not in FALLBACKS:
        raise InvalidInputError(f"fallback must be one of {', '.join(FALLBACKS)}; got {fallback!r}.")


class Acceptance(IntEnum):
    """How a sampled token came to be accepted; small integers, so that traces stay small."""

    THRESHOLD = 0  # kept by the plain rule: at or above the threshold, no program
    CERTIFIED = 1  # below the threshold, proved to be in the candidate set
    GREEDY_FALLBACK = 2  # max_tries rejections, then the most likely token
    EXACT_FALLBACK = 3  # max_tries rejections, then a draw from the exact candidate set
