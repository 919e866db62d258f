"""Whether a database is whole: its file, its references, and what the queue and the results promise."""

from __future__ import annotations

from dataclasses import dataclass

from harness.store import Reader
from harness.store.addresses import check_file, parse_address
from harness.store.engine import connect
from harness.store.versions import find_version


@dataclass(frozen=True, slots=True)
class Promise:
    """Something that holds in a whole database: the query finds what breaks it."""

    text: str
    sql: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A promise, and what breaks it: how many rows, and the first of them."""

    promise: str
    broken: int
    example: str | None


def _without_result(kind: str, table: str) -> Promise:
    return Promise(
        f"every {kind} job that is done has a result",
        f"""
SELECT id FROM jobs WHERE kind = '{kind}' AND state = 'done'
AND NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.job_key = jobs.key)
""",
    )


def _result_of_other(table: str) -> Promise:
    return Promise(
        f"only jobs that are done have {table}",
        f"""
SELECT DISTINCT jobs.id FROM {table} JOIN jobs ON jobs.key = {table}.job_key WHERE jobs.state <> 'done'
""",
    )


_RESULTS = {
    "measure": "measurements",
    "generate": "generations",
    "featurize": "features",
    "score": "scores",
}

_SQLITE = (
    Promise(
        "the file is undamaged",
        "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    ),
    Promise("every reference leads somewhere", 'SELECT "table", rowid, parent FROM pragma_foreign_key_check'),
)

_PROMISES = (
    *(_without_result(kind, table) for kind, table in _RESULTS.items()),
    *(_result_of_other(table) for table in _RESULTS.values()),
    Promise(
        "every text has a trace",
        """
SELECT jobs.id, generations.place FROM generations JOIN jobs ON jobs.key = generations.job_key
WHERE NOT EXISTS (
    SELECT 1 FROM token_traces
    WHERE token_traces.job_key = generations.job_key AND token_traces.place = generations.place
)
""",
    ),
    Promise(
        "every job that is leased has an attempt that runs",
        """
SELECT jobs.id FROM jobs WHERE jobs.state = 'leased' AND NOT EXISTS (
    SELECT 1 FROM attempts
    WHERE attempts.job_key = jobs.key AND attempts.number = jobs.attempt AND attempts.outcome = 'running'
)
""",
    ),
    Promise(
        "every attempt that runs is the latest of a job that is leased",
        """
SELECT jobs.id, attempts.number FROM attempts JOIN jobs ON jobs.key = attempts.job_key
WHERE attempts.outcome = 'running' AND (jobs.state <> 'leased' OR attempts.number <> jobs.attempt)
""",
    ),
    Promise(
        "no job was done before what it needs",
        """
SELECT jobs.id FROM jobs
JOIN job_needs ON job_needs.job_key = jobs.key
JOIN jobs AS needed ON needed.key = job_needs.needed_key
WHERE jobs.state = 'done' AND needed.state <> 'done'
""",
    ),
)


def find_schema_version(address: str) -> str | None:
    """The version of a database's tables, whatever it is; None when it is empty."""
    url = parse_address(address)
    if url.get_backend_name() == "sqlite":
        check_file(url, create=False)
    database = connect(url, read_only=True)
    try:
        with database.reading() as connection:
            return find_version(connection, database)
    finally:
        database.close()


def check_database(reader: Reader) -> list[Finding]:
    """Ask for what breaks each promise."""
    is_sqlite = reader.address.startswith("sqlite:")
    return [_find(reader, promise) for promise in (*(_SQLITE if is_sqlite else ()), *_PROMISES)]


def _find(reader: Reader, promise: Promise) -> Finding:
    with reader.query(promise.sql) as answer:
        first = next(answer.rows, None)
        others = sum(1 for _ in answer.rows)
    if first is None:
        return Finding(promise.text, 0, None)
    return Finding(promise.text, 1 + others, " ".join(map(str, first)))
