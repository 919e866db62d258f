"""The SQL behind DataFrames of results: each row with the run and the setting that it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean
from harness.api.runs import RunName, choose_runs
from harness.jobs import MeasureHumanText
from harness.store import Reader

# One value or several; None for all.
Choice = str | Iterable[str] | None


def about_runs(reader: Reader, sql: str, runs: RunName | Iterable[str | int] = None) -> str:
    """SQL with the numbers of runs for :runs, as in named queries; default: the latest run."""
    if ":runs" in sql:
        return sql.replace(":runs", ", ".join(str(run.id) for run in choose_runs(reader, runs)))
    if runs is not None:
        raise InvalidInputError(
            f"a query about a run must say where its number goes, as :runs; got {runs!r} for SQL without it. "
            "Write WHERE run_id IN (:runs)."
        )
    return sql


_METHOD = "coalesce(instances.method, 'human')"

_SETTING = f"""
SELECT runs.id AS run_id, runs.name AS run, instances.stage, instances.split, instances.model,
       {_METHOD} AS method, instances.rule, instances.parameter, instances.constraints,
       instances.temperature, instances.temperature_order, instances.seed"""

_JOBS = """
FROM runs
JOIN instances ON instances.run_id = runs.id
JOIN instance_jobs ON instance_jobs.instance_id = instances.id
JOIN jobs ON jobs.key = instance_jobs.job_key"""

# Numbers come last, where a DataFrame that is too wide for the screen still shows them.
SCORES = f"""{_SETTING}, jobs.id AS job, scores.detail ->> 'source' AS interval_over, scores.name AS score,
       scores.value, scores.low, scores.high
{_JOBS}
JOIN scores ON scores.job_key = jobs.key
WHERE {{condition}}
ORDER BY runs.id, instances.position, scores.name
"""

TEXTS = f"""{_SETTING}, generations.prefix_id AS prefix, prefixes.text AS prefix_text, generations.text,
       prefixes.continuation AS human_text, generations.stop_reason, generations.token_count,
       generations.solver_seconds, jobs.id AS job, generations.item
{_JOBS}
JOIN generations ON generations.job_key = jobs.key
JOIN prefixes ON prefixes.prefix_set_key = generations.prefix_set_key AND prefixes.id = generations.prefix_id
WHERE {{condition}}
ORDER BY runs.id, instances.position, instance_jobs.job_key, generations.item
"""

TOKENS = f"""{_SETTING}, generations.prefix_id AS prefix, jobs.id AS job, generations.item, token_traces.trace
{_JOBS}
JOIN generations ON generations.job_key = jobs.key
JOIN token_traces ON token_traces.job_key = jobs.key AND token_traces.item = generations.item
WHERE {{condition}}
ORDER BY runs.id, instances.position, instance_jobs.job_key, generations.item
"""

_MEASURED = f"""
SELECT runs.id AS run_id, runs.name AS run, instances.stage, instances.split, instances.model, jobs.corpus,
       measurements.document, measurements.position, measurements.token, measurements.probability,
       measurements.entropy, measurements.maximum, measurements.rank, measurements.mass_above,
       measurements.mass_nearer, measurements.deviation, measurements.collision, measurements.entropy_share,
       {{thresholds}} jobs.id AS job, measurements.item
{_JOBS} AND instance_jobs.role = '{MeasureHumanText.role}'
JOIN measurements ON measurements.job_key = jobs.key
{{join}}
WHERE {{condition}}
ORDER BY runs.id, instances.position, instance_jobs.job_key, measurements.item
"""

MEASUREMENTS = _MEASURED.replace("{thresholds}", "").replace("{join}", "")

MEASUREMENTS_WITH_THRESHOLDS = _MEASURED.replace(
    "{thresholds}",
    "bounds.constraints, bounds.lower, bounds.upper, bounds.status, bounds.pivots, bounds.seconds,",
).replace(
    "{join}",
    "JOIN measurement_thresholds AS bounds ON bounds.job_key = jobs.key AND bounds.item = measurements.item "
    "AND bounds.constraints = :constraints",
)

_NAMES = f"""
SELECT DISTINCT {_METHOD}, instances.model, instances.stage FROM instances
WHERE instances.run_id IN ({{runs}})
"""

_COLUMNS = {"method": _METHOD, "model": "instances.model", "stage": "instances.stage"}

# The connection is read-only anyway; these get a clearer message.
_CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "TRUNCATE"})


@dataclass(frozen=True, slots=True)
class Condition:
    """What follows WHERE, and the values of its parameters."""

    sql: str
    parameters: Mapping[str, Any]

    def and_one_of(self, column: str, name: str, values: Iterable[str]) -> Condition:
        """This condition, and that a column has one of these values."""
        parameters = {f"{name}_{number}": value for number, value in enumerate(values)}
        listed = ", ".join(f":{key}" for key in parameters) or "NULL"
        return Condition(f"{self.sql} AND {column} IN ({listed})", {**self.parameters, **parameters})


def condition(reader: Reader, run_ids: Iterable[int], **choices: Choice) -> Condition:
    """Rows of these runs, with these methods, models and stages; a name that no row has is an error."""
    numbers = ", ".join(map(str, run_ids))
    selected = Condition(f"runs.id IN ({numbers})", {})
    if all(choice is None for choice in choices.values()):
        return selected
    with reader.query(_NAMES.format(runs=numbers)) as answer:
        available = dict(zip(_COLUMNS, map(set, zip(*answer.rows, strict=True)), strict=False))
    for name, choice in choices.items():
        values = as_list(choice)
        if values is not None:
            check_known(name, values, available.get(name, set()))
            selected = selected.and_one_of(_COLUMNS[name], name, values)
    return selected


def as_list(choice: Choice) -> list[str] | None:
    """The values as a list; None for all."""
    return [choice] if isinstance(choice, str) else None if choice is None else list(choice)


def check_known(name: str, values: Iterable[str], known: Iterable[str]) -> None:
    """Raise for a value that is not among the known ones."""
    available = sorted(known)
    for value in values:
        if value not in available:
            raise InvalidInputError(
                f"{name} must be one of {', '.join(map(repr, available)) or 'none so far'}; got {value!r}."
                f"{did_you_mean(value, available)}"
            )


def check_read_only(statement: str) -> None:
    """Raise for a statement that would change the database."""
    first = statement.split(maxsplit=1)[0].upper() if statement.strip() else ""
    if first in _CHANGES:
        raise InvalidInputError(
            f"queries are read-only; got {first}, which would change the database. Use a SELECT statement."
        )
