"""How parameters were matched: by the share of human text that is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.config.expansion import AtRate, EqualRate
from harness.report import paper
from harness.report.names import parameter_text
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result
from harness.report.tables.cells import EMPTY
from harness.report.tables.labels import labels
from harness.report.tables.rejection import rate_cell
from harness.report.tables.sources import Sources


def matching(sources: Sources) -> list[Table | Missing]:
    """Every parameter that follows from a rejection rate, once for each model."""
    found: dict[tuple[str, object], Result] = {}
    for result in sources.results.results:
        if result.resolution is not None and isinstance(result.asked.parameter, AtRate | EqualRate):
            found.setdefault((result.model, result.asked), result)
    results = list(found.values())
    if not results:
        why = "no parameter was chosen by its rejection rate"
        return [Missing("Matched parameters", why, "bat-harness run configs/paper/comparison.yaml")]
    rows = [
        Row(label, (_parameter_cell(result), *_rate_cells(sources, result)))
        for label, result in zip(labels(results, by_split=False), results, strict=True)
    ]
    said = paper.STATEMENTS["stricter-parameters"]
    return [
        Table(
            name="matching",
            title="Parameters matched by rejection rate",
            caption="The parameter at which a rule refuses as much human text as another, or a given share "
            "of it, with 95% intervals over resampled documents, the same for both rules; what both refuse.",
            columns=("method", "parameter", "rejected, %", "matched to", "which rejects, %"),
            rows=tuple(rows),
            notes=(f"The paper has: {said.words} ({said.where}).",),
        )
    ]


def _parameter_cell(result: Result) -> Cell:
    resolution, value = result.resolution, result.parameter
    assert resolution is not None, "only those are shown"
    assert value is not None, "rules without a parameter are not matched"
    text, jobs = parameter_text(value), resolution.job_ids
    detail = _detail(result)
    low, high = detail.get("low"), detail.get("high")
    if low is None or high is None:
        return Cell(text, value, jobs=jobs, how=resolution.how)
    return Cell(f"{text} [{low:.3g}, {high:.3g}]", value, low, high, jobs, resolution.how)


def _rate_cells(sources: Sources, result: Result) -> tuple[Cell, Cell, Cell]:
    """What it refuses, what it was matched to, and what that refuses."""
    resolution = result.resolution
    assert resolution is not None, "only those are shown"
    asked = result.asked.parameter
    if isinstance(asked, AtRate):
        target = Cell(f"a rate of {100 * asked.rate:g}%", how="as the sweep has it")
        return rate_cell(sources, result), target, EMPTY
    detail = _detail(result)
    if "rate" not in detail:
        plain = sources.results.plain_of(result)
        name = str(asked.reference) if isinstance(asked, EqualRate) else ""
        other = EMPTY if plain is None else rate_cell(sources, plain)
        return rate_cell(sources, result), Cell(name, how=resolution.how), other
    own, other = (
        Cell(f"{100 * detail[key]:.1f}", 100 * detail[key], jobs=resolution.job_ids, how=resolution.how)
        for key in ("rate", "reference_rate")
    )
    return own, Cell(detail["reference"], jobs=resolution.job_ids, how=resolution.how), other


def _detail(result: Result) -> Mapping[str, Any]:
    """The numbers behind a parameter; databases of before version 0003 have none."""
    return (result.resolution.detail if result.resolution is not None else None) or {}
