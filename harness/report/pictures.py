"""Figures of tables, drawn from the same cells, so that both always agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bat.rules import get_rule_form
from harness.config.expansion import EqualRate, setting_details
from harness.report.figures.comparison import Bar
from harness.report.figures.comparison import comparison as draw_comparison
from harness.report.figures.plane import Axis, Point
from harness.report.figures.plane import Curve as PlaneCurve
from harness.report.figures.plane import plane as draw_plane
from harness.report.figures.rejection import rejection as draw_rejection
from harness.report.figures.sweep import Line, constraints_sweep, eta_sweep, parameter_sweep
from harness.report.names import parameter_text
from harness.report.parts import Cell, Picture, Row, Table
from harness.report.results import Measured, Result
from harness.report.tables import Sources
from harness.report.tables.cells import FEW_TEXTS_NOTE, PERCENT, has_few_texts, has_score, mauve_of, scores_of
from harness.report.tables.labels import compared, joined, shown, slug, table_names
from harness.report.tables.rejection import rate_cell, rules_of
from harness.scoring.estimates import estimate
from workers.rejection import Curve, rejection_curve

_REPLICATES = 200


def picture_of_comparison(table: Table, models: Sequence[str]) -> Picture | None:
    """MAUVE by model and method, with the notes of the table on it; None if no value is defined."""
    columns = table.columns[1:]
    of_models = [(index, column) for index, column in enumerate(columns) if column in models]
    bars = [
        Bar(model, row.label, cell.value, cell.low, cell.high, row.rule)
        for index, model in of_models or [(0, models[0])]
        for row in table.rows
        if (cell := row.cells[index]).value is not None
    ]
    if not bars:
        return None
    picture = draw_comparison(bars, name="mauve-by-method")
    return replace(_with_note(picture, few=FEW_TEXTS_NOTE in table.notes), paper=table.paper)


def picture_of_eta_sweep(table: Table) -> Picture | None:
    """MAUVE against eta, plain and basis-aware."""
    lines = [
        line
        for label, column in (("eta", "MAUVE of eta"), ("ba-eta", "MAUVE of BA-eta"))
        if (line := _line(table, label, column, [float(row.label) for row in table.rows]))
    ]
    return _beside(table, eta_sweep(lines, name=f"figure-{table.name}")) if lines else None


def picture_of_constraints(table: Table) -> Picture | None:
    """MAUVE against the number of constraints; 0 is the plain rule."""
    constraints = [float(row.label.split()[0]) for row in table.rows]
    line = _line(table, table.title.split(", ")[1], "MAUVE", constraints)
    if line is None:
        return None
    return _beside(table, constraints_sweep([line], name=f"figure-{table.name}"))


def _beside(table: Table, picture: Picture) -> Picture:
    """A picture with what the title of its table says about the model and the runs."""
    return replace(picture, title=table.title, paper=table.paper)


def pictures_of_parameters(sources: Sources) -> Iterator[Picture]:
    """MAUVE against the parameter of each rule that was run with several, a line for each method and model.

    Matched parameters are not drawn: they follow from those of another method.
    """
    by_rule: dict[str, dict[tuple[str, str], list[Result]]] = {}
    for result in compared(sources.results):
        if has_score(result, "mauve") and not isinstance(result.asked.parameter, EqualRate):
            name = joined(_told_apart(compared(sources.results), result), result.method)
            lines = by_rule.setdefault(result.setting.rule, {})
            lines.setdefault((f"{name}{_heat(result)}", str(result.setting.constraints)), []).append(result)
    for rule, lines in by_rule.items():
        drawn = [line for (name, _), own in lines.items() if (line := _line_of(name, own))]
        if drawn:
            few = any(has_few_texts(result) for own in lines.values() for result in own)
            yield _with_note(parameter_sweep(drawn, rule, name=f"parameters-{slug(rule)}"), few=few)


# Quality and diversity, in order of preference: the first pair that some setting has is drawn.
_PLANES = (("precision", "recall"), ("mauve", "distinct-2"), ("mauve", "entropy"))


def pictures_of_plane(sources: Sources) -> Iterator[Picture]:
    """Quality against diversity, a figure for each model and set of prefixes; none for a single setting."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in shown(sources.results):
        groups.setdefault((result.model, result.prefix_set), []).append(result)
    names = table_names("plane", [f"{model} {prefixes[:6]}" for model, prefixes in groups])
    for name, ((model, _), group) in zip(names, groups.items(), strict=True):
        picture = _plane(sources, name, group)
        if picture is not None:
            title = picture.title if len(groups) == 1 else f"{picture.title}, {model}"
            few = picture.title.startswith("MAUVE") and any(map(has_few_texts, group))
            yield _with_note(replace(picture, title=title), few=few)


