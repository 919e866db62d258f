"""Queries that have a name, so that nobody has to write their SQL."""

from __future__ import annotations

import difflib

from bat.errors import InvalidInputError
from harness.store.queries import QUERIES, NamedQuery

# Beside those of docs/database.md, which are examples to start from as well.
_FURTHER = (
    NamedQuery(
        "scores",
        "How did every setting score?",
        """
SELECT model, corpus, method, parameter, basis_size, name, value, low, high, job
FROM scores_view
ORDER BY name, model, corpus, method, parameter, basis_size, job
""",
    ),
    NamedQuery(
        "measurements",
        "What did the models make of human text?",
        """
SELECT jobs.model, jobs.corpus, count(DISTINCT measurements.document) AS documents, count(*) AS tokens,
       avg(measurements.entropy) AS mean_entropy, avg(measurements.probability) AS mean_probability,
       avg(CASE WHEN measurements.rank = 0 THEN 1.0 ELSE 0.0 END) AS likeliest
FROM measurements
JOIN jobs ON jobs.key = measurements.job_key
GROUP BY jobs.model, jobs.corpus
ORDER BY jobs.model, jobs.corpus
""",
    ),
    NamedQuery(
        "texts",
        "What was written, and after what?",
        """
SELECT model, method, parameter, basis_size, prefix_text, text, human_text, stop_reason, token_count, job
FROM generations_view
ORDER BY prefix, model, method, parameter, basis_size, job
""",
    ),
    NamedQuery(
        "workers",
        "Which workers did what, and is one of them slower than the others, or failing?",
        """
SELECT worker, kind, outcome, count(*) AS attempts, avg(seconds) AS mean_seconds, max(ended_at) AS latest
FROM attempts_view
WHERE worker IS NOT NULL
GROUP BY worker, kind, outcome
ORDER BY worker, kind, outcome
""",
    ),
    NamedQuery(
        "adjusted",
        "Which jobs were done otherwise than planned, for lack of memory?",
        """
SELECT run, kind, model, method, parameter, basis_size, state, adjustment, job
FROM jobs_view
WHERE adjustment IS NOT NULL
ORDER BY run, kind, job
""",
    ),
)

NAMED_QUERIES = {query.name: query for query in (*QUERIES, *_FURTHER)}


def get_query(name: str) -> NamedQuery:
    """The query of that name."""
    if name not in NAMED_QUERIES:
        near = difflib.get_close_matches(name, NAMED_QUERIES, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInputError(
            f"there is no query {name!r}; there are {', '.join(NAMED_QUERIES)}.{guess} "
            "See: bat-harness query --list"
        )
    return NAMED_QUERIES[name]
