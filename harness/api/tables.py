"""Scores of a run as tables of cells, each with its interval and the jobs behind it, as in a report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NoReturn

from bat.errors import InvalidInputError
from harness.api.queries import check_known
from harness.report.loading import load_results
from harness.report.parts import Cell, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.comparing import compare_sides
from harness.report.tables.differences import comparison_table, differences
from harness.report.tables.labels import labels, models_of, shown
from harness.report.tables.statistics import SHOWN_FIRST, any_score_cell, human_cell
from harness.report.tracing import TracedCell, trace_jobs
from harness.store import Reader, Run

HUMAN = "human"
TABLE = "all-scores"  # what a report calls the table that has all of these cells


class ScoreTables:
    """The scores of a run. Everything is loaded at once; it holds no database."""

    def __init__(self, reader: Reader, run: Run) -> None:
        self._results = load_results(reader, [run])
        self._shown = shown(self._results)
        self._whole: dict[str, Table] = {}  # with all scores, by model
        self.models = tuple(models_of(self._shown))

    def scores(self, model: str) -> list[str]:
        """The names of the scores that any setting of a model has, those that matter most first."""
        scored = [seed.scores for result in self._of(model) for seed in result.seeds]
        names = dict.fromkeys(name for scores in scored for name in scores)
        ranks = {name: rank for rank, name in enumerate(SHOWN_FIRST)}
        return sorted(names, key=lambda name: ranks.get(name, len(ranks)))

    def table(self, model: str, scores: Iterable[str]) -> Table:
        """A row for each setting of a model, and for human text; a column for each of the scores."""
        names = list(scores)
        check_known("score", names, self.scores(model))
        if model not in self._whole:
            self._whole[model] = self._with_all_scores(model)
        whole = self._whole[model]
        columns = [whole.columns.index(name) - 1 for name in names]
        rows = [replace(row, cells=tuple(row.cells[column] for column in columns)) for row in whole.rows]
        # Human text has no MAUVE: it is what texts are compared with.
        given = [row for row in rows if row.label != HUMAN or any(cell.jobs for cell in row.cells)]
        return replace(whole, columns=("method", *names), rows=tuple(given))

    def _with_all_scores(self, model: str) -> Table:
        names, own = self.scores(model), self._of(model)
        rows = [
            Row(label, tuple(any_score_cell(result, name) for name in names), result.setting.rule)
            for label, result in zip(labels(own), own, strict=True)
        ]
        human = next((found for result in own if (found := self._results.human_of(result))), None)
        if human is not None:
            rows.append(Row(HUMAN, tuple(human_cell(human, name) for name in names)))
        return Table(
            name=TABLE,
            title=f"Scores, {model}",
            caption="95% intervals in brackets. MAUVE is times 100.",
            columns=("method", *names),
            rows=tuple(rows),
        )

    def differences(self) -> Table | None:
        """Every basis-aware setting against the plain one with the same rejection rate, if there is any."""
        sources = Sources(self._results, measurement=_not_needed, cost=_not_needed)
        return next((part for part in differences(sources) if isinstance(part, Table)), None)

    def compare(self, first: str, second: str) -> Table:
        """Any two settings, paired by prefix where they share prefixes."""
        return comparison_table(compare_sides(self._results, first, second), "compare")

    def trace(self, reader: Reader, model: str, row: str, score: str) -> TracedCell:
        """The jobs behind a number of `table`."""
        table = self.table(model, [score])
        check_known("the row", [row], [each.label for each in table.rows])
        cell = next(each.cells[0] for each in table.rows if each.label == row)
        if not cell.jobs:
            raise InvalidInputError(f"{row} has no {score}, so there is nothing to trace.")
        return trace_jobs(reader, TABLE, row, score, cell)

    def _of(self, model: str) -> list[Result]:
        check_known("model", [model], self.models)
        return [result for result in self._shown if result.model == model]


def _not_needed(_: object) -> NoReturn:
    raise AssertionError("differences read scores only")


__all__ = ["HUMAN", "Cell", "ScoreTables", "Table"]
