"""Figures of tables, drawn from the same cells, so that both always agree."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.report.figures.comparison import Bar
from harness.report.figures.comparison import comparison as draw_comparison
from harness.report.figures.rejection import rejection as draw_rejection
from harness.report.figures.sweep import Line, constraints_sweep, eta_sweep
from harness.report.parts import Cell, Picture, Row, Table
from harness.report.results import Measured
from harness.report.tables import Sources
from workers.rejection import Curve, rejection_curve

# Plain rules that are drawn with their basis-aware forms, as in the paper's figure.
_CURVES = ("eta", "epsilon", "nucleus")
_REPLICATES = 200


def picture_of_comparison(table: Table, models: Sequence[str]) -> Picture | None:
    """MAUVE by model and method; None if no value is defined."""
    columns = table.columns[1:]
    of_models = [(index, column) for index, column in enumerate(columns) if column in models]
    bars = [
        Bar(model, row.label, cell.value, cell.low, cell.high)
        for index, model in of_models or [(0, models[0])]
        for row in table.rows
        if (cell := row.cells[index]).value is not None
    ]
    return draw_comparison(bars, name="mauve-by-method") if bars else None


def picture_of_eta_sweep(table: Table) -> Picture | None:
    """MAUVE against eta, plain and basis-aware."""
    lines = [
        line
        for label, column in (("eta", "MAUVE of eta"), ("ba-eta", "MAUVE of BA-eta"))
        if (line := _line(table, label, column, [float(row.label) for row in table.rows]))
    ]
    return eta_sweep(lines, name=f"figure-{table.name}") if lines else None


def picture_of_constraints(table: Table) -> Picture | None:
    """MAUVE against the number of constraints; 0 is the plain rule."""
    constraints = [float(row.label.split()[0]) for row in table.rows]
    line = _line(table, table.title.split(", ")[1], "MAUVE", constraints)
    return constraints_sweep([line], name=f"figure-{table.name}") if line else None


def pictures_of_rejection(sources: Sources) -> Iterator[Picture]:
    """Parameter against rejection rate, a figure for each model that was measured."""
    all_measured = sources.results.measured
    for number, measured in enumerate(all_measured, start=1):
        name = "rejection-curves" if len(all_measured) == 1 else f"rejection-curves-{number}"
        curves = _curves(sources, measured)
        if curves:
            yield draw_rejection(curves, name=name)


def _curves(sources: Sources, measured: Measured) -> list[Curve]:
    measurement = sources.measurement(measured)
    curves = []
    for rule in _CURVES:
        curves.append(rejection_curve(measurement, rule, replicates=_REPLICATES))
        if measured.constraints:
            constraints = max(measured.constraints)
            curves.append(
                rejection_curve(measurement, f"ba-{rule}", None, constraints, replicates=_REPLICATES)
            )
    return curves


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
