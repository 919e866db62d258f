"""Named queries: questions people ask about their results, with SQL for both SQLite and PostgreSQL.

Each is about some runs, whose numbers take the place of :runs (see harness.api.queries), and has columns that
say which.
"""

from __future__ import annotations

from dataclasses import dataclass

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A question and the SQL that answers it."""

    name: str
    question: str
    sql: str


# Shown in docs/database.md, as examples to start from.
QUERIES = (
    NamedQuery(
        "progress",
        "How far along is a run?",
        """
SELECT run_id, run, kind, waiting, leased, done, failed, total
FROM progress_view
WHERE run_id IN (:runs)
ORDER BY run_id, kind
""",
    ),
    NamedQuery(
        "failures",
        "Which jobs failed, and why?",
        """
SELECT run_id, run, kind, model, method, rule, parameter, failures, losses, error, job
FROM jobs_view
WHERE run_id IN (:runs) AND state = 'failed'
ORDER BY run_id, kind, job
""",
    ),
    NamedQuery(
        "slowest",
        "Which attempts took longest?",
        """
SELECT run_id, run, kind, model, method, rule, parameter, worker, seconds, outcome, job
FROM attempts_view
WHERE run_id IN (:runs) AND ended_at IS NOT NULL
ORDER BY seconds DESC, job
LIMIT 20
""",
    ),
    NamedQuery(
        "owners",
        "Which drivers run or ran jobs, and how did their attempts end?",
        """
SELECT run_id, run, owner, outcome, count(*) AS attempts, avg(seconds) AS mean_seconds,
       max(ended_at) AS latest
FROM attempts_view
WHERE run_id IN (:runs)
GROUP BY run_id, run, owner, outcome
ORDER BY run_id, owner, outcome
""",
    ),
    NamedQuery(
        "best",
        "Which parameter of each method has the highest MAUVE, averaged over seeds?",
        """
SELECT run_id, run, stage, model, corpus, method, rule, constraints, temperature, temperature_order,
       parameter, seeds, value
FROM (
    SELECT run_id, run, stage, model, corpus, method, rule, constraints, temperature, temperature_order,
           parameter, count(*) AS seeds, avg(value) AS value,
           rank() OVER (
               PARTITION BY run_id, stage, model, method, constraints, temperature, temperature_order
               ORDER BY avg(value) DESC
           ) AS standing
    FROM scores_view
    WHERE run_id IN (:runs) AND name = 'mauve' AND value IS NOT NULL
    GROUP BY run_id, run, stage, model, corpus, method, rule, constraints, temperature, temperature_order,
             parameter
) AS ranked
WHERE standing = 1
ORDER BY run_id, stage, model, value DESC
""",
    ),
    NamedQuery(
        "side-by-side",
        "What did eta and ba-eta write after the same prefix?",
        """
SELECT plain.run_id, plain.run, plain.stage, plain.prefix_text, plain.method, plain.text,
       aware.method AS other_method, aware.text AS other_text, plain.human_text
FROM generations_view AS plain
JOIN generations_view AS aware
    ON aware.run_id = plain.run_id AND aware.stage = plain.stage AND aware.model = plain.model
   AND aware.prefix = plain.prefix AND aware.seed = plain.seed
   AND coalesce(aware.temperature, 1) = coalesce(plain.temperature, 1)
WHERE plain.run_id IN (:runs) AND plain.rule = 'eta' AND aware.rule = 'ba-eta'
ORDER BY plain.run_id, plain.stage, plain.prefix, plain.parameter, aware.parameter
LIMIT 20
""",
    ),
    NamedQuery(
        "endings",
        "How long are the texts, and how do they end?",
        """
SELECT run_id, run, stage, model, method, rule, constraints, temperature, temperature_order, parameter,
       count(*) AS texts, avg(token_count) AS mean_tokens,
       avg(CASE WHEN stop_reason = 'end' THEN 1.0 ELSE 0.0 END) AS ended_by_themselves,
       sum(solver_seconds) AS solver_seconds
FROM generations_view
WHERE run_id IN (:runs)
GROUP BY run_id, run, stage, model, method, rule, constraints, temperature, temperature_order, parameter
ORDER BY run_id, stage, model, method, constraints, temperature, temperature_order, parameter
""",
    ),
    NamedQuery(
        "rejection",
        "How much human text does each rule reject?",
        """
SELECT run_id, run, model, corpus, rule, constraints, parameter, tokens, rejected, undecided
FROM hrr_view
WHERE run_id IN (:runs)
ORDER BY run_id, model, corpus, rule, constraints, parameter
""",
    ),
    NamedQuery(
        "effort",
        "What did the linear programs of the measurements cost, and were they solved?",
        """
