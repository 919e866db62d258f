"""The tables of an exported run: their SQL and the types of their columns.

Rows refer to their job by its id, which is the same in every database; `:run_id` is the number of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa  # type: ignore[import-untyped]

_TEXT = pa.string()
_TIME = pa.timestamp("us", tz="UTC")
_INT = pa.int32()
_FLOAT = pa.float64()
_SINGLE = pa.float32()


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A table of an export. Columns of type list are JSON in the database."""

    name: str
    meaning: str
    sql: str
    schema: pa.Schema
    of_results: bool = True  # the first column is the id of a job that is done


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema(list(columns.items()))


def _of_jobs(table: str, *columns: str) -> str:
    """Rows of a table of results, ordered by job, then by the first column."""
    return f"""
SELECT jobs.id AS job, {", ".join(f"{table}.{column}" for column in columns)}
FROM run_jobs
JOIN jobs ON jobs.key = run_jobs.job_key
JOIN {table} ON {table}.job_key = jobs.key
WHERE run_jobs.run_id = :run_id
ORDER BY run_jobs.job_key, {table}.{columns[0]}
"""


JOBS = ExportTable(
    "jobs",
    "jobs of the run and their states",
    """
SELECT job, kind, state, model, corpus, method, rule, parameter, constraints, temperature,
       temperature_order, attempt AS attempts, failures, losses, adjustment, error, spec, created_at,
       finished_at
FROM jobs_view
WHERE run_id = :run_id
ORDER BY created_at, kind, job
""",
    _schema(
        job=_TEXT,
        kind=_TEXT,
        state=_TEXT,
        model=_TEXT,
        corpus=_TEXT,
        method=_TEXT,
        rule=_TEXT,
        parameter=_FLOAT,
        constraints=_INT,
        temperature=_FLOAT,
        temperature_order=_TEXT,
        attempts=_INT,
        failures=_INT,
        losses=_INT,
        adjustment=_TEXT,
        error=_TEXT,
        spec=_TEXT,
        created_at=_TIME,
        finished_at=_TIME,
    ),
    of_results=False,
)

ATTEMPTS = ExportTable(
    "attempts",
    "attempts at jobs",
    _of_jobs("attempts", "number", "owner", "worker", "outcome", "error", "started_at", "ended_at"),
    _schema(
        job=_TEXT,
        number=_INT,
        owner=_TEXT,
        worker=_TEXT,
        outcome=_TEXT,
        error=_TEXT,
        started_at=_TIME,
        ended_at=_TIME,
    ),
    of_results=False,
)

RESOLUTIONS = ExportTable(
    "resolutions",
    "resolved parameters",
    """
SELECT parameter, asked, value, how, detail, created_at FROM resolutions WHERE run_id = :run_id ORDER BY id
""",
    _schema(parameter=_TEXT, asked=_TEXT, value=_TEXT, how=_TEXT, detail=_TEXT, created_at=_TIME),
    of_results=False,
)

PREFIXES = ExportTable(
    "prefixes",
    "prefixes that were continued, and the human continuations",
    """
SELECT prefix_sets.id AS prefix_set, prefixes.item, prefixes.id AS prefix, prefix_sets.corpus,
       prefix_sets.split, prefixes.text, prefixes.token_ids, prefixes.continuation, prefixes.continuation_ids
FROM prefixes
JOIN prefix_sets ON prefix_sets.key = prefixes.prefix_set_key
WHERE prefixes.prefix_set_key IN (
    SELECT generations.prefix_set_key
    FROM run_jobs JOIN generations ON generations.job_key = run_jobs.job_key
    WHERE run_jobs.run_id = :run_id
)
ORDER BY prefixes.prefix_set_key, prefixes.item
""",
    _schema(
        prefix_set=_TEXT,
        item=_INT,
        prefix=_TEXT,
        corpus=_TEXT,
        split=_TEXT,
        text=_TEXT,
        token_ids=pa.list_(_INT),
        continuation=_TEXT,
        continuation_ids=pa.list_(_INT),
    ),
    of_results=False,
)

