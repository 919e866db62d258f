"""Token traces as columns: a row for each token of many texts, decoded without a loop over tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bat.acceptance import Acceptance
from workers.traces import Trace

AnyArray = npt.NDArray[Any]

# What the codes of the column `acceptance` stand for.
ACCEPTANCE_NAMES = tuple(way.name.lower() for way in Acceptance)

_COUNTS = ("rejections", "undecided", "programs", "pivots", "passes")


def token_columns(traces: Sequence[Trace]) -> dict[str, AnyArray]:
    """The traces one after another; `step` counts the tokens of a text from 0.

    Imported texts were sampled elsewhere: their probabilities are NaN, and their acceptance is -1.
    """
    steps = [np.arange(len(trace), dtype="int32") for trace in traces]
    probabilities = _joined(traces, "probabilities", "float32")
    acceptance = _joined(traces, "acceptance", "int8")
    return {
        "step": np.concatenate([np.empty(0, "int32"), *steps]),
        "token": _joined(traces, "token_ids", "int32"),
        "probability": probabilities,
        "threshold": _joined(traces, "thresholds", "float32"),
        "acceptance": np.where(np.isnan(probabilities), np.int8(-1), acceptance),
        **{name: _joined(traces, name, "int32") for name in _COUNTS},
    }


def rejected_tokens(traces: Sequence[Trace]) -> AnyArray:
    """The tokens that were rejected before others were accepted, `rejections` of them for each row."""
    return _joined(traces, "rejected_tokens", "int32")


def _joined(traces: Sequence[Trace], name: str, dtype: str) -> AnyArray:
    return np.concatenate([np.empty(0, dtype), *(getattr(trace, name) for trace in traces)]).astype(dtype)
