import numpy as np

from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio, Statistic
from harness.scoring.texts import TextSet


def longest_run(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`longest-run`: how often the token most often repeated stands in a row, on average over texts."""
    return [Ratio("longest-run", np.array([_longest(ids) for ids in texts.token_ids]), np.ones(len(texts)))]


def _longest(ids: np.ndarray) -> float:
    ends = np.flatnonzero(np.diff(ids, append=-1))
    return float(np.diff(ends, prepend=-1).max(initial=0))
