"""Results of jobs as rows: written in the transaction that marks the jobs as done, read back job by job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, select

from bat.errors import InvalidInputError
from bat.random import Key
from harness.jobs import FeatureRows, GenerationEntry, GenerationRows, MeasurementRows, Rows, ScoreRows
from harness.scoring.scores import ScoreEntry
from harness.store.records import AttemptOutcome, GeneratedText
from harness.store.statements import add_rows, batches
from harness.store.tables import (
    AttemptRow,
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
from workers.time_use import TimeUse

# In the order of their references: traces refer to generations, and thresholds to measurements.
RESULT_TABLES: tuple[type[Base], ...] = (
    *(GenerationRow, TokenTraceRow, MeasurementRow, MeasurementThresholdRow),
    *(FeatureRow, ScoreRow),
)

TableRows = dict[type[Base], list[dict[str, Any]]]

# Columns in the order of the workers' records, which have the same names.
_MEASURED = (
    *("document", "position", "token", "probability", "entropy", "maximum", "rank"),
    *("mass_above", "mass_nearer"),
)
_BOUNDS = (
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
            case _:
                raise TypeError(f"no table is known for {type(result).__name__}")
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
    tables[MeasurementRow] += _rows_of(measurement, _MEASURED, {"job_key": key})
    for constraints, thresholds in measurement.thresholds.items():
        shared = {"job_key": key, "constraints": constraints}
        tables[MeasurementThresholdRow] += _rows_of(thresholds, _BOUNDS, shared)


def _rows_of(
    record: Measurement | Thresholds, names: tuple[str, ...], shared: dict[str, Any]
) -> list[dict[str, Any]]:
    columns = [getattr(record, name).tolist() for name in names]
    return [
        {**shared, "item": item, **dict(zip(names, values, strict=True))}
        for item, values in enumerate(zip(*columns, strict=True))
    ]


def read_measurement(connection: Connection, key: int) -> Measurement:
    """The result of a measure job."""
    rows = connection.execute(
        select(*_columns_of(MeasurementRow, _MEASURED))
        .where(MeasurementRow.job_key == key)
        .order_by(MeasurementRow.item)
    ).all()
    bounds = connection.execute(
        select(MeasurementThresholdRow.constraints, *_columns_of(MeasurementThresholdRow, _BOUNDS))
        .where(MeasurementThresholdRow.job_key == key)
        .order_by(MeasurementThresholdRow.constraints, MeasurementThresholdRow.item)
    ).all()
    by_constraints: dict[int, list[Sequence[Any]]] = {}
    for constraints, *values in bounds:
        by_constraints.setdefault(constraints, []).append(values)
    thresholds = {
        constraints: Thresholds(**_columns(_BOUNDS, values))  # each has a row for each token
        for constraints, values in by_constraints.items()
    }
    return Measurement(**_columns(_MEASURED, rows), thresholds=thresholds)


def _columns_of(table: type[Base], names: Sequence[str]) -> list[Any]:
    return [getattr(table, name) for name in names]


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, npt.NDArray[Any]]:
    columns: Any = zip(*rows, strict=True) if rows else [()] * len(names)
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}


def read_generations(connection: Connection, key: int) -> list[GenerationEntry]:
    """The result of a generate job."""
    rows = connection.execute(
        select(*GenerationRow.__table__.columns, TokenTraceRow.trace)
        .join(
            TokenTraceRow,
            (TokenTraceRow.job_key == GenerationRow.job_key) & (TokenTraceRow.item == GenerationRow.item),
        )
        .where(GenerationRow.job_key == key)
        .order_by(GenerationRow.item)
    )
    return [
        GenerationEntry(
            prefix_id=row.prefix_id,
            random_key=Key(*row.random_key),
            text=row.text,
            stop_reason=row.stop_reason,
            token_count=row.token_count,
            solver_seconds=row.solver_seconds,
            trace=row.trace,
        )
        for row in rows
    ]


def read_texts(connection: Connection, key: int, job_id: str) -> list[GeneratedText]:
    """The texts of a generate job, without their traces."""
    rows = connection.execute(
        select(
            GenerationRow.item,
            GenerationRow.prefix_id,
            GenerationRow.text,
            GenerationRow.stop_reason,
            GenerationRow.token_count,
        )
        .where(GenerationRow.job_key == key)
        .order_by(GenerationRow.item)
    )
    return [GeneratedText(job_id, *row) for row in rows]


def read_solver_cost(connection: Connection, keys: Iterable[int]) -> tuple[int, float]:
    """The number of tokens of generate jobs, and the seconds spent on their linear programs."""
    sums = func.sum(GenerationRow.token_count), func.sum(GenerationRow.solver_seconds)
    tokens, seconds = 0, 0.0
    for batch in batches(keys):
        statement = select(*sums).where(GenerationRow.job_key.in_(batch))
        more_tokens, more_seconds = connection.execute(statement).one()
        tokens, seconds = tokens + int(more_tokens or 0), seconds + float(more_seconds or 0.0)
    return tokens, seconds


def read_time_use(connection: Connection, keys: Sequence[int]) -> Iterator[TimeUse]:
    """What workers spent on the done attempts of jobs, where it is known."""
    for batch in batches(keys):
        known = connection.scalars(
            select(AttemptRow.time_use).where(
                AttemptRow.job_key.in_(batch),
                AttemptRow.outcome == AttemptOutcome.DONE,
                AttemptRow.time_use.is_not(None),
            )
        )
        yield from map(TimeUse.from_json, known)


def read_features(connection: Connection, key: int) -> npt.NDArray[np.float32]:
    """The result of a featurize job, [n, d]; [0, 0] when it has no texts."""
    blobs = connection.scalars(
        select(FeatureRow.vector).where(FeatureRow.job_key == key).order_by(FeatureRow.item)
    )
    vectors = [np.frombuffer(blob, dtype="<f4") for blob in blobs]
    return np.array(vectors, dtype=np.float32) if vectors else np.empty((0, 0), np.float32)


def read_scores(connection: Connection, key: int) -> list[ScoreEntry]:
    """The result of a score job, by name."""
    columns = (ScoreRow.name, ScoreRow.value, ScoreRow.low, ScoreRow.high, ScoreRow.detail)
    rows = connection.execute(select(*columns).where(ScoreRow.job_key == key))
    # Sorted here, because databases sort text differently.
    return sorted((ScoreEntry(*row) for row in rows), key=lambda entry: entry.name)
