"""Rows as DataFrames: columns with one type each, on either backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from harness.export.row_files import plain
from harness.export.tokens import ACCEPTANCE_NAMES, rejected_tokens, token_columns
from harness.report.names import setting_name
from workers.traces import decode_trace

_INTEGERS = ("constraints", "seed", "better", "blocks")
_FLOATS = ("parameter", "temperature", "value", "low", "high", "p_value")

# Categorical columns: many tokens share few values.
_CATEGORICAL = ("run", "stage", "split", "model", "method", "setting", "rule", "job", "prefix")


def to_frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """The answer to any query. JSON is text, as in SQLite; decimals are floats."""
    frame = pd.DataFrame(list(rows), columns=list(columns))
    for index in range(len(columns)):
        values = frame.iloc[:, index]
        if values.dtype == object and any(isinstance(value, _CONVERTED) for value in values):
            frame.isetitem(index, [plain(value) for value in values])
    return frame


_CONVERTED = (Decimal, dict, list, memoryview)


def settings_frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Rows with the method, rule, parameter, constraints and temperature of a setting, plus its name in
    reports."""
    rows = list(rows)
    parts = ("method", "rule", "parameter", "constraints", "temperature", "temperature_order")
    positions = [columns.index(name) for name in parts]
    cached = cache(setting_name)
    names = [cached(*(row[position] for position in positions)) for row in rows]
    frame = with_types(pd.DataFrame(rows, columns=list(columns)))
    frame.insert(positions[0] + 1, "setting", pd.Series(names, dtype=frame["method"].dtype))
    return frame


def with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with numeric columns as numbers, even if all values are missing."""
    kinds = dict.fromkeys(_INTEGERS, "Int64") | dict.fromkeys(_FLOATS, "float64")
    return frame.astype({name: kind for name, kind in kinds.items() if name in frame})


def tokens_frame(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], *, with_rejected: bool
) -> pd.DataFrame:
    """A row for each token of texts; the last column of `rows` is the trace of a text."""
    traces = [decode_trace(bytes(row[-1])) for row in rows]
    texts = settings_frame(columns[:-1], [row[:-1] for row in rows])
    for name in _CATEGORICAL:  # in the order of the sweep, which is that of the rows
        texts[name] = pd.Categorical(texts[name], categories=texts[name].dropna().unique())
    decoded = token_columns(traces)
    unknown = np.isnan(decoded["probability"])  # tokens of imported texts, which were sampled elsewhere
    rejections = decoded.pop("rejections")
    codes = decoded.pop("acceptance")
    acceptance = pd.Categorical.from_codes(codes, categories=list(ACCEPTANCE_NAMES))
    text_of = np.repeat(np.arange(len(traces)), [len(trace) for trace in traces])
    data: dict[str, Any] = {name: texts[name].array.take(text_of) for name in texts}
    data |= {name: decoded.pop(name) for name in ("step", "token", "probability", "threshold")}
    counts = {"rejections": rejections, **decoded}
    if unknown.any():
        counts = {name: pd.arrays.IntegerArray(values, unknown) for name, values in counts.items()}
    data |= {"acceptance": acceptance, **counts}
    if with_rejected:
        # A row without rejected tokens has an empty list.
        ends = np.cumsum(rejections)
        flat = rejected_tokens(traces).tolist()
        ranges = zip((ends - rejections).tolist(), ends.tolist(), strict=True)
        data["rejected_tokens"] = pd.Series([flat[start:end] for start, end in ranges], dtype=object)
    return pd.DataFrame(data, copy=False)
