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
from harness.report.names import short_name
from workers.traces import decode_trace

_WHOLE = ("constraints", "seed")
_NUMBERS = ("parameter", "value", "low", "high")

# Tokens are many and their texts few: what they share is stored once.
_SHARED = ("run", "stage", "split", "model", "method", "setting", "rule", "job", "prefix")


def to_frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """The answer to any query. JSON is text, as SQLite has it; decimals are floats."""
    frame = pd.DataFrame(list(rows), columns=list(columns))
    for index in range(len(columns)):
        values = frame.iloc[:, index]
        if values.dtype == object and any(isinstance(value, _UNUSUAL) for value in values):
            frame.isetitem(index, [plain(value) for value in values])
    return frame


_UNUSUAL = (Decimal, dict, list, memoryview)


def settings_frame(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Rows that name a setting by method, rule, parameter and constraints, with a short name beside these."""
    rows = list(rows)
    positions = [columns.index(name) for name in ("method", "rule", "parameter", "constraints")]
    names = [setting_name(*(row[position] for position in positions)) for row in rows]
    frame = with_types(pd.DataFrame(rows, columns=list(columns)))
    frame.insert(positions[0] + 1, "setting", pd.Series(names, dtype=frame["method"].dtype))
    return frame


@cache
def setting_name(method: str, rule: str | None, parameter: float | None, constraints: int | None) -> str:
    """What a report calls a setting; texts without a rule, such as those of people, go by their method."""
    return method if rule is None else short_name(rule, parameter, constraints)


def with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """The same with numbers as numbers, also where all of them are missing."""
    kinds = dict.fromkeys(_WHOLE, "Int64") | dict.fromkeys(_NUMBERS, "float64")
    return frame.astype({name: kind for name, kind in kinds.items() if name in frame})


def tokens_frame(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], *, with_rejected: bool
) -> pd.DataFrame:
    """A row for each token of texts; the last of the columns is the trace of a text."""
    traces = [decode_trace(bytes(row[-1])) for row in rows]
    texts = settings_frame(columns[:-1], [row[:-1] for row in rows])
    for name in _SHARED:  # in the order of the sweep, which is that of the rows
        texts[name] = pd.Categorical(texts[name], categories=texts[name].dropna().unique())
    decoded = token_columns(traces)
    rejections = decoded.pop("refusals")
    codes = decoded.pop("acceptance")
    acceptance = pd.Categorical.from_codes(codes, categories=list(ACCEPTANCE_NAMES))
    text_of = np.repeat(np.arange(len(traces)), [len(trace) for trace in traces])
    data: dict[str, Any] = {name: texts[name].array.take(text_of) for name in texts}
    data |= {name: decoded.pop(name) for name in ("step", "token", "probability", "threshold")}
    data |= {"acceptance": acceptance, "rejections": rejections, **decoded}
    if with_rejected:
        # A row without rejected tokens has an empty piece.
        ends = np.cumsum(rejections)
        flat = rejected_tokens(traces).tolist()
        pieces = zip((ends - rejections).tolist(), ends.tolist(), strict=True)
        data["rejected_tokens"] = pd.Series([flat[start:end] for start, end in pieces], dtype=object)
    return pd.DataFrame(data, copy=False)
