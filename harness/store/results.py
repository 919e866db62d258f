"""Results of jobs written as rows, in the transaction that marks the jobs as done."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from bat.errors import InvalidInputError
from harness.jobs import FeatureRows, GenerationRows, MeasurementRows, Rows, ScoreRows
from harness.store.statements import add_rows
from harness.store.tables import (
    Base,
    FeatureRow,
    GenerationRow,
    MeasurementRow,
    MeasurementThresholdRow,
    PrefixSetRow,
    ScoreRow,
    TokenTraceRow,
)
from workers.measurement_record import Measurement, Thresholds

# In the order of their references: traces refer to generations, and thresholds to measurements.
RESULT_TABLES: tuple[type[Base], ...] = (
    *(GenerationRow, TokenTraceRow, MeasurementRow, MeasurementThresholdRow),
    *(FeatureRow, ScoreRow),
)

TableRows = dict[type[Base], list[dict[str, Any]]]

# Columns in the order of the workers' records, which have the same names.
MEASURED = (
    *("document", "position", "token", "probability", "entropy", "maximum", "rank"),
    *("mass_above", "mass_nearer"),
)
BOUNDS = (
    *("lower", "upper", "lower_rank", "upper_rank", "lower_mass", "upper_mass"),
    *("status", "pivots", "passes", "seconds"),
)


def write(connection: Connection, results: Mapping[int, Rows]) -> None:
    """Insert the rows of results, by the keys of their jobs; one statement for each table."""
    sets = _prefix_set_keys(
        connection, {rows.prefix_set_id for rows in results.values() if isinstance(rows, GenerationRows)}
    )
    tables: TableRows = {table: [] for table in RESULT_TABLES}
    for key, result in results.items():
        match result:
            case GenerationRows():
                _add_generations(tables, key, sets[result.prefix_set_id], result)
            case MeasurementRows(measurement=measurement):
                _add_measurement(tables, key, measurement)
            case FeatureRows(vectors=vectors):
                blobs = np.ascontiguousarray(vectors, dtype="<f4")
                tables[FeatureRow] += [
                    {"job_key": key, "item": item, "vector": row.tobytes()} for item, row in enumerate(blobs)
                ]
            case ScoreRows(entries=entries):
                names = ("name", "value", "low", "high", "detail")
                tables[ScoreRow] += [
                    {"job_key": key} | {name: getattr(entry, name) for name in names} for entry in entries
                ]
    for table, rows in tables.items():
        add_rows(connection, table, rows)


def _prefix_set_keys(connection: Connection, ids: Iterable[str]) -> dict[str, int]:
    set_ids = sorted(ids)
    if not set_ids:
        return {}
    rows = connection.execute(select(PrefixSetRow.id, PrefixSetRow.key).where(PrefixSetRow.id.in_(set_ids)))
    keys = {row.id: row.key for row in rows}
    missing = [set_id for set_id in set_ids if set_id not in keys]
    if missing:
        raise InvalidInputError(
            f"the prefixes of texts must be stored; the set {missing[0]} is not. Call add_prefix_set first."
        )
    return keys


def _add_generations(tables: TableRows, key: int, set_key: int, result: GenerationRows) -> None:
    for item, entry in enumerate(result.entries):
        address = entry.random_key
        tables[GenerationRow].append(
            {
                "job_key": key,
                "item": item,
                "prefix_set_key": set_key,
                "prefix_id": entry.prefix_id,
                "random_key": [address.seed, address.run, address.prefix, address.sample],
                "text": entry.text,
                "stop_reason": entry.stop_reason,
                "token_count": entry.token_count,
                "solver_seconds": entry.solver_seconds,
            }
        )
        tables[TokenTraceRow].append({"job_key": key, "item": item, "trace": entry.trace})


def _add_measurement(tables: TableRows, key: int, measurement: Measurement) -> None:
    tables[MeasurementRow] += _rows_of(measurement, MEASURED, {"job_key": key})
    for constraints, thresholds in measurement.thresholds.items():
        shared = {"job_key": key, "constraints": constraints}
        tables[MeasurementThresholdRow] += _rows_of(thresholds, BOUNDS, shared)


def _rows_of(
    record: Measurement | Thresholds, names: tuple[str, ...], shared: dict[str, Any]
) -> list[dict[str, Any]]:
    columns = [getattr(record, name).tolist() for name in names]
    return [
        {**shared, "item": item, **dict(zip(names, values, strict=True))}
        for item, values in enumerate(zip(*columns, strict=True))
    ]