SELECT runs.id AS run_id, runs.name AS run, jobs.model, bounds.constraints, bounds.status,
       count(*) AS programs, avg(bounds.pivots) AS mean_pivots, avg(bounds.passes) AS mean_passes,
       sum(bounds.seconds) AS seconds
FROM measurement_thresholds AS bounds
JOIN jobs ON jobs.key = bounds.job_key
JOIN run_jobs ON run_jobs.job_key = jobs.key
JOIN runs ON runs.id = run_jobs.run_id
WHERE runs.id IN (:runs)
GROUP BY runs.id, runs.name, jobs.model, bounds.constraints, bounds.status
ORDER BY runs.id, jobs.model, bounds.constraints, bounds.status
""",
    ),
    NamedQuery(
        "resolutions",
        "What values did unresolved parameters get?",
        """
SELECT runs.id AS run_id, runs.name AS run, resolutions.parameter, resolutions.asked, resolutions.value,
       resolutions.how,
       (SELECT count(*) FROM resolution_jobs WHERE resolution_id = resolutions.id) AS decided_by_jobs
FROM resolutions
JOIN runs ON runs.id = resolutions.run_id
WHERE runs.id IN (:runs)
ORDER BY runs.id, resolutions.parameter
""",
    ),
)

# Available by name only.
_FURTHER = (
    NamedQuery(
        "scores",
        "How did every setting score?",
        """
SELECT run_id, run, stage, model, corpus, method, rule, parameter, constraints, temperature,
       temperature_order, seed, name, value, low, high, job
FROM scores_view
WHERE run_id IN (:runs)
ORDER BY run_id, name, stage, model, method, parameter, constraints, temperature, temperature_order, seed,
         job
""",
    ),
    NamedQuery(
        "measurements",
        "How likely is human text under each model?",
        """
SELECT runs.id AS run_id, runs.name AS run, jobs.model, jobs.corpus,
       count(DISTINCT measurements.document) AS documents, count(*) AS tokens,
       avg(measurements.entropy) AS mean_entropy, avg(measurements.probability) AS mean_probability,
       avg(CASE WHEN measurements.rank = 0 THEN 1.0 ELSE 0.0 END) AS likeliest
FROM measurements
JOIN jobs ON jobs.key = measurements.job_key
JOIN run_jobs ON run_jobs.job_key = jobs.key
JOIN runs ON runs.id = run_jobs.run_id
WHERE runs.id IN (:runs)
GROUP BY runs.id, runs.name, jobs.model, jobs.corpus
ORDER BY runs.id, jobs.model, jobs.corpus
""",
    ),
    NamedQuery(
        "texts",
        "What did the models write, and after which prefixes?",
        """
SELECT run_id, run, stage, model, method, rule, parameter, constraints, temperature, temperature_order, seed,
       prefix_text, text, human_text, stop_reason, token_count, job
FROM generations_view
WHERE run_id IN (:runs)
ORDER BY run_id, stage, prefix, model, method, parameter, constraints, temperature, temperature_order, seed,
         job
""",
    ),
    NamedQuery(
        "workers",
        "What did each worker do, and is one slow or failing?",
        """
SELECT run_id, run, worker, kind, outcome, count(*) AS attempts, avg(seconds) AS mean_seconds,
       max(ended_at) AS latest
FROM attempts_view
WHERE run_id IN (:runs) AND worker IS NOT NULL
GROUP BY run_id, run, worker, kind, outcome
ORDER BY run_id, worker, kind, outcome
""",
    ),
    NamedQuery(
        "adjusted",
        "Which jobs ran differently than planned because memory ran out?",
        """
SELECT run_id, run, kind, model, method, rule, parameter, constraints, temperature, temperature_order, state,
       adjustment, job
FROM jobs_view
WHERE run_id IN (:runs) AND adjustment IS NOT NULL
ORDER BY run_id, kind, job
""",
    ),
)

NAMED_QUERIES = {query.name: query for query in (*QUERIES, *_FURTHER)}


def get_query(name: str) -> NamedQuery:
    """The query of that name."""
    if name not in NAMED_QUERIES:
        raise InvalidInputError(
            f"there is no query named {name!r}; available: {', '.join(NAMED_QUERIES)}."
            f"{did_you_mean(name, NAMED_QUERIES)} See: bat-harness query --list"
        )
    return NAMED_QUERIES[name]
