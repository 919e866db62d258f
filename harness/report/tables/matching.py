"""How parameters were matched: by the share of human text that is rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from harness.config.expansion import AtRate, EqualRate
from harness.report.names import parameter_text
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import EMPTY
from harness.report.tables.labels import labels, merged
from harness.report.tables.rejection import rate_cell
from workers.rejection import rates_agree


def matching(sources: Sources) -> list[Table | Missing]:
    """Every parameter that was resolved from a rejection rate, once for each model."""
    by_rate = [
        result
        for result in sources.results.results
        if result.resolution is not None and isinstance(result.asked.parameter, AtRate | EqualRate)
    ]
    results = merged(by_rate, lambda result: (result.model, result.method, result.asked, result.setting))
    if not results:
        why = "no parameter was chosen by its rejection rate"
        command = "bat-harness run configs/paper/comparison.yaml"
        return [Missing("Matched parameters", why, command, of_paper=True)]
    rows = [
        Row(label, (_parameter_cell(result), *_rate_cells(sources, result)))
        for label, result in zip(labels(results, by_split=False), results, strict=True)
    ]
    return [
        Table(
            name="matching",
            title="Parameters matched by rejection rate",
            caption="The parameter at which a rule rejects as much human text as another rule, or a given "
            "share of it, and the rejection rates of both, with 95% intervals over resampled documents, "
            "which are the same for both rules.",
            columns=("method", "parameter", "rejected, %", "matched to", "which rejects, %"),
            rows=tuple(rows),
            notes=(*unequal_rates(results), *sources.paper_says("stricter-parameters")),
        )
    ]


def unequal_rates(results: Iterable[Result]) -> tuple[str, ...]:
    """A sentence for each result that was to reject as much as another, and does not."""
    notes = []
    for result in results:
        detail = _detail(result)
        if "rate" in detail and not rates_agree(detail["rate"], detail["reference_rate"]):
            notes.append(
                f"{result.label} rejects {detail['rate']:.1%} of human text and {_reference(detail)} "
                f"{detail['reference_rate']:.1%}: no parameter comes nearer."
            )
    return tuple(dict.fromkeys(notes))


def _parameter_cell(result: Result) -> Cell:
    resolution, value = result.resolution, result.parameter
    assert resolution is not None, "only resolved parameters are shown"
    assert value is not None, "rules without a parameter are not matched"
    text, jobs = parameter_text(value), resolution.job_ids
    detail = _detail(result)
    low, high = detail.get("low"), detail.get("high")
    if low is None or high is None:
        return Cell(text, value, jobs=jobs, how=resolution.how)
    return Cell(f"{text} [{low:.3g}, {high:.3g}]", value, low, high, jobs, resolution.how)


def _rate_cells(sources: Sources, result: Result) -> tuple[Cell, Cell, Cell]:
    """The rejection rate, what it was matched to, and the rejection rate of that."""
    resolution = result.resolution
    assert resolution is not None, "only resolved parameters are shown"
    target = result.asked.parameter
    if isinstance(target, AtRate):
        rate = Cell(f"a rate of {100 * target.rate:g}%", how="given in the sweep")
        return rate_cell(sources, result), rate, EMPTY
    detail = _detail(result)
    plain = sources.results.plain_of(result)
    if plain is not None:
        name = plain.label
    elif "reference" in detail:
        name = _reference(detail)
    else:
        name = str(target.reference) if isinstance(target, EqualRate) else ""
    if "rate" not in detail:
        other = EMPTY if plain is None else rate_cell(sources, plain)
        return rate_cell(sources, result), Cell(name, how=resolution.how), other
    own, other = (
        Cell(f"{100 * detail[key]:.1f}", 100 * detail[key], jobs=resolution.job_ids, how=resolution.how)
        for key in ("rate", "reference_rate")
    )
    return own, Cell(name, jobs=resolution.job_ids, how=resolution.how), other


def _reference(detail: Mapping[str, Any]) -> str:
    """The rule that was matched, such as eta=0.0462, whose parameter is stored with all its digits."""
    rule, _, parameter = str(detail["reference"]).partition("=")
    return f"{rule}={parameter_text(float(parameter))}" if parameter else rule


def _detail(result: Result) -> Mapping[str, Any]:
    """The numbers behind a parameter; databases older than version 0003 have none."""
    return (result.resolution.detail if result.resolution is not None else None) or {}
