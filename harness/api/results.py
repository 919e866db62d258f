"""Results of runs as pandas DataFrames."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import pandas as pd

from bat.errors import InvalidInputError
from harness.api import queries
from harness.api.estimates import comparison_rows, estimate_rows
from harness.api.frames import settings_frame, to_frame, tokens_frame, with_types
from harness.api.human_text import MeasuredText, check_constraints, curve_rows, measured_texts
from harness.api.queries import Choice, Condition, as_list
from harness.api.runs import RunName, choose_runs, list_runs
from harness.config import SweepConfig, from_identity
from harness.report.tables.rejection import REPLICATES, rules_of
from harness.store import Reader, Run, open_reader


def open_results(db: str | os.PathLike[str], run: RunName | Iterable[str | int] = None) -> RunResults:
    """Open the results of a run as DataFrames; a sweep can be running at the same time.

    `db` is a URL or the path of an SQLite file. `run` is the name or number of a run (or NAME#NUMBER), a
    list of them, or "all"; default: the latest run.

        results = harness.open_results("demo.db")
        results.scores()
    """
    reader = open_reader(db)
    try:
        return RunResults(reader, choose_runs(reader, run))
    except BaseException:
        reader.close()
        raise


class RunResults:
    """Results of runs. Every method queries the database and returns a DataFrame.

    runs()              the runs, with numbers of jobs
    scores()            a row for each setting, seed and score, with its interval
    estimates()         scores averaged over seeds, with the intervals of the report
    compare(A, B)       differences between two settings or runs, paired where they share prefixes
    texts()             generated texts, with prefixes and human continuations
    tokens()            what happened at every generated token
    measurements()      human text, token by token, under the model
    rejection_curves()  the share of human text that rules reject, along their parameters
    resolutions()       parameters that results decided
    sql(query)          anything else

    `method`, `model` and `stage` select rows by their names in the sweep: one name or several. Close it, or
    use it in a `with` block, to release the database; otherwise it is released with the object.
    """

    def __init__(self, reader: Reader, runs: Sequence[Run]) -> None:
        self._opened, self._runs = reader, tuple(runs)
        self._closing = weakref.finalize(self, reader.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(f"{run.name} (run {run.id})" for run in self._runs) or "no runs"
        return f"<results of {names} in {self._opened.address}>"

    def close(self) -> None:
        """Release the database."""
        self._closing()

    @property
    def _reader(self) -> Reader:
        if not self._closing.alive:
            raise InvalidInputError("these results are closed. Open them again with harness.open_results.")
        return self._opened

    @property
    def run_ids(self) -> tuple[int, ...]:
        """Numbers of the runs, for use in SQL."""
        return tuple(run.id for run in self._runs)

    def runs(self) -> pd.DataFrame:
        """The runs: name, state, when they were started, the revision of their local files, their tags, and
        how many jobs are done, waiting, failed..."""
        counts = ("done", "leased", "waiting", "failed", "total")
        names = ("run_id", "run", "state", "created_at", "started_at", "configuration", "revision", "tags")
        rows = [
            (
                summary.run.id,
                summary.run.name,
                summary.state.value,
                summary.run.created_at,
                summary.run.started_at,
                summary.run.configuration_hash,
                summary.run.revision,
                ", ".join(summary.run.tags),
                *(getattr(summary, name) for name in counts),
            )
            for summary in list_runs(self._reader)
            if summary.run.id in self.run_ids
        ]
        return pd.DataFrame(rows, columns=[*names, *counts])

    def scores(
        self, *, score: Choice = None, method: Choice = None, model: Choice = None, stage: Choice = None
    ) -> pd.DataFrame:
        """A row for each setting, seed and score; human text has the method "human" and no seed.

        `low` and `high` are the ends of a 95% interval, and `interval_over` says what was varied for it.
        `score` selects scores by name, such as "mauve".
        """
        condition = self._condition(method=method, model=model, stage=stage)
        names = as_list(score)
        if names is not None:
            stored = self._fetch("SELECT DISTINCT name FROM scores", Condition("", {}))[1]
            queries.check_known("score", names, [name for (name,) in stored])
            condition = condition.and_one_of("scores.name", "score", names)
        return settings_frame(*self._fetch(queries.SCORES, condition))

    def estimates(
        self,
        *,
        score: Choice = None,
        method: Choice = None,
        model: Choice = None,
        stage: Choice = None,
        all_intervals: bool = False,
    ) -> pd.DataFrame:
        """Scores averaged over seeds, with their 95% intervals, as a report shows them.

        Each setting and score has one row, with the interval that says most about other text. With
        `all_intervals` it has a row for each interval: over resampled prefixes, generation seeds and
        k-means seeds.
        """
        self._condition(method=method, model=model, stage=stage)  # checks the names
        columns, rows = estimate_rows(self._reader, self._runs, all_intervals=all_intervals)
        frame = settings_frame(columns, rows)
        if score is not None:
            queries.check_known("score", as_list(score) or (), set(frame["score"]))
        choices = {"score": score, "method": method, "model": model, "stage": stage}
        for name, choice in choices.items():
            if choice is not None:
                frame = frame[frame[name].isin(as_list(choice))]
        return frame.reset_index(drop=True)

    def compare(self, first: str, second: str, *, score: Choice = None) -> pd.DataFrame:
        """First minus second in every score that both have, averaged over seeds, with a 95% interval.

        A side is a method or setting ("tight", "eta=0.002"), one of a run ("run1/tight"), or a whole run,
        whose methods are compared with those of the other that have the same name. `paired` says whether both
        sides continue the same prefixes; `p_value` is that of the sign test over blocks of prefixes, and
        `words` says what the difference shows.
        """
        columns, rows = comparison_rows(self._reader, self._runs, first, second)
        frame = with_types(pd.DataFrame(rows, columns=list(columns)))
        if score is not None:
            names = as_list(score) or ()
            queries.check_known("score", names, set(frame["score"]))
            frame = frame[frame["score"].isin(names)].reset_index(drop=True)
        return frame

    def texts(self, *, method: Choice = None, model: Choice = None, stage: Choice = None) -> pd.DataFrame:
        """A row for each generated text, with its prefix and how a person continued it."""
        condition = self._condition(method=method, model=model, stage=stage)
        return settings_frame(*self._fetch(queries.TEXTS, condition))

    def tokens(
        self,
        *,
        method: Choice = None,
        model: Choice = None,
        stage: Choice = None,
        with_rejected: bool = False,
    ) -> pd.DataFrame:
        """A row for each generated token: its probability, the threshold, how it was accepted, solver effort.

        `job` and `item` tell texts apart, as in `texts`; `step` counts the tokens of a text. `rejections` is
        the number of tokens rejected before this one; `with_rejected` adds their ids. Columns of names are
        categorical. A large sweep has millions of tokens: select a method or a model.
        """
        condition = self._condition(method=method, model=model, stage=stage)
        columns, rows = self._fetch(queries.TOKENS, condition)
        return tokens_frame(columns, rows, with_rejected=with_rejected)

    def measurements(
        self, *, model: Choice = None, stage: Choice = None, constraints: int | None = None
    ) -> pd.DataFrame:
        """A row for each measured token of human text: its probability, the entropy, its rank...

        With a number of constraints, also the interval [`lower`, `upper`] of its critical threshold.
        """
        condition = self._condition(model=model, stage=stage)
        if constraints is None:
            return to_frame(*self._fetch(queries.MEASUREMENTS, condition))
        check_constraints([constraints], self._measured(model, stage))
        with_number = Condition(condition.sql, {**condition.parameters, "constraints": constraints})
        return with_types(to_frame(*self._fetch(queries.MEASUREMENTS_WITH_THRESHOLDS, with_number)))

    def rejection_curves(
        self,
        rules: Choice = None,
        parameters: Sequence[float] | Mapping[str, Sequence[float]] | None = None,
        constraints: int | Iterable[int] | None = None,
        *,
        model: Choice = None,
        stage: Choice = None,
        replicates: int = REPLICATES,
    ) -> pd.DataFrame:
        """The share of human tokens that each rule rejects, along its parameter.

        `rules` default to those of the sweeps. `parameters` are for all rules, or for each by its name;
        default: a grid that suits the rule. `constraints` default to all that were measured. `low` and `high`
        are a 95% interval over `replicates` resampled sets of documents, `undecided` is the share of tokens
        that no bound settles.
        """
        measured = self._measured(model, stage)
        numbers = [constraints] if isinstance(constraints, int) else constraints
        chosen = as_list(rules) or (rules_of(self._sweeps()) if measured else [])
        columns, rows = curve_rows(self._reader, measured, chosen, parameters, numbers, replicates=replicates)
        return with_types(pd.DataFrame(rows, columns=columns))

    def resolutions(self) -> pd.DataFrame:
        """Parameters that results decided: their values, 95% intervals, and how each was resolved."""
        rows = []
        details = ("low", "high", "rate", "reference", "reference_rate")
        for run in self._runs:
            instances = self._reader.instances(run.id, with_jobs=False)
            by_name = {instance.resolution: instance for instance in reversed(instances)}
            for resolution in self._reader.resolutions(run.id):
                user = by_name.get(resolution.parameter)  # None for the reference of another resolution
                names = (
                    "stage",
                    "model",
                    "method",
                    "rule",
                    "constraints",
                    "temperature",
                    "temperature_order",
                )
                setting = (None if user is None else getattr(user, name) for name in names)
                numbers = (resolution.detail or {}).get
                values = (resolution.value, *map(numbers, details), resolution.how, resolution.parameter)
                rows.append((run.id, run.name, *setting, *values))
        columns = ["run_id", "run", "stage", "model", "method", "rule", "constraints", "temperature"]
        columns += ["temperature_order", "value", *details]
        return with_types(pd.DataFrame(rows, columns=[*columns, "how", "resolution"]))

    def sql(self, query: str, parameters: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """The rows of a SELECT statement; `:name` stands for a parameter.

        Tables and views are described in docs/database.md. A query sees all runs of the database: select by
        `run_id`, which every view has.
        """
        queries.check_read_only(query)
        with self._reader.query(query, parameters) as answer:
            return to_frame(answer.columns, answer.rows)

    def _sweeps(self) -> list[SweepConfig]:
        return [from_identity(run.config) for run in self._runs]

    def _condition(self, **choices: Choice) -> Condition:
        return queries.condition(self._reader, self.run_ids, **choices)

    def _fetch(self, sql: str, condition: Condition) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        statement = sql.replace("{condition}", condition.sql)
        with self._reader.query(statement, condition.parameters) as answer:
            return answer.columns, list(answer.rows)

    def _measured(self, model: Choice, stage: Choice) -> list[MeasuredText]:
        self._condition(model=model, stage=stage)  # checks the names
        models, stages = as_list(model), as_list(stage)
        return [
            text
            for text in measured_texts(self._reader, self._runs)
            if (models is None or text.model in models) and (stages is None or text.stage in stages)
        ]
