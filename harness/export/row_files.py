"""Rows of a query as CSV, JSON or Parquet, streamed: only a batch of rows is in memory."""

from __future__ import annotations

import base64
import csv
import itertools
import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bat.errors import BatError, InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

Row = Sequence[Any]

# Maximum number of rows of a Parquet row group.
BATCH = 20_000


class OutputError(BatError):
    """A file cannot be written."""


def write_rows(format_name: str, columns: Sequence[str], rows: Iterable[Row], path: Path) -> int:
    """Write rows to a file in one of FORMATS, and return their number."""
    with replacing(path) as partial:
        if format_name == "parquet":
            return write_parquet(columns, rows, partial)
        with partial.open("w", encoding="utf-8", newline="") as stream:
            return STREAMED[format_name](columns, rows, stream)


def write_csv(columns: Sequence[str], rows: Iterable[Row], stream: IO[str]) -> int:
    """Write a header and a line for each row. NULL is empty, bytes are hexadecimal."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    count = 0
    for row in rows:
        writer.writerow([value.hex() if isinstance(value, bytes) else value for value in map(plain, row)])
        count += 1
    return count


def write_json(columns: Sequence[str], rows: Iterable[Row], stream: IO[str]) -> int:
    """Write a list of objects, one per line. Bytes are base64; infinity and NaN are null."""
    count = 0
    stream.write("[")
    for row in rows:
        record = dict(zip(columns, map(_json_value, row), strict=True))
        stream.write(f"{',' if count else ''}\n{json.dumps(record, allow_nan=False)}")
        count += 1
    stream.write("\n]\n" if count else "]\n")
    return count


STREAMED: dict[str, Callable[[Sequence[str], Iterable[Row], IO[str]], int]]
STREAMED = {"csv": write_csv, "json": write_json}
FORMATS = (*STREAMED, "parquet")


def write_parquet(columns: Sequence[str], rows: Iterable[Row], path: Path) -> int:
    """Write rows whose types are not known in advance.

    A column may begin with NULLs, and SQLite allows numbers and text in one column. Each batch is written
    with its own types; if they differ, all batches are rewritten with types that hold every one.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    count = 0
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".parquet-") as folder:
        parts: list[tuple[Path, pa.Schema]] = []
        writer: pq.ParquetWriter | None = None
        try:
            for batch in _batches(columns, rows):
                if writer is None or batch.schema != parts[-1][1]:
                    if writer is not None:
                        writer.close()
                    parts.append((Path(folder, f"{len(parts)}.parquet"), batch.schema))
                    writer = pq.ParquetWriter(parts[-1][0], batch.schema)
                writer.write_batch(batch)
                count += len(batch)
        finally:
            if writer is not None:
                writer.close()
        if len(parts) == 1:
            parts[0][0].replace(path)
            return count
        schema = _common_schema([schema for _, schema in parts])
        with pq.ParquetWriter(path, schema) as whole:
            for part, _ in parts:
                for batch in pq.ParquetFile(part).iter_batches(BATCH):
                    whole.write_table(pa.Table.from_batches([batch]).cast(schema))
    return count


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to, and rename it to `path` once it is complete."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror or error}. Choose another path."
        ) from error
    finally:
        with suppress(OSError):  # on a read-only disk
            partial.unlink(missing_ok=True)


def check_absent(path: Path, *, force: bool) -> None:
    """Raise when a file exists, unless `force` allows to replace it."""
    if path.is_dir():
        raise InvalidInputError(f"{path} must be a file; it is a folder. Name a file in it.")
    if path.exists() and not force:
        raise InvalidInputError(f"{path} already exists. Choose another file, or add --force to replace it.")
    if not path.absolute().parent.is_dir():
        raise InvalidInputError(f"the folder of {path} must exist; it does not. Create it first.")


def plain(value: Any) -> Any:
    """A database value as text, number, boolean, bytes or None."""
    match value:
        case Decimal():
            return float(value)
        case datetime() | date():
            return value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat()
        case dict() | list():  # PostgreSQL returns JSON decoded, SQLite as text
            return json.dumps(value)
        case memoryview():
            return bytes(value)
    return value


def _json_value(value: Any) -> Any:
    if isinstance(value, dict | list):
        return value
    value = plain(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _batches(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    """The rows in batches; at least one batch, so that a file without rows has its columns."""
    import pyarrow as pa

    remaining = iter(rows)
    batch = list(itertools.islice(remaining, BATCH))
    while True:
        arrays = [_array([plain(row[index]) for row in batch]) for index in range(len(columns))]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
        batch = list(itertools.islice(remaining, BATCH))
        if not batch:
            return


def _array(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass
    if all(value is None or isinstance(value, int | float) for value in values):
        return pa.array([None if value is None else float(value) for value in values])
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _common_schema(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Types that hold the values of every schema: numbers where possible, otherwise text."""
    import pyarrow as pa

    fields = []
    for versions in zip(*schemas, strict=True):
        try:
            field = pa.unify_schemas(
                [pa.schema([field]) for field in versions], promote_options="permissive"
            ).field(0)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            field = pa.field(versions[0].name, pa.string())
        fields.append(field)
    return pa.schema(fields)
