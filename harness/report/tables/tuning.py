"""How many settings each method was given on validation text: unequal budgets favour the larger one."""

from __future__ import annotations

from collections.abc import Sequence

from harness.config.expansion import EqualRate
from harness.config.methods import Choice
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import jobs_of
from harness.report.tables.labels import distinct, joined

_VALIDATION = "validation"


def tuning(sources: Sources) -> list[Table | Missing]:
    """A row for each method; none if nothing ran on validation text."""
    results = [result for result in distinct(sources.results.results) if not result.is_imported]
    if not any(result.split == _VALIDATION for result in results):
        return []
    several_models = len({result.model for result in results}) > 1
    groups: dict[str, list[Result]] = {}
    for result in results:
        before = [result.origin] if result.of_several_runs else []
        before += [result.model] if several_models else []
        groups.setdefault(joined(before, result.method), []).append(result)
    rows = [Row(label, _cells(sources, group), group[0].setting.rule) for label, group in groups.items()]
    return [
        Table(
            name="tuning",
            title="Settings given to each method",
            caption="How many settings of each method were scored on validation text, how many of those were "
            "candidates for its parameter, what the parameter was chosen by, and how many settings were "
            "scored on test text.",
            columns=("method", "on validation", "candidates", "chosen by", "on test"),
            rows=tuple(rows),
            notes=tuple(_notes(rows)),
        )
    ]


def _cells(sources: Sources, group: Sequence[Result]) -> tuple[Cell, ...]:
    method = sources.results.config_of(group[0]).get_method(group[0].method)
    best = method.parameter.best if isinstance(method.parameter, Choice) else None
    tried = [result for result in group if result.split == _VALIDATION]
    candidates = [result for result in tried if best is not None and best.split == _VALIDATION]
    others = [result for result in group if result.split != _VALIDATION]
    if best is not None:
        chosen_by = Cell(f"{best.metric} on {best.split}", how="the sweep's parameter.best")
    elif any(isinstance(result.asked.parameter, EqualRate) for result in group):
        chosen_by = Cell("rejection rate", how="matched to the rate of another method")
    else:
        chosen_by = Cell("given", how="the sweep gives the parameters")
    return (_count(tried), _count(candidates), chosen_by, _count(others))


def _count(results: Sequence[Result]) -> Cell:
    settings = {result.setting for result in results}
    jobs = tuple(dict.fromkeys(job for result in results for job in jobs_of(result)))
    return Cell(str(len(settings)), float(len(settings)), jobs=jobs, how="number of different settings")


def _notes(rows: Sequence[Row]) -> list[str]:
    tried = {row.label: row.cells[1].value or 0.0 for row in rows if row.cells[1].value}
    if len(tried) < 2:
        return []
    fewest, most = min(tried, key=lambda label: tried[label]), max(tried, key=lambda label: tried[label])
    if tried[fewest] == tried[most]:
        return [f"Every method that was tuned had the same number of candidates, {tried[most]:.0f}."]
    return [
        f"The methods were not tuned equally: {most} had {tried[most]:.0f} candidates, {fewest} had "
        f"{tried[fewest]:.0f}. The best of more candidates is better by chance alone."
    ]
