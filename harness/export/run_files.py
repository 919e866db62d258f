"""A run as files: the tables of its results, its sweep, and the versions of the software.

Rows are read and written in batches. A sweep may be running: the export has the results of the jobs that were
done when it started.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
import yaml

from bat.errors import InvalidInputError
from harness.config import as_written
from harness.export.row_files import BATCH, OutputError, Row, plain, replacing
from harness.export.tables import FEATURES, JOBS, TABLES, TOKENS, ExportTable
from harness.export.tokens import ACCEPTANCE_NAMES, rejected_tokens, token_columns
from harness.store import JobState, Reader, Run
from workers.traces import decode_trace

FORMATS = ("parquet", "csv")
_CONFIG = "config.yaml"
_RUN = "run.json"

# Smaller batches for large rows: a trace has some hundred tokens, a vector a thousand numbers.
_SMALLER_BATCHES = {TOKENS.name: 200, FEATURES.name: 1_000}

Report = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of an export; `rows` is None if it is not a table."""

    path: Path
    meaning: str
    rows: int | None


def export_run(
    reader: Reader,
    run: Run,
    folder: Path,
    *,
    format_name: str = "parquet",
    force: bool = False,
    report: Report | None = None,
) -> list[ExportedFile]:
    """Export a run to a folder; `report` is called with the number of TABLES written."""
    if format_name not in FORMATS:
        raise InvalidInputError(f"--format must be parquet or csv; got {format_name!r}.")
    _prepare(folder, force=force)
    done: set[str] = set()
    written = []
    for number, table in enumerate(TABLES, start=1):
        path = folder / f"{table.name}.{format_name}"
        rows = _write_table(reader, run, table, path, done)
        written.append(ExportedFile(path, table.meaning, rows))
        if report is not None:
            report(number)
    rows_by_table = {file.path.stem: file.rows for file in written}
    for name, text, meaning in (
        (_CONFIG, config_yaml(run.config), "the sweep, to run or resume"),
        (_RUN, _run_json(reader, run, rows_by_table), "the run, versions of the software, numbers of rows"),
    ):
        with replacing(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
        written.append(ExportedFile(folder / name, meaning, None))
    return written


def config_yaml(config: Mapping[str, Any]) -> str:
    """The sweep of a run; running it gives the same run."""
    return yaml.safe_dump(as_written(config), sort_keys=False, allow_unicode=True, width=110)


def _run_json(reader: Reader, run: Run, rows: Mapping[str, int | None]) -> str:
    facts = {
        "run": run.id,
        "name": run.name,
        "database": reader.address,
        "created_at": run.created_at.isoformat(),
        "started_at": run.started_at.isoformat(),
        "exported_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": dict(run.versions),
        "rows": dict(rows),
        "config": dict(run.config),
    }
    return json.dumps(facts, indent=2) + "\n"


def check_folder(folder: Path, *, force: bool) -> None:
    """Create a folder to write to. If it contains files, `force` is required."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not force and any(folder.iterdir()):
            raise InvalidInputError(
                f"{folder} must be an empty folder, or a new one; it contains files. Choose another, or add "
                "--force to overwrite existing files."
            )
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> OutputError:
    return OutputError(f"{folder} cannot be written: {error.strerror}. Choose another folder.")


def _prepare(folder: Path, *, force: bool) -> None:
    check_folder(folder, force=force)
    try:
        for name in [*(f"{table.name}.{ending}" for table in TABLES for ending in FORMATS), _CONFIG, _RUN]:
            (folder / name).unlink(missing_ok=True)  # remove an earlier export in another format
    except OSError as error:
        raise _unwritable(folder, error) from error


def _write_table(reader: Reader, run: Run, table: ExportTable, path: Path, done: set[str]) -> int:
    """Write a table. The table of jobs fills `done`; tables of results only have rows of those jobs."""
    count = 0
    size = _SMALLER_BATCHES.get(table.name, BATCH)
    with (
        replacing(path) as partial,
        _opened(partial, path.suffix, table.schema) as write,
        reader.query(table.sql, {"run_id": run.id}) as answer,
    ):
        while rows := list(islice(answer.rows, size)):
            if table is JOBS:
                done.update(row[0] for row in rows if row[2] == JobState.DONE)
            if table.of_results:
                rows = [row for row in rows if row[0] in done]
            batch = _token_batch(rows) if table is TOKENS else _batch(table, rows)
            write(batch)
            count += len(batch)
    return count


@contextmanager
def _opened(path: Path, ending: str, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
    if ending == ".parquet":
        with pyarrow.parquet.ParquetWriter(path, schema) as writer:
            yield writer.write_batch
        return
    text_schema = pa.schema([_text_field(field) for field in schema])
    with pyarrow.csv.CSVWriter(path, text_schema) as writer:
        yield lambda batch: writer.write_batch(_with_text(batch, text_schema))


def _batch(table: ExportTable, rows: Sequence[Row]) -> pa.RecordBatch:
    arrays = [
        pa.array([_convert(row[index], field.type, table) for row in rows], field.type)
        for index, field in enumerate(table.schema)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)


def _convert(value: Any, kind: pa.DataType, table: ExportTable) -> Any:
    """Convert a database value; SQLite stores times and JSON as text."""
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        time = datetime.fromisoformat(value) if isinstance(value, str) else value
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time
    if table is FEATURES and pa.types.is_list(kind):
        return np.frombuffer(value, dtype="<f4")
    if pa.types.is_list(kind):
        return json.loads(value) if isinstance(value, str) else value
    return str(plain(value)) if pa.types.is_string(kind) else value


def _token_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """A row for each token of the traces; `rows` are (job, item, trace)."""
    traces = [decode_trace(bytes(row[2])) for row in rows]
    lengths = [len(trace) for trace in traces]
    decoded = token_columns(traces)
    thresholds, rejections = decoded["threshold"], decoded["rejections"]
    unknown = np.isnan(decoded["probability"])  # tokens of imported texts, which were sampled elsewhere
    sampling = ("rejections", "undecided", "programs", "pivots", "passes", "probability")
    columns = {
        **decoded,
        "job": pa.array(np.repeat([row[0] for row in rows], lengths).tolist(), pa.string()),
        "item": np.repeat(np.array([row[1] for row in rows], "int32"), lengths),
        **{name: pa.array(decoded[name], mask=unknown) for name in sampling},
        "threshold": pa.array(thresholds, mask=np.isnan(thresholds)),
        "acceptance": pa.DictionaryArray.from_arrays(
            pa.array(decoded["acceptance"], mask=unknown), list(ACCEPTANCE_NAMES)
        ),
        "rejected_tokens": pa.ListArray.from_arrays(
            np.concatenate([[0], np.cumsum(rejections)]).astype("int32"), rejected_tokens(traces)
        ),
    }
    arrays = [pa.array(columns[field.name], field.type) for field in TOKENS.schema]
    return pa.RecordBatch.from_arrays(arrays, schema=TOKENS.schema)


def _text_field(field: pa.Field) -> pa.Field:
    is_plain = not (pa.types.is_list(field.type) or pa.types.is_dictionary(field.type))
    return field if is_plain else pa.field(field.name, pa.string())


def _with_text(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with lists as text, numbers separated by spaces, because CSV has no lists."""
    arrays = [
        pa.array([" ".join(map(str, entry)) for entry in column.to_pylist()], pa.string())
        if pa.types.is_list(column.type)
        else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
