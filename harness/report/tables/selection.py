"""How parameters were chosen: by the best score on validation text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.config.expansion import setting_details
from harness.config.methods import Best, Choice
from harness.report import paper
from harness.report.names import parameter_text
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import EMPTY, has_score, jobs_of, mauve_cell, score_cell, scores_of
from harness.report.tables.labels import candidates, labels, models_of, paper_columns
from harness.scoring.estimates import estimate
from harness.scoring.facts import Better


@dataclass(frozen=True, slots=True)
class _Choice:
    """The scored candidates of one method for one model."""

    best: Best  # what is chosen by
    scored: tuple[Result, ...]  # with all their seeds
    planned: int  # the number of candidates in the sweep
    human: float | None  # the score of human text, if there is one

    @property
    def winner(self) -> Result | None:
        """The candidate with the best score, or the first of several; None until all are scored."""
        defined = [result for result in self.scored if not math.isnan(self._value(result))]
        if len(self.scored) < self.planned or not defined:
            return None
        match self.best.direction:
            case Better.HIGHER:
                return max(defined, key=self._value)
            case Better.LOWER:
                return min(defined, key=self._value)
        human = self.human
        return None if human is None else min(defined, key=lambda result: abs(self._value(result) - human))

    def _value(self, result: Result) -> float:
        return estimate(scores_of(result, self.best.metric)).value

    @property
    def words(self) -> str:
        """What is chosen by."""
        metric = "MAUVE" if self.best.metric == "mauve" else self.best.metric
        if self.best.direction is Better.HUMAN:
            return f"the {metric} closest to human text"
        return f"the {'lowest' if self.best.direction is Better.LOWER else 'highest'} {metric}"


def selection(sources: Sources) -> list[Table | Missing]:
    """Candidates and the score they are chosen by, our choice, and the paper's choice."""
    results = [
        result for result in candidates(sources.results) if has_score(result, _best(sources, result).metric)
    ]
    if not results:
        why = "no candidates for a parameter have been scored on validation text"
        command = "bat-harness run configs/paper/selection.yaml"
        return [Missing("Parameter selection (Table 3 of the paper)", why, command, of_paper=True)]
    columns = paper_columns(models_of(results), with_paper=sources.paper)
    label_of = dict(zip(map(id, results), labels(results, by_model=True), strict=True))
    rows: list[Row] = []
    notes: list[str] = []
    for title, group in _by_method(results).items():
        choices = {model: _choice(sources, group, model) for model in models_of(group)}
        rows += _candidate_rows(group, label_of, choices, columns)
        metric = next(iter(choices.values())).best.metric
        if metric != "mauve":
            notes.append(f"The candidates of {title} are shown with {metric}, which they are chosen by.")
        rows.append(
            Row(f"{title}: chosen here", tuple(_chosen_cell(choices.get(c[1] or "")) for c in columns))
        )
        rule = group[0].setting.rule
        if sources.paper and rule in paper.CHOSEN_PARAMETERS:
            rows.append(
                Row(f"{title}: the paper's", tuple(_paper_cell(rule, size) for _, _, size in columns))
            )
            notes.append(_sweep_note(rule, group))
    return [
        Table(
            name="selection",
            title="Parameters chosen on validation text",
            caption="MAUVE times 100 of each candidate on validation text, with 95% intervals; the candidate "
            "with the best mean over seeds is bold and is used in the comparison.",
            columns=("candidate", *(heading for heading, _, _ in columns)),
            rows=tuple(rows),
            notes=tuple(notes),
            paper=sources.corresponds_to("selection"),
        )
    ]


def _by_method(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Candidates by the name of their method, with the run and the stage if that is not unique."""
    groups = {(result.run_id, result.stage, result.method, _details(result)) for result in results}
    by_title: dict[str, list[Result]] = {}
    for result in results:
        is_unique = sum(method == result.method for _, _, method, _ in groups) == 1
        title = result.method if is_unique else f"{result.stage}, {result.method}{_details(result)}"
        if result.of_several_runs:
            title = f"{result.origin}, {title}"
        by_title.setdefault(title, []).append(result)
    return by_title


def _details(result: Result) -> str:
    setting = result.setting
    return setting_details(setting.rule, setting.constraints, *setting.temperature_columns)


def _choice(sources: Sources, group: Sequence[Result], model: str) -> _Choice:
    own = [result for result in group if result.model == model]
    config = sources.results.config_of(own[0])
    seeds = len(config.seeds_of(config.get_stage(own[0].stage)))
    best = _best(sources, own[0])
    scored = tuple(result for result in own if len(scores_of(result, best.metric)) == seeds)
    human = sources.results.human_of(own[0])
    stored = None if human is None else human.scores.get(best.metric)
    planned = len(list(config.get_method(own[0].method).literals()))
    return _Choice(best, scored, planned, None if stored is None else stored.value)


def _best(sources: Sources, candidate: Result) -> Best:
    """How the parameter is chosen that a result is a candidate for."""
    parameter = sources.results.config_of(candidate).get_method(candidate.method).parameter
    assert isinstance(parameter, Choice)
    assert parameter.best is not None
    return parameter.best


def _candidate_rows(
    group: Sequence[Result],
    label_of: dict[int, str],
    choices: dict[str, _Choice],
    columns: Sequence[tuple[str, str | None, str | None]],
) -> list[Row]:
    cells: dict[str, dict[str, Cell]] = {}
    for result in group:
        choice = choices[result.model]
        metric = choice.best.metric
        cell = mauve_cell(result) if metric == "mauve" else score_cell(result, metric)
        cells.setdefault(label_of[id(result)], {})[result.model] = replace(cell, bold=choice.winner is result)
    return [
        Row(label, tuple(row.get(model or "", EMPTY) for _, model, _ in columns))
        for label, row in cells.items()
    ]


def _chosen_cell(choice: _Choice | None) -> Cell:
    if choice is None:
        return EMPTY
    jobs = tuple(dict.fromkeys(job for result in choice.scored for job in jobs_of(result)))
    winner = choice.winner
    if winner is None:
        how = f"{len(choice.scored)} of {choice.planned} candidates are scored"
        return Cell("not yet", jobs=jobs, how=how)
    how = f"{choice.words} of {choice.planned} candidates, mean over seeds"
    return Cell(parameter_text(winner.parameter), winner.parameter, jobs=jobs, how=how)


def _paper_cell(rule: str, size: str | None) -> Cell:
    if size is None:
        return EMPTY
    value = paper.CHOSEN_PARAMETERS[rule][size]
    return Cell(parameter_text(value), value, how=paper.source("selection"))


def _sweep_note(rule: str, group: Sequence[Result]) -> str:
    theirs = paper.SWEEPS[rule]
    ours = {result.parameter for result in group}
    listed = ", ".join(map(parameter_text, theirs))
    same = "the same as here" if ours == set(theirs) else "not the same as here"
    return f"The paper's candidates for {rule}: {listed} ({same})."