def _plane(sources: Sources, name: str, group: Sequence[Result]) -> Picture | None:
    for quality, diversity in _PLANES:
        own = [result for result in group if has_score(result, quality) and has_score(result, diversity)]
        curves = list(_curves_on_plane(sources, own, quality, diversity))
        if sum(len(curve.points) for curve in curves) > 1:
            human = sources.results.human_of(own[0])
            stored = None if human is None else human.scores.get(diversity)
            at = None if stored is None else stored.value
            shown_as = "MAUVE" if quality == "mauve" else quality
            return draw_plane(curves, Axis(diversity, at), Axis(shown_as), name=name)
    return None


def _curves_on_plane(
    sources: Sources, results: Sequence[Result], quality: str, diversity: str
) -> Iterator[PlaneCurve]:
    """A curve for each method, along its parameter; along its temperature if only that varies."""
    methods: dict[str, list[Result]] = {}
    for result in results:
        constraints = setting_details(result.setting.rule, result.setting.constraints)
        name = joined(_told_apart(results, result), result.method)
        methods.setdefault(f"{name}{constraints}", []).append(result)
    curves: dict[str, list[Result]] = {}
    for name, own in methods.items():
        by_parameter = len({result.parameter for result in own}) > 1
        for result in own:
            curves.setdefault(f"{name}{_heat(result)}" if by_parameter else name, []).append(result)
    for name, own in curves.items():
        along_heat = len({_heat(result) for result in own}) > 1
        points = []
        for result in sorted(own, key=lambda result: (result.parameter or 0.0, _temperature(result))):
            across, up = (estimate(scores_of(result, score)).value for score in (diversity, quality))
            if not math.isnan(across + up):
                up *= PERCENT if quality == "mauve" else 1.0
                label = f"T={_temperature(result):g}" if along_heat else parameter_text(result.parameter)
                points.append(Point(label, across, up, rate_cell(sources, result).value))
        if points:
            yield PlaneCurve(name, tuple(points))


def _heat(result: Result) -> str:
    """The temperature in a name: " (T=0.7)"."""
    return setting_details(result.setting.rule, None, *result.setting.temperature_columns)


def _temperature(result: Result) -> float:
    return 1.0 if result.setting.temperature is None else result.setting.temperature.value


def _with_note(picture: Picture, *, few: bool) -> Picture:
    """The picture with a note in its caption, if it shows MAUVE of too few texts."""
    return replace(picture, caption=f"{picture.caption} {FEW_TEXTS_NOTE}") if few else picture


def _told_apart(every: Sequence[Result], result: Result) -> list[str]:
    """What tells a line from the others of its rule: run, model and stage, if there are several."""
    getters = (
        *((lambda each: each.origin,) if result.of_several_runs else ()),
        lambda each: each.model,
        lambda each: each.stage,
    )
    return [get(result) for get in getters if len({get(each) for each in every}) > 1]


def _line_of(name: str, results: Sequence[Result]) -> Line | None:
    """MAUVE along the parameters of one method; None for fewer than two."""
    points = {}
    for result in results:
        estimate = mauve_of(result)
        if result.parameter is not None and not math.isnan(estimate.value):
            points[result.parameter] = estimate
    if len(points) < 2:
        return None
    in_order = sorted(points.items())
    ends = [estimate.main for _, estimate in in_order]
    return Line(
        name,
        tuple(parameter for parameter, _ in in_order),
        tuple(estimate.value for _, estimate in in_order),
        tuple(math.nan if main is None else main.low for main in ends),
        tuple(math.nan if main is None else main.high for main in ends),
    )


def pictures_of_rejection(sources: Sources) -> Iterator[Picture]:
    """Parameter against rejection rate of the sweep's rules, a figure for each model that was measured."""
    all_measured = sources.results.measured
    for number, measured in enumerate(all_measured, start=1):
        name = "rejection-curves" if len(all_measured) == 1 else f"rejection-curves-{number}"
        curves = _curves(sources, measured)
        if curves:
            picture = draw_rejection(curves, name=name)
            model = f", {measured.name}" if len(all_measured) > 1 else ""
            paper = sources.corresponds_to("rejection")
            yield replace(picture, title=f"{picture.title}{model}", paper=paper)


def _curves(sources: Sources, measured: Measured) -> list[Curve]:
    measurement = sources.measurement(measured)
    return [
        rejection_curve(measurement, rule, None, constraints, replicates=_REPLICATES)
        for rule in rules_of(sources.results.configs, with_paper=sources.paper)
        if measurement.answers(rule)
        for constraints in (sorted(measured.constraints) if get_rule_form(rule).basis_aware else (0,))
    ]


def _line(table: Table, label: str, column: str, xs: Sequence[float]) -> Line | None:
    cells = [_cell(table, row, column) for row in table.rows]
    points = [(x, cell) for x, cell in zip(xs, cells, strict=True) if cell.value is not None]
    if len(points) < 2:
        return None
    return Line(
        label,
        tuple(x for x, _ in points),
        tuple(float(cell.value or 0.0) for _, cell in points),
        tuple(math.nan if cell.low is None else cell.low for _, cell in points),
        tuple(math.nan if cell.high is None else cell.high for _, cell in points),
    )


def _cell(table: Table, row: Row, column: str) -> Cell:
    return row.cells[table.columns[1:].index(column)]
