"""Scores of several seeds with all kinds of detail, and the definitions of their intervals, written out."""

from __future__ import annotations

import math
import statistics

import numpy as np

from harness.scoring.estimates import Interval
from harness.scoring.scores import StoredScore
from tests.harness.report.made_results import stored

# 97.5% quantiles of Student's t with 1, 2, 4 and 19 degrees of freedom, from a printed table.
T = {1: 12.7062, 2: 4.30265, 4: 2.77645, 19: 2.09302}


def seeded(seed: int, name: str = "mauve", count: int = 1, offset: float = 0.0) -> list[StoredScore]:
    """A score for each of several generation seeds, with all kinds of detail."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        values = 0.8 + offset + 0.02 * random.normal(size=5)
        middle = float(values.mean())
        made.append(
            stored(
                name,
                middle,
                f"s{number}",
                resampled=(middle - 0.05 + 0.03 * random.normal(size=40)).tolist(),
                left_out=(middle + 0.005 * random.normal(size=20)).tolist(),
                values=values.tolist(),
            )
        )
    return made


def means(scores: list[StoredScore], key: str) -> list[float]:
    """The mean over seeds of each entry."""
    lists = [score.detail[key] for score in scores if score.detail is not None]
    return [sum(entries) / len(entries) for entries in zip(*lists, strict=True)]


def students(values: list[float]) -> tuple[float, float]:
    reach = T[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values) - reach, statistics.mean(values) + reach


def ends(found: Interval | None) -> tuple[float, float]:
    assert found is not None
    return found.low, found.high
