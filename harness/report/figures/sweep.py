"""Scores along an axis: against eta at equal rejection rates, or against the number of constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from bat.errors import InvalidInputError
from bat.rules import Scale, get_rule_form
from harness.report.figures import style
from harness.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT_CM = 7.5


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
        svg=style.render(partial(draw, lines, score, "η, parameter of plain eta sampling", log=True)),
        alternative=_describe(lines, score, "eta"),
    )


def parameter_sweep(
    lines: Sequence[Line], rule: str, score: str = "MAUVE", name: str = "parameter-sweep"
) -> Picture:
    """Draw scores against the parameter of a rule, a line for each method."""
    _check(lines)
    is_log = get_rule_form(rule).scale is not Scale.LINEAR
    return Picture(
        name=name,
        title=f"{score} against the parameter of {rule}",
        caption=f"{score} of {rule} as its parameter varies, with 95% intervals."
        + (" Points at the same x are moved apart slightly." if len(lines) > 1 else ""),
        svg=style.render(partial(draw, lines, score, f"parameter of {rule}", log=is_log)),
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
        svg=style.render(partial(draw, lines, score, "number of constraints c", log=False)),
        alternative=_describe(lines, score, "the number of constraints"),
    )


def draw(lines: Sequence[Line], score: str, x_label: str, *, log: bool) -> Figure:
    """Draw lines with intervals."""
    figure = style.new_figure(_HEIGHT_CM)
    axes = figure.add_subplot()
    for index, line in enumerate(lines):
        _draw_line(axes, line, _look(lines, index), _shift(lines, index, log=log), log=log)
    if log:
        axes.set_xscale("log")
        _label_log_ticks(axes, sorted({x for line in lines for x in line.x}))
    elif all(x == round(x) for line in lines for x in line.x):
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.set_xlabel(x_label)
    axes.set_ylabel(score)
    axes.grid(axis="y")
    figure.legend(
        loc="outside upper center",
        ncols=1 if any(len(line.label) > 20 for line in lines) else min(len(lines), 3),
    )
    return figure


def _draw_line(axes: Axes, line: Line, look: style.Look, shift: float, *, log: bool) -> None:
    order = sorted(range(len(line.x)), key=lambda i: line.x[i])
    xs = [line.x[i] * math.exp(shift) if log else line.x[i] + shift for i in order]
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


def _shift(lines: Sequence[Line], index: int, *, log: bool) -> float:
    """How far a line is moved along the axis, so that intervals at the same x do not overlap."""
    xs = sorted({math.log(x) if log else x for line in lines for x in line.x})
    gaps = [after - before for before, after in pairwise(xs)]
    reach = xs[-1] - xs[0]
    step = min(0.1 * min(gaps, default=0.0), 0.008 * reach)
    return step * (2 * index - len(lines) + 1)


def _label_log_ticks(axes: Axes, xs: Sequence[float]) -> None:
    """Label the parameters themselves if there is room for them, otherwise round numbers."""
    from matplotlib.ticker import LogLocator

    reach = xs[-1] / xs[0]
    gaps = [math.log(after / before) for before, after in pairwise(xs)]
    if min(gaps, default=1.0) >= 0.11 * math.log(reach):
        axes.set_xticks(list(xs))
    else:
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if reach < 1e3 else (1.0,)))
    axes.xaxis.set_major_formatter(style.number)
    axes.minorticks_off()


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
