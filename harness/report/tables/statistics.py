"""Statistics of texts, beside those of human text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import HumanScores, Result, Sources
from harness.report.tables.cells import (
    EMPTY,
    has_score,
    jobs_of,
    mauve_cell,
    number_cell,
    score_cell,
    scores_of,
    show_of,
    signed,
)
from harness.report.tables.labels import labels, models_of, shown, table_names
from harness.scoring.differences import difference
from harness.scoring.estimates import estimate
from harness.scoring.scores import PLUGIN

_SCORES = (
    "perplexity",
    "seq-rep-4",
    "looping",
    "distinct-2",
    "zipf",
    "self-bleu",
    "length",
    "ended",
)
SHOWN_FIRST = ("mauve", *_SCORES)  # in tables of all scores
_TO_HUMAN = "perplexity minus human"


def statistics(sources: Sources) -> list[Table | Missing]:
    """A table for each model, human text first."""
    candidates = shown(sources.results)
    names = (*_SCORES, *_plugin_scores(candidates))
    results = [result for result in candidates if any(has_score(result, name) for name in names)]
    if not results:
        why = "the runs have no statistics of texts; add them to scoring.statistics of the sweep"
        return [Missing("Statistics of texts", why, "bat-harness run configs/paper/comparison.yaml")]
    models = list(models_of(results))
    return [
        _table(sources, name, model, [result for result in results if result.model == model])
        for name, model in zip(table_names("statistics", models), models, strict=True)
    ]


def all_scores(sources: Sources) -> list[Table | Missing]:
    """Every score of every method, MAUVE first; human text has those that need no comparison."""
    results = shown(sources.results)
    models = list(models_of(results))
    tables: list[Table | Missing] = []
    for name, model in zip(table_names("all-scores", models), models, strict=True):
        own = [result for result in results if result.model == model]
        scored = [seed.scores for result in own for seed in result.seeds]
        columns = list(dict.fromkeys(score for scores in scored for score in scores))
        columns.sort(key=lambda score: score != "mauve")
        rows = [
            Row(label, tuple(any_score_cell(result, column) for column in columns), result.setting.rule)
            for label, result in zip(labels(own), own, strict=True)
        ]
        tables.append(
            Table(
                name=name,
                title=f"All scores, {model}",
                caption="Every score of every method, with 95% intervals. MAUVE is times 100.",
                columns=("method", *("MAUVE" if column == "mauve" else column for column in columns)),
                rows=tuple(rows),
                folded=True,
            )
        )
    return tables


def any_score_cell(result: Result, name: str) -> Cell:
    """MAUVE or another score of a result; empty if it has none."""
    return mauve_cell(result) if name == "mauve" else score_cell(result, name)


def _plugin_scores(results: Sequence[Result]) -> list[str]:
    """Scores of statistics that other packages added, in alphabetical order."""
    return sorted(
        {
            name
            for result in results
            for scored in result.seeds
            for name, score in scored.scores.items()
            if PLUGIN in (score.detail or {})
        }
    )


def _table(sources: Sources, name: str, model: str, results: Sequence[Result]) -> Table:
    humans = {result.prefix_set: sources.results.human_of(result) for result in results}
    scored = {prefix_set: human for prefix_set, human in humans.items() if human is not None}
    scores = [
        score
        for score in (*_SCORES, *_plugin_scores(results))
        if any(has_score(result, score) for result in results)
        or any(score in human.scores for human in scored.values())
    ]
    columns = list(scores)
    if "perplexity" in scores and any("perplexity" in human.scores for human in scored.values()):
        columns.insert(1, _TO_HUMAN)
    splits = {result.prefix_set: result.split for result in results}
    runs = {each.prefix_set: f"{each.origin}: " if each.of_several_runs else "" for each in results}
    rows = [
        Row(
            "human"
            if len(scored) == 1
            else f"{runs[prefix_set]}human, {splits[prefix_set]} {prefix_set[:6]}",
            tuple(human_cell(human, column) for column in columns),
        )
        for prefix_set, human in scored.items()
    ]
    for label, result in zip(labels(results), results, strict=True):
        human = scored.get(result.prefix_set)
        cells = [
            _to_human_cell(result, human) if column == _TO_HUMAN else score_cell(result, column)
            for column in columns
        ]
        rows.append(Row(label, tuple(cells), result.setting.rule))
    return Table(
        name=name,
        title=f"Statistics of texts, {model}",
        caption="The closer to human text the better, neither higher nor lower. 95% intervals in brackets "
        "are over resampled prefixes, or over blocks of prefixes left out for distinct-2 and zipf. The "
        "difference to human text is paired by prefix.",
        columns=("text", *columns),
        rows=tuple(rows),
        notes=tuple(_notes(results, bool(scored))),
    )


def _notes(results: Sequence[Result], is_compared: bool) -> Iterator[str]:
    if not is_compared:
        yield "Human text has not been scored, so there is no comparison with it."
    for label, result in zip(labels(results), results, strict=True):
        scores = scores_of(result, "empty")
        share = estimate(scores).value if scores else 0.0
        if share > 0:
            yield (
                f"{100 * share:.2g}% of the texts of {label} are empty: the model ended them at once. They "
                "count as texts without words; MAUVE compares only their prefixes."
            )


def human_cell(human: HumanScores, name: str) -> Cell:
    """A score of human text; empty if it has none."""
    if name not in human.scores:
        return EMPTY
    how = f"{name} of the human continuations of the same prefixes"
    score = human.scores[name]
    return number_cell(estimate([score]), [score.job_id], how, show_of(name))


def _to_human_cell(result: Result, human: HumanScores | None) -> Cell:
    scores = scores_of(result, "perplexity")
    if not scores or human is None or "perplexity" not in human.scores:
        return EMPTY
    how = f"perplexity of {result.label} minus that of human text, paired by prefix"
    of_human = human.scores["perplexity"]
    jobs = (*jobs_of(result, "perplexity"), of_human.job_id)
    return number_cell(difference(scores, [of_human]), jobs, how, signed)
