"""Parameters against the share of human text they reject, a panel for each rule and its basis-aware form."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bat.errors import InvalidInputError
from bat.rules import Scale, get_rule_form
from harness.report.figures import style
from harness.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workers.rejection import Curve

_ROW_CM = 5.0
_LEGEND_CM = 0.8  # a line of it
_LEGEND_COLUMNS = 3

_SYMBOLS = {
    "eta": "η",
    "epsilon": "ε",
    "nucleus": "p",
    "top-k": "k",
    "min-p": "α",
    "top-h": "α",
    "top-n-sigma": "n",
}


def rejection(curves: Sequence[Curve], name: str = "rejection") -> Picture:
    """Draw every curve in the panel of its rule."""
    if not curves:
        raise InvalidInputError(
            "a figure of rejection rates must have at least one curve; got none. Measure human text first."
        )
    return Picture(
        name=name,
        title="Parameters by human-text rejection rate",
        caption="The parameter of each rule at which it rejects a share of human text, with 95% intervals of "
        "the share."
        + (
            " Basis-aware forms (broken lines) reach the same share at more restrictive parameters, because "
            "they accept some tokens below the threshold."
            if any(style.is_basis_aware(curve.rule) for curve in curves)
            else ""
        ),
        svg=style.render(partial(draw, curves)),
        alternative=_describe(curves),
    )


def draw(curves: Sequence[Curve]) -> Figure:
    """Draw two panels per row."""
    families: dict[str, list[Curve]] = {}
    for curve in curves:
        families.setdefault(style.plain_name(curve.rule), []).append(curve)
    columns = min(len(families), 2)
    rows = -(-len(families) // columns)
    looks = _looks(curves)
    lines_of_legend = -(-len(looks) // _LEGEND_COLUMNS)
    figure = style.new_figure(_ROW_CM * rows + _LEGEND_CM * lines_of_legend)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (family, own) in zip(panels, families.items(), strict=False):
        _draw_panel(axes, family, own, looks)
    for axes in panels[len(families) :]:
        axes.set_axis_off()
    for axes in panels[max(len(families) - columns, 0) : len(families)]:
        axes.set_xlabel("rejected human text (%)")
    if len(looks) > 1:
        _explain(figure, looks)
    return figure


def _looks(curves: Sequence[Curve]) -> dict[tuple[bool, int], style.Look]:
    """A look for plain rules, and one for each number of constraints."""
    kinds = sorted({_kind(curve) for curve in curves})
    aware = itertools.cycle(style.LOOKS[1:])
    return {kind: next(aware) if kind[0] else style.PLAIN for kind in kinds}


def _kind(curve: Curve) -> tuple[bool, int]:
    return style.is_basis_aware(curve.rule), curve.constraints


def _draw_panel(
    axes: Axes, family: str, curves: Sequence[Curve], looks: dict[tuple[bool, int], style.Look]
) -> None:
    shown: list[float] = []
    for curve in curves:
        look = looks[_kind(curve)]
        rate, low, high = (100.0 * part for part in (curve.value, curve.low, curve.high))
        axes.fill_betweenx(curve.parameters, low, high, color=look.colour, alpha=0.25, linewidth=0)
        axes.plot(rate, curve.parameters, linestyle=look.line, color=look.colour)
        # Parameters that reject nothing would only stretch the axis.
        moving = (curve.value > 0.0) & (curve.value < 1.0)
        shown += curve.parameters[moving].tolist()
    if _is_logarithmic(family):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(style.number)
        axes.minorticks_off()
    if len(set(shown)) > 1:
        axes.set_ylim(min(shown), max(shown))
    axes.set_xlim(left=0.0)
    axes.set_title(family, loc="left")
    axes.set_ylabel(f"parameter {_SYMBOLS.get(family, '')}".rstrip())
    axes.grid()


def _is_logarithmic(family: str) -> bool:
    """Whether a rule's parameter is chosen by its order of magnitude."""
    return get_rule_form(family).scale is not Scale.LINEAR


def _explain(figure: Figure, looks: dict[tuple[bool, int], style.Look]) -> None:
    from matplotlib.lines import Line2D

    several = sum(aware for aware, _ in looks) > 1
    signs = []
    for (aware, constraints), look in looks.items():
        form = f"basis-aware, c = {constraints}" if several else "basis-aware form"
        label = form if aware else "plain rule"
        signs.append(Line2D([], [], color=look.colour, linestyle=look.line, label=label))
    columns = min(len(signs), _LEGEND_COLUMNS)
    figure.legend(handles=signs, loc="outside upper center", ncols=columns, columnspacing=1.0)


def _describe(curves: Sequence[Curve]) -> str:
    parts = [
        f"{_name(curve)} rejects {100 * np.min(curve.value):.3g}% to {100 * np.max(curve.value):.3g}% of "
        f"human text between parameters {style.number(float(np.min(curve.parameters)))} and "
        f"{style.number(float(np.max(curve.parameters)))}"
        for curve in curves
    ]
    return f"Curves of the parameter against the rejection rate: {'; '.join(parts)}."


def _name(curve: Curve) -> str:
    return f"{curve.rule} (c={curve.constraints})" if curve.constraints else curve.rule
