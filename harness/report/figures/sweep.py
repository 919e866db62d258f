"""Scores along an axis: against eta at equal rejection rates, or against the number of constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bat.errors import InvalidInputError
from bat.rules import Scale, get_rule_form
from harness.report.figures import style
from harness.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT_CM = 7.5


class Spacing(Enum):
    """How values are spaced along the axis: the function whose steps look even, and its inverse."""

    LINEAR = (np.positive, np.positive)
    LOG = (np.log, np.exp)
    COUNTS = (np.log1p, np.expm1)  # nearly as LOG for large numbers, but with room for 0

    def moved(self, x: float, shift: float) -> float:
        """The value that lies `shift` even steps beyond x."""
        forward, inverse = self.value
        return float(inverse(forward(x) + shift)) if shift else x

    def gaps(self, xs: Sequence[float]) -> list[float]:
        """The even steps between neighbouring values."""
        forward, _ = self.value
        return [float(forward(after) - forward(before)) for before, after in pairwise(xs)]


@dataclass(frozen=True, slots=True)
class Line:
    """The scores of a method along the axis, with 95% intervals; NaN if there is none."""

    label: str
    x: tuple[float, ...]
    value: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        lengths = {len(self.x), len(self.value), len(self.low), len(self.high)}
        if lengths != {len(self.x)} or not self.x:
            raise InvalidInputError(
                f"a line must have a value and two interval ends for each x, and at least one; got "
                f"{len(self.x)} x, {len(self.value)} values, {len(self.low)} lower and "
                f"{len(self.high)} upper ends in {self.label!r}."
            )


def eta_sweep(lines: Sequence[Line], score: str = "MAUVE", name: str = "eta-sweep") -> Picture:
    """Draw scores against eta; basis-aware points are at the eta with the same rejection rate."""
    _check(lines)
    return Picture(
        name=name,
        title=f"{score} against eta",
        caption=f"{score} of eta and basis-aware eta sampling, with 95% intervals. At each x both reject "
        "the same share of human text; the axis shows the plain parameter. Points at the same x are moved "
        "apart slightly. Larger parameters are closer to greedy decoding.",
        svg=style.render(partial(draw, lines, score, "η, parameter of plain eta sampling", Spacing.LOG)),
        alternative=_describe(lines, score, "eta"),
    )


def parameter_sweep(
    lines: Sequence[Line], rule: str, score: str = "MAUVE", name: str = "parameter-sweep"
) -> Picture:
    """Draw scores against the parameter of a rule, a line for each method."""
    _check(lines)
    spacing = Spacing.LINEAR if get_rule_form(rule).scale is Scale.LINEAR else Spacing.LOG
    return Picture(
        name=name,
        title=f"{score} against the parameter of {rule}",
        caption=f"{score} of {rule} as its parameter varies, with 95% intervals."
        + (" Points at the same x are moved apart slightly." if len(lines) > 1 else ""),
        svg=style.render(partial(draw, lines, score, f"parameter of {rule}", spacing)),
        alternative=_describe(lines, score, f"the parameter of {rule}"),
    )


def constraints_sweep(
    lines: Sequence[Line], score: str = "MAUVE", name: str = "constraints-sweep"
) -> Picture:
    """Draw scores against the number of basis-aware constraints."""
    _check(lines)
    return Picture(
        name=name,
        title=f"{score} against the number of constraints",
        caption=f"{score} as the number of basis-aware constraints varies, with 95% intervals. The parameter "
        "is chosen so that the same share of human text is rejected everywhere. Points at the same x are "
        "moved apart slightly.",
        svg=style.render(partial(draw, lines, score, "number of constraints c", Spacing.COUNTS)),
        alternative=_describe(lines, score, "the number of constraints"),
    )


def draw(lines: Sequence[Line], score: str, x_label: str, spacing: Spacing) -> Figure:
    """Draw lines with intervals."""
    figure = style.new_figure(_HEIGHT_CM)
    axes = figure.add_subplot()
    for index, line in enumerate(lines):
        _draw_line(axes, line, _look(lines, index), spacing, _shift(lines, index, spacing))
    _set_axis(axes, spacing, sorted({x for line in lines for x in line.x}))
    axes.set_xlabel(x_label)
    axes.set_ylabel(score)
    axes.grid(axis="y")
    figure.legend(
        loc="outside upper center",
        ncols=1 if any(len(line.label) > 20 for line in lines) else min(len(lines), 3),
    )
    return figure


def _draw_line(axes: Axes, line: Line, look: style.Look, spacing: Spacing, shift: float) -> None:
    order = sorted(range(len(line.x)), key=lambda i: line.x[i])
    xs = [spacing.moved(line.x[i], shift) for i in order]
    for x, i in zip(xs, order, strict=True):
        style.draw_interval(axes, x, line.low[i], line.high[i], color=look.colour, upright=True)
    values = [line.value[i] for i in order]
    label = style.printable(line.label, 60)
    axes.plot(xs, values, linestyle=look.line, marker=look.marker, color=look.colour, label=label)


def _look(lines: Sequence[Line], index: int) -> style.Look:
    """Plain and basis-aware look as in the other figures, if there is at most one line of each."""
    aware = [style.is_basis_aware(line.label) for line in lines]
    if max(sum(aware), len(aware) - sum(aware)) == 1:
        return style.BASIS_AWARE if aware[index] else style.PLAIN
    return style.LOOKS[index % len(style.LOOKS)]


def _shift(lines: Sequence[Line], index: int, spacing: Spacing) -> float:
    """How far a line is moved along the axis, so that intervals at the same x do not overlap."""
    gaps = spacing.gaps(sorted({x for line in lines for x in line.x}))
    step = min(0.1 * min(gaps, default=0.0), 0.008 * sum(gaps))
    return step * (2 * index - len(lines) + 1)


def _set_axis(axes: Axes, spacing: Spacing, xs: Sequence[float]) -> None:
    """Label the values themselves if there is room for them, otherwise round numbers."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    if spacing is Spacing.LINEAR:
        if all(x == round(x) for x in xs):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
        return
    if spacing is Spacing.COUNTS:
        axes.set_xscale("function", functions=spacing.value)
        axes.set_xticks(_with_room(spacing, xs))
    else:
        axes.set_xscale("log")
        gaps = spacing.gaps(xs)
        if min(gaps, default=1.0) >= 0.11 * sum(gaps):
            axes.set_xticks(list(xs))
        else:
            several_a_decade = xs[-1] / xs[0] < 1e3
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if several_a_decade else (1.0,)))
    axes.xaxis.set_major_formatter(style.number)
    axes.minorticks_off()


def _with_room(spacing: Spacing, xs: Sequence[float]) -> list[float]:
    """The first and the last value, and of those between them as many as can be labelled."""
    last, room = xs[-1], 0.08 * sum(spacing.gaps(xs))
    chosen = [xs[0]]
    for x in xs[1:-1]:
        if min(spacing.gaps([chosen[-1], x, last])) >= room:
            chosen.append(x)
    return chosen if chosen[-1] == last else [*chosen, last]


def _check(lines: Sequence[Line]) -> None:
    if not lines:
        raise InvalidInputError("a sweep must have at least one line; got none. Score its methods first.")


def _describe(lines: Sequence[Line], score: str, axis: str) -> str:
    parts = []
    for line in lines:
        ordered = sorted(zip(line.x, line.value, strict=True))
        (first, first_value), (last, last_value) = ordered[0], ordered[-1]
        parts.append(f"{line.label} goes from {first_value:.4g} at {first:g} to {last_value:.4g} at {last:g}")
    return f"Lines with 95% intervals: {score} against {axis}. {'; '.join(parts)}."
