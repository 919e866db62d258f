"""Ranks of log-probabilities against the number of prefixes, before and after truncation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bat.errors import InvalidInputError
from harness.report.figures import style
from harness.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEIGHT_CM = 8.0


@dataclass(frozen=True, slots=True)
class RankLine:
    """The rank after each number of prefixes."""

    label: str
    prefixes: tuple[int, ...]
    rank: tuple[int, ...]


def rank(lines: Sequence[RankLine], hidden_size: int, name: str = "rank") -> Picture:
    """Draw the lines, with a horizontal one at the hidden size."""
    if not lines:
        raise InvalidInputError("a figure of ranks must have at least one line; got none.")
    return Picture(
        name=name,
        title="Rank of log-probabilities",
        caption="The rank of the log-probabilities after a number of prefixes of human text. Without "
        f"truncation it cannot exceed d + 1 = {hidden_size + 1:,}, the hidden size plus one, because "
        "log-probabilities are logits, of rank d, minus a number for each prefix. Rejected tokens count as "
        "having a tiny probability. Nothing can lie above the thin diagonal, where every prefix adds one.",
        svg=style.render(partial(draw, lines, hidden_size)),
        alternative=_describe(lines, hidden_size),
        paper="Figure 10 of the paper",
    )


def draw(lines: Sequence[RankLine], hidden_size: int) -> Figure:
    """Draw ranks against prefixes."""
    figure = style.new_figure(_HEIGHT_CM)
    axes = figure.add_subplot()
    most = max(max(line.prefixes) for line in lines)
    axes.plot([0, most], [0, most], color=style.GREY, linewidth=0.6)
    axes.axhline(hidden_size, color=style.BLACK, linewidth=0.9, linestyle=(0, (1, 2)))
    axes.annotate(
        f"hidden size d = {hidden_size:,}",
        (0.0, hidden_size),
        xytext=(3, 3),
        textcoords="offset points",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )
    for index, line in enumerate(lines):
        look = style.LOOKS[index % len(style.LOOKS)]
        # Lines on top of each other stay visible: the first ones have larger markers.
        size = 7.5 - 1.5 * min(index, 3)
        axes.plot(
            line.prefixes,
            line.rank,
            look.line,
            marker=look.marker,
            color=look.colour,
            markersize=size,
            markerfacecolor="none" if index else look.colour,
            label=style.printable(line.label, 40),
        )
    axes.set(xlabel="number of prefixes", ylabel="rank of the log-probabilities")
    axes.set_xlim(0, 1.03 * most)
    axes.set_ylim(0, 1.05 * max(most, hidden_size))
    axes.grid(axis="y")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def _describe(lines: Sequence[RankLine], hidden_size: int) -> str:
    parts = [f"{line.label}: {line.rank[-1]:,} after {line.prefixes[-1]:,} prefixes" for line in lines]
    return f"Ranks against prefixes, with the hidden size {hidden_size:,} as a line. {'; '.join(parts)}."
