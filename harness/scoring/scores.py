"""A score, as a worker computes it and as a database stores it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

# The key in the detail of a score that names the plug-in it comes from.
PLUGIN = "plugin"

# MAUVE of fewer texts than this is marked wherever it is shown. Its authors ask for a few thousand on either
# side, because with fewer it is biased upwards and varies more. Below 500 there are fewer than 50 clusters.
ENOUGH_TEXTS = 500


@dataclass(frozen=True, slots=True)
class ScoreEntry:
    """One number, with its interval if it has one; None, and so NaN, means not defined."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    detail: Any | None = None  # JSON

    def __post_init__(self) -> None:
        for field in ("value", "low", "high"):
            number = getattr(self, field)
            if number is not None:
                object.__setattr__(self, field, None if math.isnan(number) else float(number))


@dataclass(frozen=True, slots=True)
class StoredScore:
    """A score and the job it came from."""

    job_id: str
    name: str
    value: float | None
    low: float | None
    high: float | None
    detail: Any | None
    resampling: tuple[int, int] | None = None  # number of resamplings of the prefixes, and their seed
