"""The quality-diversity plane: each method as a curve along its parameter, with rejection rates as sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from bat.errors import InvalidInputError
from harness.report.figures import style
from harness.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT_CM = 10.0
# Areas of markers in square points: at no rejection, and what is added at 100%.
_SMALLEST, _GROWTH = 14.0, 260.0
_UNKNOWN_AREA = 30.0
_LEGEND_RATES = (1.0, 10.0, 50.0)  # percent


@dataclass(frozen=True, slots=True)
class Point:
    """A setting: its scores on both axes, and the share of human text that it rejects, in percent."""

    label: str  # its parameter, such as 0.95
    diversity: float
    quality: float
    rejected: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """The settings of a method, in the order of their parameter."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows, and where human text is on it, if it is anywhere."""

    label: str
    human: float | None = None


def plane(curves: Sequence[Curve], diversity: Axis, quality: Axis, name: str = "plane") -> Picture:
    """Draw quality against diversity."""
    if not curves:
        raise InvalidInputError("the plane must have at least one method; got none. Score its methods first.")
    sized = any(point.rejected is not None for curve in curves for point in curve.points)
    lines = [
        f"{axis.label} of human text is {axis.human:.3g} (dotted line)."
        for axis in (diversity, quality)
        if axis.human is not None
    ]
    sizes = (
        "The area of a marker grows with the share of human tokens that the setting rejects. "
        if sized
        else "Rejection rates were not measured, so all markers have one size. "
    )
    return Picture(
        name=name,
        title=f"{quality.label} against {diversity.label}",
        caption="Each method is a curve along its parameter or temperature, whose values are beside the "
        f"first and the last point. {sizes}{' '.join(lines)}".rstrip(),
        svg=style.render(partial(_draw, curves, diversity, quality, sized=sized)),
        alternative=_describe(curves, diversity, quality),
    )


def look_of(index: int) -> style.Look:
    """A look for each of many methods: lines change when colours and markers come round again."""
    look = style.LOOKS[index % len(style.LOOKS)]
    turn = index // len(style.LOOKS)
    if turn == 0:
        return look
    markers = "XphHd*<>"
    return replace(look, marker=markers[(index - len(style.LOOKS)) % len(markers)])


def _draw(curves: Sequence[Curve], diversity: Axis, quality: Axis, *, sized: bool) -> Figure:
    figure = style.new_figure(_HEIGHT_CM)
    axes = figure.add_subplot()
    for index, curve in enumerate(curves):
        _draw_curve(axes, curve, look_of(index))
    if diversity.human is not None:
        axes.axvline(diversity.human, color=style.GREY, linestyle=":", linewidth=1.0)
    if quality.human is not None:
        axes.axhline(quality.human, color=style.GREY, linestyle=":", linewidth=1.0)
    axes.set_xlabel(f"{diversity.label} (diversity)")
    axes.set_ylabel(f"{quality.label} (quality)")
    axes.margins(0.08)
    axes.grid()
    if sized:
        for rate in _LEGEND_RATES:
            axes.scatter([], [], s=_area(rate), color=style.GREY, label=f"rejects {rate:g}%")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def _draw_curve(axes: Axes, curve: Curve, look: style.Look) -> None:
    xs, ys = [point.diversity for point in curve.points], [point.quality for point in curve.points]
    axes.plot(xs, ys, linestyle=look.line, color=look.colour, linewidth=1.0, zorder=2)
    # For the legend, where all markers have one size.
    name = style.printable(curve.label, 40)
    axes.plot([], [], marker=look.marker, linestyle=look.line, color=look.colour, linewidth=1.0, label=name)
    axes.scatter(
        xs,
        ys,
        s=[_area(point.rejected) for point in curve.points],
        marker=look.marker,
        color=look.colour,
        edgecolors="white",
        linewidths=0.5,
        zorder=3,
    )
    ends = curve.points if len(curve.points) < 2 else (curve.points[0], curve.points[-1])
    for point in ends:
        axes.annotate(
            style.printable(point.label, 12),
            (point.diversity, point.quality),
            xytext=(5, 4),
            textcoords="offset points",
            fontsize=6.5,
            color=look.colour,
            zorder=4,
        )


def _area(rejected: float | None) -> float:
    """The area of a marker, in proportion to the rejection rate in percent."""
    return _UNKNOWN_AREA if rejected is None else _SMALLEST + _GROWTH * rejected / 100


def _describe(curves: Sequence[Curve], diversity: Axis, quality: Axis) -> str:
    parts = []
    for curve in curves:
        first, last = curve.points[0], curve.points[-1]
        start = f"{quality.label} {first.quality:.3g} and {diversity.label} {first.diversity:.3g}"
        if len(curve.points) == 1:
            parts.append(f"{curve.label} has {start}")
        else:
            parts.append(
                f"{curve.label} goes from {start} at {first.label} to {last.quality:.3g} and "
                f"{last.diversity:.3g} at {last.label}"
            )
    return f"Curves of {quality.label} against {diversity.label}. {'; '.join(parts)}."
