"""Check a database: its file, its references, and the invariants of the queue and the results."""

from __future__ import annotations

from dataclasses import dataclass

from harness.store.addresses import check_file, parse_address
from harness.store.engine import connect
from harness.store.reader import Reader
from harness.store.versions import find_version


@dataclass(frozen=True, slots=True)
class Invariant:
    """A statement that is true of every sound database, and a query for the rows that violate it."""

    text: str
    sql: str


@dataclass(frozen=True, slots=True)
class Finding:
    """An invariant, the number of rows that violate it, and the first of them."""

    invariant: str
    violations: int
    example: str | None


def _every_done_job_has_a_result(kind: str, table: str) -> Invariant:
    return Invariant(
        f"every {kind} job that is done has a result",
        f"""
SELECT id FROM jobs WHERE kind = '{kind}' AND state = 'done'
AND NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.job_key = jobs.key)
""",
    )


def _only_done_jobs_have_rows(table: str) -> Invariant:
    return Invariant(
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
    Invariant(
        "the file is undamaged",
        "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    ),
    Invariant(
        "every foreign key refers to an existing row",
        'SELECT "table", rowid, parent FROM pragma_foreign_key_check',
    ),
)

_INVARIANTS = (
    *(_every_done_job_has_a_result(kind, table) for kind, table in _RESULTS.items()),
    *(_only_done_jobs_have_rows(table) for table in _RESULTS.values()),
    Invariant(
        "every text has a trace",
        """
SELECT jobs.id, generations.item FROM generations JOIN jobs ON jobs.key = generations.job_key
WHERE NOT EXISTS (
    SELECT 1 FROM token_traces
    WHERE token_traces.job_key = generations.job_key AND token_traces.item = generations.item
)
""",
    ),
    Invariant(
        "every leased job has a running attempt",
        """
SELECT jobs.id FROM jobs WHERE jobs.state = 'leased' AND NOT EXISTS (
    SELECT 1 FROM attempts
    WHERE attempts.job_key = jobs.key AND attempts.number = jobs.attempt AND attempts.outcome = 'running'
)
""",
    ),
    Invariant(
        "every running attempt is the latest of a leased job",
        """
SELECT jobs.id, attempts.number FROM attempts JOIN jobs ON jobs.key = attempts.job_key
WHERE attempts.outcome = 'running' AND (jobs.state <> 'leased' OR attempts.number <> jobs.attempt)
""",
    ),
    Invariant(
        "every comparison that is answered has one answer that counts",
        """
SELECT judge_id, position FROM study_assignments WHERE state = 'answered' AND 1 <> (
    SELECT count(*) FROM study_answers
    WHERE study_answers.judge_id = study_assignments.judge_id
      AND study_answers.position = study_assignments.position AND study_answers.undone_at IS NULL
)
""",
    ),
    Invariant(
        "every job that is done needs only jobs that are done",
        """
SELECT jobs.id FROM jobs
JOIN job_needs ON job_needs.job_key = jobs.key
JOIN jobs AS needed ON needed.key = job_needs.needed_key
WHERE jobs.state = 'done' AND needed.state <> 'done'
""",
    ),
)


def find_schema_version(address: str) -> str | None:
    """The schema version of a database, whether supported or not; None when it is empty."""
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
    """Check every invariant."""
    is_sqlite = reader.address.startswith("sqlite:")
    return [_check(reader, invariant) for invariant in (*(_SQLITE if is_sqlite else ()), *_INVARIANTS)]


def _check(reader: Reader, invariant: Invariant) -> Finding:
    with reader.query(invariant.sql) as answer:
        first = next(answer.rows, None)
        others = sum(1 for _ in answer.rows)
    if first is None:
        return Finding(invariant.text, 0, None)
    return Finding(invariant.text, 1 + others, " ".join(map(str, first)))
