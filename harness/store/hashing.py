"""One hash of all results of a run, the same wherever and however they were computed.

Times, owners and attempts are left out; so are the keys of rows, which depend on the order of arrival. A run
on one worker, on four, and on four that are killed now and then must give the same hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from harness.jobs import (
    FeatureRows,
    GenerationRows,
    JobKind,
    MeasurementRows,
    ScoreRows,
    canonical_json,
    rows_type_of,
)
from harness.store.records import JobState
from harness.store.results import read_features, read_generations, read_measurement, read_scores
from harness.store.tables import (
    GenerationRow,
    JobRow,
    PrefixSetRow,
    ResolutionJobRow,
    ResolutionRow,
    RunJobRow,
)

Add = Callable[[Any], None]


def result_hashes(
    connection: Connection, run_id: int, progress: Callable[[int], None] | None = None
) -> dict[str, str]:
    """The hash of the result of each done job of a run, by job id.

    `progress` is called with the number of jobs read.
    """
    hashes = {}
    for number, job in enumerate(_done_jobs(connection, run_id), start=1):
        hashes[job.id] = result_hash(connection, job.key, JobKind(job.kind))
        if progress is not None:
            progress(number)
    return hashes


def results_hash(connection: Connection, run_id: int, by_job: Mapping[str, str] | None = None) -> str:
    """SHA-256, in hexadecimal, of the contents of all done jobs of a run and of its resolutions.

    `by_job` is what `result_hashes` returns, if it is known.
    """
    digest = hashlib.sha256()
    add = _adding_to(digest)
    for job_id, result in sorted((by_job or result_hashes(connection, run_id)).items()):
        add([job_id, result])
    _add_resolutions(connection, run_id, add)
    return digest.hexdigest()


def result_hash(connection: Connection, key: int, kind: JobKind) -> str:
    """SHA-256, in hexadecimal, of the content of the result of a job."""
    digest = hashlib.sha256()
    _add_result(connection, key, kind, _adding_to(digest))
    return digest.hexdigest()


def _adding_to(digest: hashlib._Hash) -> Add:
    def add(value: Any) -> None:
        """Add a value with its type and size, so that different lists of values give different bytes."""
        match value:
            case bytes():
                data = value
            case np.ndarray() if value.dtype.kind in "if":
                data = np.ascontiguousarray(value, value.dtype.newbyteorder("<")).tobytes()
            case np.ndarray():
                data = canonical_json(value.tolist()).encode()
            case _:
                data = canonical_json(value).encode()
        digest.update(f"{type(value).__name__}:{len(data)}:".encode())
        digest.update(data)

    return add


def _done_jobs(connection: Connection, run_id: int) -> list[Any]:
    rows = connection.execute(
        select(JobRow.id, JobRow.key, JobRow.kind)
        .join(RunJobRow, RunJobRow.job_key == JobRow.key)
        .where(RunJobRow.run_id == run_id, JobRow.state == JobState.DONE)
    )
    return sorted(rows, key=lambda row: row.id)


def _add_result(connection: Connection, key: int, kind: JobKind, add: Add) -> None:
    rows = rows_type_of(kind)
    if rows is MeasurementRows:
        for name, values in read_measurement(connection, key).to_columns().items():
            if not name.startswith("seconds_"):
                add(name)
                add(values)
    elif rows is GenerationRows:
        _add_generations(connection, key, add)
    elif rows is FeatureRows:
        features = read_features(connection, key)
        add(list(features.shape))
        add(features)
    elif rows is ScoreRows:
        for score in read_scores(connection, [key])[key]:
            add([score.name, score.value, score.low, score.high, score.detail])
    else:
        raise AssertionError(f"{rows.__name__} is not part of the hash")


def _add_generations(connection: Connection, key: int, add: Add) -> None:
    sets = connection.execute(
        select(PrefixSetRow.id)
        .join(GenerationRow, GenerationRow.prefix_set_key == PrefixSetRow.key)
        .where(GenerationRow.job_key == key)
        .distinct()
    )
    add(sorted(sets.scalars()))
    for entry in read_generations(connection, key):
        address = entry.random_key
        add([address.seed, address.run, address.prefix, address.sample])
        add([entry.prefix_id, entry.text, entry.stop_reason, entry.token_count])
        add(entry.trace)


def _add_resolutions(connection: Connection, run_id: int, add: Add) -> None:
    rows = connection.execute(select(ResolutionRow).where(ResolutionRow.run_id == run_id))
    for row in sorted(rows, key=lambda row: row.parameter):
        jobs = connection.scalars(
            select(JobRow.id)
            .join(ResolutionJobRow, ResolutionJobRow.job_key == JobRow.key)
            .where(ResolutionJobRow.resolution_id == row.id)
        )
        add([row.parameter, row.asked, row.value, sorted(jobs)])  # not how it was resolved, in words
