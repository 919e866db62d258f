"""Questions that people ask a store, with their SQL; it runs on SQLite and on PostgreSQL alike."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A question, and how it is asked."""

    name: str
    question: str
    sql: str


QUERIES = (
    NamedQuery(
        "progress",
        "How far is each run?",
        """
SELECT run, kind, waiting, leased, done, failed, total
FROM progress_view
ORDER BY run, kind
""",
    ),
    NamedQuery(
        "failures",
        "What was set aside, and why?",
        """
SELECT run, kind, model, method, parameter, failures, losses, error, job
FROM jobs_view
WHERE state = 'failed'
ORDER BY run, kind, job
""",
    ),
    NamedQuery(
        "slowest",
        "Which attempts took longest?",
        """
SELECT kind, model, worker, seconds, outcome, job
FROM attempts_view
WHERE ended_at IS NOT NULL
ORDER BY seconds DESC, job
LIMIT 20
""",
    ),
    NamedQuery(
        "owners",
        "Who works, who has worked, and how did it go?",
        """
SELECT owner, outcome, count(*) AS attempts, avg(seconds) AS mean_seconds, max(ended_at) AS latest
FROM attempts_view
GROUP BY owner, outcome
ORDER BY owner, outcome
""",
    ),
    NamedQuery(
        "best",
        "Which parameter of each method scores best by MAUVE?",
        """
SELECT model, corpus, method, basis_size, parameter, value, low, high
FROM (
    SELECT scores_view.*,
           rank() OVER (PARTITION BY model, corpus, method, basis_size ORDER BY value DESC) AS place
    FROM scores_view
    WHERE name = 'mauve' AND value IS NOT NULL
) AS ranked
WHERE place = 1
ORDER BY model, corpus, value DESC
""",
    ),
    NamedQuery(
        "side-by-side",
        "What did two methods write after the same prefix?",
        """
SELECT plain.prefix_text, plain.text AS eta, aware.text AS ba_eta, plain.human_text AS human
FROM generations_view AS plain
JOIN generations_view AS aware ON aware.prefix = plain.prefix AND aware.model = plain.model
WHERE plain.method = 'eta' AND aware.method = 'ba-eta'
ORDER BY plain.prefix, plain.parameter, aware.parameter
LIMIT 20
""",
    ),
    NamedQuery(
        "endings",
        "How long are the texts, and how do they end?",
        """
SELECT model, method, basis_size, parameter, count(*) AS texts, avg(token_count) AS mean_tokens,
       avg(CASE WHEN stop_reason = 'end' THEN 1.0 ELSE 0.0 END) AS ended_by_themselves,
       sum(solver_seconds) AS solver_seconds
FROM generations_view
GROUP BY model, method, basis_size, parameter
ORDER BY model, method, basis_size, parameter
""",
    ),
    NamedQuery(
        "rejection",
        "How much human text does each rule reject?",
        """
SELECT run, model, corpus, rule, basis_size, parameter, tokens, rejected, undecided
FROM hrr_view
ORDER BY run, model, corpus, rule, basis_size, parameter
""",
    ),
    NamedQuery(
        "effort",
        "What did the linear programs of a measurement cost, and did they close?",
        """
SELECT jobs.model, bounds.basis_size, bounds.status, count(*) AS programs, avg(bounds.pivots) AS mean_pivots,
       avg(bounds.passes) AS mean_passes, sum(bounds.seconds) AS seconds
FROM measurement_thresholds AS bounds
JOIN jobs ON jobs.key = bounds.job_key
GROUP BY jobs.model, bounds.basis_size, bounds.status
ORDER BY jobs.model, bounds.basis_size, bounds.status
""",
    ),
    NamedQuery(
        "resolutions",
        "What were the parameters set to that the configuration left open?",
        """
SELECT runs.name AS run, resolutions.parameter, resolutions.asked, resolutions.value, resolutions.how,
       (SELECT count(*) FROM resolution_jobs WHERE resolution_id = resolutions.id) AS decided_by_jobs
FROM resolutions
JOIN runs ON runs.id = resolutions.run_id
ORDER BY runs.name, resolutions.parameter
""",
    ),
)
