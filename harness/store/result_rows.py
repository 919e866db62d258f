"""Results of jobs read back from their rows, one job at a time. harness.store.results writes the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, select

from bat.random import Key
from harness.jobs.rows import GenerationEntry
from harness.scoring.scores import ScoreEntry
from harness.store.records import AttemptOutcome, GeneratedText
from harness.store.results import BOUNDS, MEASURED
from harness.store.statements import batches
from harness.store.tables import (
    AttemptRow,
    FeatureRow,
    GenerationRow,
    MeasurementRow,
    MeasurementThresholdRow,
    ScoreRow,
    TokenTraceRow,
)
from workers.measurement_record import Measurement, Thresholds
from workers.time_use import TimeUse

_MEASURED = [getattr(MeasurementRow, name) for name in MEASURED]
_BOUNDS = [getattr(MeasurementThresholdRow, name) for name in BOUNDS]


def read_measurement(connection: Connection, key: int) -> Measurement:
    """The result of a measure job."""
    rows = connection.execute(
        select(*_MEASURED).where(MeasurementRow.job_key == key).order_by(MeasurementRow.item)
    ).all()
    bounds = connection.execute(
        select(MeasurementThresholdRow.constraints, *_BOUNDS)
        .where(MeasurementThresholdRow.job_key == key)
        .order_by(MeasurementThresholdRow.constraints, MeasurementThresholdRow.item)
    ).all()
    by_constraints: dict[int, list[Sequence[Any]]] = {}
    for constraints, *values in bounds:
        by_constraints.setdefault(constraints, []).append(values)
    thresholds = {
        constraints: Thresholds(**_columns(BOUNDS, values))  # each has a row for each token
        for constraints, values in by_constraints.items()
    }
    return Measurement(**_columns(MEASURED, rows), thresholds=thresholds)


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


def read_scores(connection: Connection, keys: Iterable[int]) -> dict[int, list[ScoreEntry]]:
    """The results of score jobs by their keys, each by name, in few queries: sweeps have many such jobs."""
    columns = (ScoreRow.job_key, ScoreRow.name, ScoreRow.value, ScoreRow.low, ScoreRow.high, ScoreRow.detail)
    scores: dict[int, list[ScoreEntry]] = {key: [] for key in keys}
    for batch in batches(scores):
        for key, *values in connection.execute(select(*columns).where(ScoreRow.job_key.in_(batch))):
            scores[key].append(ScoreEntry(*values))
    # Sorted here, because databases sort text differently.
    return {key: sorted(entries, key=lambda entry: entry.name) for key, entries in scores.items()}
