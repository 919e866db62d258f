"""Views with plain names for SQL queries by people. They join the tables.

Jobs may belong to several runs, and to several settings of one. Every view has a row for each run, and says
which; roles_view, generations_view and scores_view have one for each setting, too. A method is called what
the sweep calls it, with its rule and parameter beside it. A temperature that is NULL is 1. The columns place
and basis_size are older names of item and constraints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy import Connection, text

from harness.jobs import MeasureHumanText

# Around the values that the paper chose, for rules whose parameter is a probability.
_PARAMETERS = (0.0001, 0.0003, 0.0006, 0.0009, 0.002, 0.004, 0.01, 0.03, 0.1)


@dataclass(frozen=True, slots=True)
class View:
    """A view: its name, what a row of it is, and its definition for either backend."""

    name: str
    meaning: str
    sql: str  # {seconds} stands for how long an attempt took, {joined VALUES} for a list as text


def _of_setting(expression: str) -> str:
    """A value of the settings of a run that a job works for, computed only by queries that ask for it."""
    return f"""(SELECT {expression} FROM instance_jobs
                JOIN instances ON instances.id = instance_jobs.instance_id
                WHERE instance_jobs.job_key = jobs.key AND instances.run_id = runs.id)"""


_SETTING = f"""
           {_of_setting("{joined instances.method}")} AS method,
           coalesce(jobs.method, {_of_setting("max(instances.rule)")}) AS rule,
           coalesce(jobs.parameter, {_of_setting("max(instances.parameter)")}) AS parameter,
           coalesce(jobs.constraints, {_of_setting("max(instances.constraints)")}) AS constraints,
           coalesce(jobs.temperature, {_of_setting("max(instances.temperature)")}) AS temperature,
           coalesce(jobs.temperature_order, {_of_setting("max(instances.temperature_order)")})
               AS temperature_order"""

RUNS = View(
    "runs_view",
    "A run, and what tells it from others of its name: when it was started, its tags, the revisions of the "
    "local files it reads. `identity` is the SHA-256 of name, configuration and revisions.",
    """
    SELECT runs.id AS run_id, runs.name AS run, runs.created_at, runs.started_at,
           (SELECT {joined run_tags.tag} FROM run_tags WHERE run_tags.run_id = runs.id) AS tags,
           (SELECT {joined run_inputs.key || ' ' || run_inputs.revision} FROM run_inputs
            WHERE run_inputs.run_id = runs.id) AS revision,
           (SELECT count(*) FROM run_jobs WHERE run_jobs.run_id = runs.id) AS jobs, runs.identity
    FROM runs
    """,
)

JOBS = View(
    "jobs_view",
    "A job of a run, and its state; `error` is that of its latest attempt. `method` lists the methods of the "
    "sweep that it works for; it is NULL for work on human text.",
    f"""
    SELECT runs.id AS run_id, runs.name AS run, jobs.id AS job, jobs.kind, jobs.state, jobs.model,
           jobs.corpus,{_SETTING},
           jobs.constraints AS basis_size, jobs.attempt, jobs.failures,
           jobs.losses, jobs.owner, jobs.lease_expires_at, jobs.not_before, attempts.error,
           jobs.adjustment, jobs.spec, jobs.created_at, jobs.finished_at
    FROM jobs
    JOIN run_jobs ON run_jobs.job_key = jobs.key
    JOIN runs ON runs.id = run_jobs.run_id
    LEFT JOIN attempts ON attempts.job_key = jobs.key AND attempts.number = jobs.attempt
    """,
)

PROGRESS = View(
    "progress_view",
    "Counts of a run's jobs of one kind, by state.",
    """
    SELECT runs.id AS run_id, runs.name AS run, jobs.kind,
           count(*) FILTER (WHERE jobs.state = 'waiting') AS waiting,
           count(*) FILTER (WHERE jobs.state = 'leased') AS leased,
           count(*) FILTER (WHERE jobs.state = 'done') AS done,
           count(*) FILTER (WHERE jobs.state = 'failed') AS failed,
           count(*) AS total
    FROM runs
    JOIN run_jobs ON run_jobs.run_id = runs.id
    JOIN jobs ON jobs.key = run_jobs.job_key
    GROUP BY runs.id, runs.name, jobs.kind
    """,
)

ATTEMPTS = View(
    "attempts_view",
    "One try at a job of a run: by whom, how long, how it ended, with what error, and how the worker spent "
    "its time: in `settle_seconds` the host solved programs, in `waiting_seconds` the model had nothing to "
    "do. Runs that share the job share the attempt: each has a row for it.",
    f"""
    SELECT runs.id AS run_id, runs.name AS run, jobs.id AS job, jobs.kind, jobs.model,{_SETTING},
           attempts.number, attempts.owner, attempts.worker, attempts.outcome, attempts.error,
           attempts.started_at, attempts.ended_at, {{seconds}} AS seconds,
           CAST(attempts.time_use ->> 'forward' AS double precision) AS forward_seconds,
           CAST(attempts.time_use ->> 'propose' AS double precision) AS propose_seconds,
           CAST(attempts.time_use ->> 'settle' AS double precision) AS settle_seconds,
           CAST(attempts.time_use ->> 'waiting' AS double precision) AS waiting_seconds,
           CAST(attempts.time_use ->> 'batches_in_flight' AS integer) AS batches_in_flight
    FROM attempts
    JOIN jobs ON jobs.key = attempts.job_key
    JOIN run_jobs ON run_jobs.job_key = jobs.key
    JOIN runs ON runs.id = run_jobs.run_id
    """,
)

ROLES = View(
    "roles_view",
    "The role of a job in a run: the stage, model, method, setting and seed it works for, and what its "
    "result is used as. A job has a row for each of its roles.",
    """
    SELECT runs.id AS run_id, runs.name AS run, instances.stage, instances.split, instances.model,
           instances.method, instances.rule, instances.parameter, instances.constraints,
           instances.temperature, instances.temperature_order, instances.seed,
           instance_jobs.role, jobs.id AS job, jobs.kind, jobs.state
    FROM instance_jobs
    JOIN instances ON instances.id = instance_jobs.instance_id
    JOIN runs ON runs.id = instances.run_id
    JOIN jobs ON jobs.key = instance_jobs.job_key
    """,
)

GENERATIONS = View(
    "generations_view",
    "A continuation that a model wrote, with the prefix and how the person continued it; a row for each "
    "setting of a run that it belongs to.",
    """
    SELECT runs.id AS run_id, runs.name AS run, instances.stage, jobs.id AS job, instances.model,
           prefix_sets.corpus || ' ' || prefix_sets.split AS corpus, instances.method, instances.rule,
           instances.parameter, instances.constraints, instances.constraints AS basis_size,
           instances.temperature, instances.temperature_order, instances.seed,
           jobs.adjustment, generations.item, generations.item AS place, generations.prefix_id AS prefix,
           prefixes.text AS prefix_text, generations.text, prefixes.continuation AS human_text,
           generations.stop_reason, generations.token_count, generations.solver_seconds
    FROM generations
    JOIN jobs ON jobs.key = generations.job_key
    JOIN instance_jobs ON instance_jobs.job_key = jobs.key
    JOIN instances ON instances.id = instance_jobs.instance_id
    JOIN runs ON runs.id = instances.run_id
    JOIN prefix_sets ON prefix_sets.key = generations.prefix_set_key
    JOIN prefixes ON prefixes.prefix_set_key = generations.prefix_set_key
                 AND prefixes.id = generations.prefix_id
    """,
)

SCORES = View(
    "scores_view",
    "A score of a setting with a seed, or of human text (method human), in a run, and what its interval is "
    "over.",
    """
    SELECT runs.id AS run_id, runs.name AS run, instances.stage, jobs.id AS job, instances.model,
           prefix_sets.corpus || ' ' || prefix_sets.split AS corpus,
           coalesce(instances.method, 'human') AS method, instances.rule, instances.parameter,
           instances.constraints, instances.constraints AS basis_size,
           instances.temperature, instances.temperature_order, instances.seed,
           scores.name, scores.value, scores.low, scores.high, scores.detail ->> 'source' AS interval_over,
           jobs.finished_at
    FROM scores
    JOIN jobs ON jobs.key = scores.job_key
    JOIN instance_jobs ON instance_jobs.job_key = jobs.key
    JOIN instances ON instances.id = instance_jobs.instance_id
    JOIN runs ON runs.id = instances.run_id
    LEFT JOIN prefix_sets ON prefix_sets.id = instances.prefix_set
    """,
)


def _rejection_rates() -> str:
    """Count rejections as bat.rules does, for the rules that a line of SQL can state.

    With tau the rule's threshold, limited to the largest probability, a plain rule rejects when p < tau, a
    basis-aware one when the critical threshold is at most tau as well. `x` is below eta's threshold when
    it is below both of its terms, eta and sqrt(eta) exp(-entropy). Tokens of two instances are never counted
    together, even if their labels are the same. The likelihoods of the continuations of prefixes, measured
    for their perplexity, are not counted.
    """
    below = {
        "epsilon": "{x} {op} parameter AND {x} {op} maximum",
        "eta": "{x} {op} parameter AND {x} * exp(entropy) * {x} * exp(entropy) {op} parameter "
        "AND {x} {op} maximum",
    }
    share = "CAST(avg(CASE WHEN {} THEN 1.0 ELSE 0.0 END) AS double precision)"
    branches = []
    for rule, condition in below.items():
        plain = condition.format(x="probability", op="<")
        certain = f"{plain} AND {condition.format(x='upper', op='<=')}"
        possible = f"{plain} AND {condition.format(x='lower', op='<=')}"
        branches.append(
            f"""
    SELECT run_id, run, model, corpus, '{rule}' AS rule, CAST(NULL AS integer) AS constraints,
           CAST(NULL AS integer) AS basis_size, parameter, count(*) AS tokens,
           {share.format(plain)} AS rejected, CAST(0 AS double precision) AS undecided
    FROM tokens CROSS JOIN parameters
    GROUP BY run_id, run, model, corpus, instance_id, parameter
    UNION ALL
    SELECT run_id, run, model, corpus, 'ba-{rule}' AS rule, constraints, constraints AS basis_size, parameter,
           count(*) AS tokens, {share.format(certain)} AS rejected,
           {share.format(f"{possible} AND NOT ({certain})")} AS undecided
    FROM tokens
    JOIN measurement_thresholds AS bounds ON bounds.job_key = tokens.job_key AND bounds.item = tokens.item
    CROSS JOIN parameters
    GROUP BY run_id, run, model, corpus, instance_id, constraints, parameter"""
        )
    values = ", ".join(f"(CAST({parameter} AS double precision))" for parameter in _PARAMETERS)
    role = MeasureHumanText.role
    return f"""
    WITH parameters(parameter) AS (VALUES {values}),
    tokens AS (
        SELECT runs.id AS run_id, runs.name AS run, instances.model, jobs.corpus,
               instances.id AS instance_id, measurements.*
        FROM measurements
        JOIN jobs ON jobs.key = measurements.job_key
        JOIN instance_jobs ON instance_jobs.job_key = jobs.key AND instance_jobs.role = '{role}'
        JOIN instances ON instances.id = instance_jobs.instance_id
        JOIN runs ON runs.id = instances.run_id
    ){"    UNION ALL".join(branches)}
    """


REJECTION_RATES = View(
    "hrr_view",
    "The share of human tokens that a rule certainly rejects at a parameter, and the share left undecided by "
    "the bounds; for epsilon and eta, plain and basis-aware, at a few parameters. Reads every measurement: "
    "select a run with WHERE.",
    _rejection_rates(),
)

ALL = (RUNS, JOBS, PROGRESS, ATTEMPTS, ROLES, GENERATIONS, REJECTION_RATES, SCORES)

_SECONDS = {
    "sqlite": "(julianday(attempts.ended_at) - julianday(attempts.started_at)) * 86400.0",
    "postgresql": "CAST(EXTRACT(EPOCH FROM attempts.ended_at - attempts.started_at) AS double precision)",
}
_JOINED = {"sqlite": r"group_concat(DISTINCT \1)", "postgresql": r"string_agg(DISTINCT \1, ',')"}


def create_all(connection: Connection) -> None:
    """Create the views; the tables must exist."""
    for view in ALL:
        sql = view.sql.replace("{seconds}", _SECONDS[connection.dialect.name])
        sql = re.sub(r"\{joined ([^}]*)\}", _JOINED[connection.dialect.name], sql)
        connection.execute(text(f"CREATE VIEW {view.name} AS {sql}"))


def drop_all(connection: Connection) -> None:
    """Drop the existing views, so that migrations can change the tables under them."""
    for view in ALL:
        connection.execute(text(f"DROP VIEW IF EXISTS {view.name}"))
