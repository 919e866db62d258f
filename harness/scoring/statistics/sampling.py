"""How tokens came to be accepted, and what that took."""

from __future__ import annotations

import numpy as np

from bat.acceptance import Acceptance
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio, Statistic
from harness.scoring.texts import TextSet

_WAYS = {
    Acceptance.THRESHOLD: "accepted-threshold",
    Acceptance.CERTIFIED: "accepted-certificate",
    Acceptance.GREEDY_FALLBACK: "accepted-greedy-fallback",
    Acceptance.EXACT_FALLBACK: "accepted-exact-fallback",
}
_PER_TOKEN = ("rejections", "undecided", "programs")
_PER_PROGRAM = ("pivots", "passes")


def sampling(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """Shares of tokens by how they were accepted, and the work a token and a program; none of human text."""
    traces = texts.traces
    if traces is None:
        return []
    tokens = np.array([len(trace) for trace in traces], dtype=np.float64)
    ways = np.array([np.bincount(trace.acceptance, minlength=len(_WAYS)) for trace in traces], np.float64)
    ways = ways.reshape(len(traces), len(_WAYS))
    sums = {
        name: np.array([getattr(trace, name).sum(dtype=np.int64) for trace in traces], np.float64)
        for name in (*_PER_TOKEN, *_PER_PROGRAM)
    }
    return [
        *(Ratio(name, ways[:, way], tokens) for way, name in _WAYS.items()),
        *(Ratio(name, sums[name], tokens) for name in _PER_TOKEN),
        *(Ratio(name, sums[name], sums["programs"]) for name in _PER_PROGRAM),
    ]
