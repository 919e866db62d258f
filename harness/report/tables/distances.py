"""How far texts are from human text, by other measures than MAUVE alone."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.parts import Missing, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import has_score, mauve_cell, score_cell
from harness.report.tables.labels import labels, models_of, shown, table_names

_SCORES = (
    "mauve-star",
    "frontier-integral",
    "kl-human",
    "kl-generated",
    "jensen-shannon",
    "precision",
    "recall",
)


def distances(sources: Sources) -> list[Table | Missing]:
    """A table for each model; none if no setting has such scores, as in databases of older versions."""
    results = [result for result in shown(sources.results) if has_score(result, "mauve")]
    if not any(has_score(result, score) for result in results for score in _SCORES):
        return []
    models = list(models_of(results))
    return [
        _table(name, model, [result for result in results if result.model == model])
        for name, model in zip(table_names("distances", models), models, strict=True)
    ]


def _table(name: str, model: str, results: Sequence[Result]) -> Table:
    scores = [score for score in _SCORES if any(has_score(result, score) for result in results)]
    rows = [
        Row(
            label, (mauve_cell(result), *(score_cell(result, score) for score in scores)), result.setting.rule
        )
        for label, result in zip(labels(results), results, strict=True)
    ]
    older = [
        label
        for label, result in zip(labels(results), results, strict=True)
        if not all(has_score(result, score) for score in scores)
    ]
    notes = [
        f"Not all of these scores exist for {', '.join(older)}: an older version scored them, or the sweep "
        "leaves them out. Run the sweep again to add those that are missing; texts are kept."
    ]
    return Table(
        name=name,
        title=f"Distances from human text, {model}",
        caption="Divergences on the clusters of MAUVE, and precision and recall of the features, with 95% "
        "intervals. MAUVE (times 100), mauve-star, precision (quality) and recall (diversity) are better if "
        "higher, the others if lower.",
        columns=("method", "MAUVE", *scores),
        rows=tuple(rows),
        notes=tuple(notes if older else []),
    )
