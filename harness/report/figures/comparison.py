"""Scores of models and methods side by side, as points with intervals."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bat.errors import InvalidInputError
from harness.report.figures import style
from harness.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW_CM = 0.5
_LETTERS = 32  # of a method's name in a line
_TITLE_CM = 0.9
_MARGIN_CM = 2.1  # the axis below, and the legend


@dataclass(frozen=True, slots=True)
class Bar:
    """The score of a method with a model, and its 95% interval, if there is one."""

    model: str
    method: str
    value: float
    low: float | None = None
    high: float | None = None
    rule: str = ""  # of the method; default: what its name begins with

    @property
    def family(self) -> str:
        """The plain rule that it is, or is the basis-aware form of."""
        return style.plain_name(self.rule or self.method)

    @property
    def is_basis_aware(self) -> bool:
        """Whether its rule is basis-aware."""
        return style.is_basis_aware(self.rule or self.method)


def comparison(bars: Sequence[Bar], score: str = "MAUVE", name: str = "comparison") -> Picture:
    """Draw a panel for each model with a line for each method, basis-aware ones below their plain forms.

    Points rather than bars from zero, because scores are close to each other and what matters is whether
    their intervals overlap.
    """
    if not bars:
        raise InvalidInputError("a comparison must have at least one score; got none. Score a method first.")
    models = list(dict.fromkeys(bar.model for bar in bars))
    methods = in_pairs(bars)
    return Picture(
        name=name,
        title=f"{score} by model and method",
        caption=f"{score} of each method, with 95% intervals."
        + (
            " Basis-aware methods (diamonds) are below their plain forms (circles)."
            if any(bar.is_basis_aware for bar in bars)
            else ""
        ),
        svg=style.render(partial(draw, bars, score)),
        alternative=_describe(bars, models, methods, score),
    )


def in_pairs(bars: Sequence[Bar]) -> list[str]:
    """Return each method once, in the order given, but basis-aware ones right after their plain forms."""
    order = {family: index for index, family in reversed(list(enumerate(bar.family for bar in bars)))}
    in_order = sorted(bars, key=lambda bar: (order[bar.family], bar.is_basis_aware))
    return list(dict.fromkeys(bar.method for bar in in_order))


def draw(bars: Sequence[Bar], score: str) -> Figure:
    """Draw the panels below each other, so that they share one axis."""
    by_model: dict[str, list[Bar]] = {}
    for bar in bars:
        by_model.setdefault(bar.model, []).append(bar)
    methods = {model: in_pairs(own) for model, own in by_model.items()}
    sizes = [sum(_lines(method) for method in own) for own in methods.values()]
    figure = style.new_figure(_MARGIN_CM + _TITLE_CM * len(sizes) + _ROW_CM * sum(sizes))
    panels = figure.subplots(len(sizes), 1, sharex=True, squeeze=False, height_ratios=sizes)[:, 0]
    for axes, (model, own) in zip(panels, by_model.items(), strict=True):
        _draw_panel(axes, own, methods[model])
        axes.set_title(style.printable(model, 60), loc="left")
    panels[-1].set_xlabel(f"{score} (higher is closer to human text)")
    if any(bar.is_basis_aware for bar in bars):
        _explain(figure)
    return figure


def _draw_panel(axes: Axes, bars: Sequence[Bar], methods: Sequence[str]) -> None:
    families = {bar.method: bar.family for bar in bars}
    for bar in bars:
        look = style.BASIS_AWARE if bar.is_basis_aware else style.PLAIN
        y = methods.index(bar.method)
        style.draw_interval(axes, y, bar.low, bar.high, color=look.colour)
        axes.plot(bar.value, y, look.marker, color=look.colour, markersize=5.5)
    axes.set_yticks(range(len(methods)), [_wrapped(method) for method in methods])
    axes.set_ylim(len(methods) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    pairs = [families[method] for method in methods]
    for y in range(1, len(pairs)):
        if pairs[y] != pairs[y - 1]:
            axes.axhline(y - 0.5, color=style.PALE, linewidth=0.5)


def _wrapped(method: str) -> str:
    """A name in lines that leave room for the intervals."""
    return "\n".join(textwrap.wrap(style.printable(method), _LETTERS, break_on_hyphens=False))


def _lines(method: str) -> int:
    return _wrapped(method).count("\n") + 1


def _explain(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    signs = [
        Line2D([], [], color=look.colour, marker=look.marker, linewidth=1.1, label=label)
        for look, label in ((style.PLAIN, "plain"), (style.BASIS_AWARE, "basis-aware"))
    ]
    figure.legend(handles=signs, loc="outside upper right", ncols=2)


def _describe(bars: Sequence[Bar], models: Sequence[str], methods: Sequence[str], score: str) -> str:
    best = [max((bar for bar in bars if bar.model == model), key=lambda bar: bar.value) for model in models]
    winners = "; ".join(f"{bar.model}: {bar.method} at {bar.value:.4g}" for bar in best)
    return f"Points with 95% intervals: {score} of {style.listed(methods)}. The highest for {winners}."
