"""MAUVE against eta, and against the number of constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from harness.report.names import parameter_text
from harness.report.parts import Missing, Row, Table
from harness.report.results import Result, Scored, Sources
from harness.report.tables.cells import (
    EMPTY,
    difference_cell,
    has_score,
    mauve_cell,
    parameter_cell,
)
from harness.report.tables.labels import distinct, table_names
from harness.report.tables.rejection import rate_cell

_Item = TypeVar("_Item")

# A basis-aware result and the plain one with the same rejection rate.
_Pair = tuple[Result, Result]


def eta_sweep(sources: Sources) -> list[Table | Missing]:
    """A table for each model and number of constraints with several eta and their matched BA-eta."""
    groups: dict[tuple[object, ...], list[_Pair]] = {}
    for result in sources.results.results:
        plain = sources.results.plain_of(result)
        if result.setting.rule != "ba-eta" or plain is None or plain.setting.rule != "eta":
            continue
        if has_score(result, "mauve") and has_score(plain, "mauve"):
            key = (*result.comparison_group, result.setting.constraints, result.setting.temperature)
            groups.setdefault(key, []).append((result, plain))
    several = [pairs for pairs in groups.values() if len({plain.setting for _, plain in pairs}) > 1]
    sweeps = _once(several, lambda pair: (*pair[0].seeds, *pair[1].seeds))
    if not sweeps:
        why = "no stage has two scored values of eta, each with a scored matched BA-eta"
        command = "bat-harness run configs/paper/eta-sweep.yaml"
        return [Missing("MAUVE against eta (Figure 6 of the paper)", why, command, of_paper=True)]
    names = table_names("eta-sweep", [pairs[0][0].model for pairs in sweeps])
    return [_eta_table(sources, name, pairs) for name, pairs in zip(names, sweeps, strict=True)]


def constraints(sources: Sources) -> list[Table | Missing]:
    """A table for each basis-aware rule that was run with several numbers of constraints."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for result in sources.results.results:
        if result.setting.constraints is not None and has_score(result, "mauve"):
            group_of = (result.setting.rule, result.asked.parameter, result.setting.temperature)
            key = (*result.comparison_group, *group_of)
            groups.setdefault(key, []).append(result)
    several = [
        group for group in groups.values() if len({result.setting.constraints for result in group}) > 1
    ]
    sweeps = _once(several, lambda result: result.seeds)
    if not sweeps:
        why = "no basis-aware rule has been scored with two numbers of constraints"
        command = "bat-harness run configs/paper/constraints.yaml"
        return [Missing("MAUVE against constraints (Figure 7 of the paper)", why, command, of_paper=True)]
    names = table_names("constraints", [group[0].model for group in sweeps])
    return [_constraints_table(sources, name, group) for name, group in zip(names, sweeps, strict=True)]


def _eta_table(sources: Sources, name: str, pairs: Sequence[_Pair]) -> Table:
    first = pairs[0][0]
    values = {plain.parameter for _, plain in pairs}
    close = len({parameter_text(value) for value in values}) < len(values)
    rows = [
        Row(
            f"{plain.parameter:.7g}" if close else parameter_text(plain.parameter),
            (
                rate_cell(sources, plain),
                mauve_cell(plain),
                parameter_cell(result),
                mauve_cell(result),
                difference_cell(result, plain),
            ),
        )
        for result, plain in sorted(pairs, key=lambda pair: pair[1].parameter or 0.0)
    ]
    return Table(
        name=name,
        title=f"MAUVE against eta, {_at(first)}{_of(sources, first)}",
        caption="eta and BA-eta at the same rejection rates, from permissive to restrictive; BA-eta with "
        f"{first.setting.constraints} constraints. MAUVE is times 100, with 95% intervals; the difference is "
        "BA-eta minus eta, paired by prefix.",
        columns=("eta", "rejected, %", "MAUVE of eta", "matched BA-eta", "MAUVE of BA-eta", "difference"),
        rows=_unique(rows),
        notes=sources.paper_says("eta-sweep"),
        paper=sources.corresponds_to("eta-sweep"),
    )


def _constraints_table(sources: Sources, name: str, group: Sequence[Result]) -> Table:
    first = group[0]
    plain = sources.results.plain_of(first)
    rows = []
    if plain is not None and has_score(plain, "mauve"):
        cells = (parameter_cell(plain), rate_cell(sources, plain), mauve_cell(plain), EMPTY)
        rows.append(Row(f"0 ({plain.setting.rule})", cells))
    for result in sorted(group, key=lambda result: result.setting.constraints or 0):
        against = EMPTY if plain is None else difference_cell(result, plain)
        cells = (parameter_cell(result), rate_cell(sources, result), mauve_cell(result), against)
        rows.append(Row(str(result.setting.constraints), cells))
    return Table(
        name=name,
        title=f"MAUVE against the number of constraints, {first.setting.rule}, {_at(first)}"
        f"{_of(sources, first)}",
        caption=f"{first.setting.rule} with more and more constraints; without any it is the plain rule. "
        "MAUVE is times 100, with 95% intervals; the difference is to the plain rule, paired by prefix.",
        columns=("constraints", "parameter", "rejected, %", "MAUVE", "difference"),
        rows=_unique(rows),
        notes=sources.paper_says("constraints"),
        paper=sources.corresponds_to("constraints"),
    )


def _at(result: Result) -> str:
    """The temperature of a table, if it is not 1."""
    return "" if result.setting.temperature is None else f"temperature {result.setting.temperature.value:g}, "


def _of(sources: Sources, result: Result) -> str:
    """The model of a table and, if the report has several runs, the runs that have its results."""
    if not result.of_several_runs:
        return result.model
    same = [other for other in sources.results.results if other.asked == result.asked]
    [shared, *_] = distinct(other for other in same if other.seeds == result.seeds)
    return f"{result.model}, {shared.origin}"


def _once(groups: Sequence[list[_Item]], seeds: Callable[[_Item], Sequence[Scored]]) -> list[list[_Item]]:
    """The groups without duplicates from the same jobs, which several runs may share."""
    by_jobs: dict[frozenset[str], list[_Item]] = {}
    for group in groups:
        jobs = frozenset(seed.score_job for item in group for seed in seeds(item))
        by_jobs.setdefault(jobs, group)
    return list(by_jobs.values())


def _unique(rows: Sequence[Row]) -> tuple[Row, ...]:
    """The rows with different labels; a method may be in a sweep twice."""
    by_label: dict[str, Row] = {}
    for row in rows:
        by_label.setdefault(row.label, row)
    return tuple(by_label.values())
