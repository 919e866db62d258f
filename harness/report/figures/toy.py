"""The paper's toy model, three tokens and a hidden size of one, in the triangle of all distributions.

Every shape is computed from the model: the distributions it can output, the line on which the basis-aware
constraint holds, the area that truncation allows, and where both meet at the edge of a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import bat
from bat.arrays import FloatArray
from harness.report.figures import style
from harness.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WEIGHT = np.array([[0.55], [0.71], [0.29]])  # output matrix, 3 tokens x 1
HIDDEN = 2.55
THRESHOLD = 1 - 1 / 1.9  # no probability may exceed the model's by more than a factor of 1.9
REJECTED = 0  # token 1 of the paper, which counts from 1

# Where a distribution that gives everything to token 0, 1 or 2 is drawn.
_CORNERS = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
_NAMES = ("p₀", "p₁", "p₂")
_HEIGHT_CM = 11.5


@dataclass(frozen=True, slots=True, eq=False)
class Shapes:
    """What is drawn; each row is a distribution over the three tokens."""

    output: FloatArray  # [3], the model's
    possible: FloatArray  # [n, 3], all that the model could output, from one end to the other
    indistinguishable: (
        FloatArray  # [2, 3], ends of the line that the output matrix cannot distinguish from it
    )
    allowed: FloatArray  # [k, 3], corners of the area within the factor 1 / (1 - threshold)
    witness: FloatArray  # [3], on the line and allowed, without the rejected token


def toy(name: str = "toy-model") -> Picture:
    """Draw the toy model."""
    shapes = compute_shapes()
    output, witness = (", ".join(f"{p:.2f}" for p in row) for row in (shapes.output, shapes.witness))
    return Picture(
        name=name,
        title="The toy model",
        caption=f"All distributions over three tokens. The model outputs ({output}), one of the "
        "distributions that it can output (blue line). The true distribution may be any on the orange line, "
        "which the output matrix cannot distinguish from it, within the area that a threshold of "
        f"{THRESHOLD:.3f} allows. The two meet the edge where token 0 has probability zero, at ({witness}), "
        "so token 0 is rejected. They do not meet the other edges together, so tokens 1 and 2 are accepted, "
        "although token 2 is the least likely. Tokens are counted from 0; the paper counts them from 1.",
        svg=style.render(partial(draw, shapes)),
        alternative=f"A triangle with the model's output at ({output}), a line through it that meets the "
        f"edge of token 0 at ({witness}) inside the area that truncation allows.",
        paper="Figure 3 of the paper",
    )


def compute_shapes() -> Shapes:
    """Compute what is drawn, with `bat` where it has the answer, otherwise by definition."""
    probs = bat.softmax(WEIGHT.T * HIDDEN)  # [1, 3]
    basis = bat.Basis.from_matrix(WEIGHT, constraints=1)
    witness = bat.explain(basis, probs, REJECTED, THRESHOLD).witness
    if witness is None:
        raise bat.BatError("the toy model's first token must be rejected; it was accepted. This is a bug.")
    # Hidden states from one corner of the triangle to another, densest where the line bends.
    hidden = 60.0 * np.linspace(-1.0, 1.0, 401)[:, None] ** 3
    return Shapes(
        output=probs[0],
        possible=bat.softmax(hidden @ WEIGHT.T),
        indistinguishable=_line_within(probs[0], np.cross(*basis.rows)),
        allowed=_area_below(probs[0] / (1 - THRESHOLD)),
        witness=witness,
    )


def draw(shapes: Shapes) -> Figure:
    """Draw the triangle and what lies in it."""
    figure = style.new_figure(_HEIGHT_CM)
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.set_axis_off()
    _draw_triangle(axes)
    axes.fill(
        *_to_plane(shapes.allowed),
        facecolor=style.ORANGE,
        edgecolor=style.ORANGE,
        alpha=0.35,
        label="allowed by truncation",
    )
    axes.plot(*_to_plane(shapes.possible), color=style.BLUE, label="possible model outputs")
    axes.plot(
        *_to_plane(shapes.indistinguishable), "--", color=style.VERMILION, label="basis-aware constraint"
    )
    axes.plot(*_to_plane(shapes.output), "o", color=style.BLUE, markersize=7, label="model output")
    axes.plot(
        *_to_plane(shapes.witness),
        "D",
        color=style.GREEN,
        markersize=7,
        clip_on=False,
        label="a true distribution without token 0",
    )
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _draw_triangle(axes: Axes) -> None:
    """Draw the edges and, for each token, lines of equal probability with their values at one edge."""
    for token, name in enumerate(_NAMES):
        left, right = np.eye(3)[(token + 1) % 3], np.eye(3)[(token + 2) % 3]
        for value in (0.25, 0.5, 0.75):
            ends = [value * np.eye(3)[token] + (1 - value) * other for other in (left, right)]
            axes.plot(*_to_plane(np.array(ends)), color=style.PALE, linewidth=0.5, zorder=0)
            _write(axes, ends[0], f"{value:g}", away_from=np.eye(3)[(token + 2) % 3], colour=style.GREY)
        _write(axes, np.eye(3)[token], f"{name} = 1", away_from=np.full(3, 1 / 3), points=14.0)
        _write(axes, (left + right) / 2, f"{name} = 0", away_from=np.eye(3)[token], points=26.0, turn=True)
    axes.plot(*_to_plane(np.eye(3)[[0, 1, 2, 0]]), color=style.BLACK, linewidth=0.8)


def _write(
    axes: Axes,
    at: FloatArray,
    text: str,
    *,
    away_from: FloatArray,
    points: float = 12.0,
    colour: str = style.BLACK,
    turn: bool = False,
) -> None:
    """Write beside a point of the triangle, on the side that is away from another; turned, along an edge."""
    direction = (at - away_from) @ _CORNERS
    offset = points * direction / np.hypot(*direction)
    across = float(np.degrees(np.arctan2(direction[1], direction[0]))) + 90.0
    axes.annotate(
        text,
        tuple(at @ _CORNERS),
        xytext=tuple(offset),
        textcoords="offset points",
        ha="center",
        va="center",
        color=colour,
        rotation=(across + 90.0) % 180.0 - 90.0 if turn else 0.0,
    )


def _to_plane(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Barycentric to plane coordinates."""
    x, y = (np.atleast_2d(rows) @ _CORNERS).T
    return x, y


def _line_within(start: FloatArray, direction: FloatArray) -> FloatArray:
    """Return the ends of the line through a distribution, as far as no probability is negative, [2, 3]."""
    steps = -start / direction  # where each probability would be zero
    forward, backward = steps[steps > 0.0].min(), steps[steps < 0.0].max()
    ends: FloatArray = start + np.array([[backward], [forward]]) * direction
    return ends


def _area_below(limits: FloatArray) -> FloatArray:
    """Return the corners of the distributions with no probability above its limit, [k, 3]."""
    corners = list(np.eye(3))
    for token, limit in enumerate(limits):
        kept: list[FloatArray] = []
        for start, end in zip(corners, corners[1:] + corners[:1], strict=True):
            if start[token] <= limit:
                kept.append(start)
            if (start[token] <= limit) != (end[token] <= limit):
                share = (limit - start[token]) / (end[token] - start[token])
                kept.append(start + share * (end - start))
        corners = kept
    return np.array(corners)