GENERATIONS = ExportTable(
    "generations",
    "generated texts",
    """
SELECT jobs.id AS job, generations.item, prefix_sets.id AS prefix_set, generations.prefix_id AS prefix,
       generations.text, generations.stop_reason, generations.token_count, generations.solver_seconds
FROM run_jobs
JOIN jobs ON jobs.key = run_jobs.job_key
JOIN generations ON generations.job_key = jobs.key
JOIN prefix_sets ON prefix_sets.key = generations.prefix_set_key
WHERE run_jobs.run_id = :run_id
ORDER BY run_jobs.job_key, generations.item
""",
    _schema(
        job=_TEXT,
        item=_INT,
        prefix_set=_TEXT,
        prefix=_TEXT,
        text=_TEXT,
        stop_reason=_TEXT,
        token_count=_INT,
        solver_seconds=_FLOAT,
    ),
)

MEASUREMENTS = ExportTable(
    "measurements",
    "tokens of human text under the model's distribution",
    _of_jobs(
        "measurements",
        *("item", "document", "position", "token", "probability", "entropy", "maximum", "rank"),
        *("mass_above", "mass_nearer", "deviation", "collision", "entropy_share"),
    ),
    _schema(
        job=_TEXT,
        item=_INT,
        document=_TEXT,
        position=_INT,
        token=_INT,
        probability=_FLOAT,
        entropy=_FLOAT,
        maximum=_FLOAT,
        rank=_INT,
        mass_above=_FLOAT,
        mass_nearer=_FLOAT,
        deviation=_FLOAT,
        collision=_FLOAT,
        entropy_share=_FLOAT,
    ),
)

THRESHOLDS = ExportTable(
    "measurement_thresholds",
    "intervals for the critical thresholds of these tokens, by number of constraints",
    _of_jobs(
        "measurement_thresholds",
        *("item", "constraints", "lower", "upper", "lower_rank", "upper_rank", "lower_mass", "upper_mass"),
        *("lower_entropy_share", "upper_entropy_share", "status", "pivots", "passes", "seconds"),
    ),
    _schema(
        job=_TEXT,
        item=_INT,
        constraints=_INT,
        lower=_FLOAT,
        upper=_FLOAT,
        lower_rank=_INT,
        upper_rank=_INT,
        lower_mass=_FLOAT,
        upper_mass=_FLOAT,
        lower_entropy_share=_FLOAT,
        upper_entropy_share=_FLOAT,
        status=_TEXT,
        pivots=_INT,
        passes=_INT,
        seconds=_FLOAT,
    ),
)

FEATURES = ExportTable(
    "features",
    "feature vectors of texts",
    _of_jobs("features", "item", "vector"),
    _schema(job=_TEXT, item=_INT, vector=pa.list_(_SINGLE)),
)

SCORES = ExportTable(
    "scores",
    "scores, with intervals",
    _of_jobs("scores", "name", "value", "low", "high", "detail"),
    _schema(job=_TEXT, name=_TEXT, value=_FLOAT, low=_FLOAT, high=_FLOAT, detail=_TEXT),
)

TOKENS = ExportTable(
    "tokens",
    "tokens of the generated texts: how each was accepted, what was rejected before it",
    _of_jobs("token_traces", "item", "trace"),
    _schema(
        job=_TEXT,
        item=_INT,
        step=_INT,
        token=_INT,
        probability=_SINGLE,
        threshold=_SINGLE,
        acceptance=pa.dictionary(pa.int8(), _TEXT),
        rejections=_INT,
        undecided=_INT,
        programs=_INT,
        pivots=_INT,
        passes=_INT,
        rejected_tokens=pa.list_(_INT),
    ),
)

# Jobs come first: only results of jobs that are done at that point are exported.
TABLES = (
    *(JOBS, ATTEMPTS, RESOLUTIONS, PREFIXES, GENERATIONS, TOKENS),
    *(MEASUREMENTS, THRESHOLDS, FEATURES, SCORES),
)
