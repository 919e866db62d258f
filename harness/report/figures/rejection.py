"""Parameters against the share of human text they reject, a panel for each rule and its basis-aware form."""

from __future__ import annotations

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
_LEGEND_CM = 0.8

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
            " Basis-aware forms (dashed) reach the same share at more restrictive parameters, because they "
            "accept some tokens below the threshold."
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
    figure = style.new_figure(_ROW_CM * rows + _LEGEND_CM)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (family, own) in zip(panels, families.items(), strict=False):
        _draw_panel(axes, family, own)
    for axes in panels[len(families) :]:
        axes.set_axis_off()
    for axes in panels[max(len(families) - columns, 0) : len(families)]:
        axes.set_xlabel("rejected human text (%)")
    _explain(figure, curves)
    return figure


def _draw_panel(axes: Axes, family: str, curves: Sequence[Curve]) -> None:
    shown: list[float] = []
    for curve in curves:
        look = _look(curve)
        rate, low, high = (100.0 * part for part in (curve.value, curve.low, curve.high))
        axes.fill_betweenx(curve.parameters, low, high, color=look.colour, alpha=0.25, linewidth=0)
        axes.plot(rate, curve.parameters, look.line, color=look.colour)
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


def _look(curve: Curve) -> style.Look:
    return style.BASIS_AWARE if style.is_basis_aware(curve.rule) else style.PLAIN


def _is_logarithmic(family: str) -> bool:
    """Whether a rule's parameter is chosen by its order of magnitude."""
    return get_rule_form(family).scale is not Scale.LINEAR


def _explain(figure: Figure, curves: Sequence[Curve]) -> None:
    from matplotlib.lines import Line2D

    looks = {_look(curve): None for curve in curves}
    if len(looks) == 1:
        return
    labels = {style.PLAIN: "plain rule", style.BASIS_AWARE: "basis-aware form"}
    signs = [Line2D([], [], color=look.colour, linestyle=look.line, label=labels[look]) for look in looks]
    figure.legend(handles=signs, loc="outside upper center", ncols=2)


def _describe(curves: Sequence[Curve]) -> str:
    parts = [
        f"{curve.rule} rejects {100 * np.min(curve.value):.3g}% to {100 * np.max(curve.value):.3g}% of human "
        f"text between parameters {style.number(float(np.min(curve.parameters)))} and "
        f"{style.number(float(np.max(curve.parameters)))}"
        for curve in curves
    ]
    return f"Curves of the parameter against the rejection rate: {'; '.join(parts)}."
