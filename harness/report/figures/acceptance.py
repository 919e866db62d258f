"""Next tokens after prompts by rank, with their probabilities, and which methods accept them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bat.errors import InvalidInputError
from harness.explore.next_token import verdict_words
from harness.report.figures import style
from harness.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.explore.next_token import Method, NextTokens

# All positions are in centimetres: text has a fixed size, so panels cannot be fractions of the figure.
_PANEL_CM = 5.85
_GAP_CM = 0.3
_ROW_CM = 0.32
_TITLE_CM = 0.55
_LETTER_CM = 0.18  # of the methods' names, which are vertical
_BELOW_CM = 0.75  # the scale of the bars
_RANK_CM = 1.05  # five figures
_TOKEN_CM = 1.65
_MARK_CM = 0.3
_MIN_BAR_CM = 0.9
_LINE_CM = 0.45  # of the legend
_PANELS_PER_ROW = 2

_MIN_PROBABILITY = 1e-30  # a logarithmic scale has no zero

_SYMBOLS = {"eta": "η", "epsilon": "ε", "nucleus": "p"}
_MARKS = {  # marker, colour, filled, meaning
    "yes": ("o", style.BLUE, True, "accepted for its probability"),
    "basis": ("D", style.GREEN, True, "accepted below the threshold"),
    "no": ("x", style.VERMILION, True, "rejected"),
    "?": ("s", style.BLACK, False, "undecided"),
}


@dataclass(frozen=True, slots=True)
class Panel:
    """A prompt, its next tokens, the text of each of them, and what their methods are called."""

    prompt: str
    tokens: NextTokens
    texts: tuple[str, ...]  # in the order of the rows
    titles: tuple[str, ...]  # in the order of the methods


def acceptance(panels: Sequence[Panel], name: str = "next-tokens") -> Picture:
    """Draw a panel for each prompt; all must have the same methods."""
    _check(panels)
    judge = _judge(panels[0])
    return Picture(
        name=name,
        title="Next tokens and which methods accept them",
        caption="Next tokens after each prompt with their ranks: the most likely, and those on which "
        "basis-aware methods and their plain forms differ. Bars are probabilities on a logarithmic scale"
        + (f", solid where {judge} accepts the token and hatched where it does not" if judge else "")
        + ". Columns are methods. A plain method's marks change once, at its threshold; a basis-aware method "
        "may reject a token and accept less likely ones.",
        svg=style.render(partial(draw, panels)),
        alternative=_describe(panels),
        paper="Figures 1 and 4 of the paper",
    )


def draw(panels: Sequence[Panel]) -> Figure:
    """Draw two panels per row; the legend is in the cell after the last one."""
    marks_cm = _MARK_CM * len(panels[0].tokens.methods)
    panel_cm = max(_PANEL_CM, _RANK_CM + _TOKEN_CM + _MIN_BAR_CM + marks_cm)
    above = _above_cm(panels[0].tokens)
    heights = [above + _ROW_CM * len(panel.tokens.rows) + _BELOW_CM for panel in panels]
    cells = len(panels) + 1  # the last is the legend
    heights += [_LINE_CM * (len(_MARKS) + 3 + len(panels[0].tokens.methods))]
    rows = [max(heights[start : start + _PANELS_PER_ROW]) for start in range(0, cells, _PANELS_PER_ROW)]
    width = _PANELS_PER_ROW * panel_cm + _GAP_CM
    figure = style.new_figure(sum(rows), width, arranged=False)
    for cell in range(cells):
        row, column = divmod(cell, _PANELS_PER_ROW)
        left, top = column * (panel_cm + _GAP_CM), sum(rows) - sum(rows[:row])
        if cell < len(panels):
            _draw_panel(figure, panels[cell], left, top, panel_cm)
        else:
            _explain(figure, panels, left, top)
    return figure


def _draw_panel(figure: Figure, panel: Panel, left: float, top: float, width: float) -> None:
    tokens = panel.tokens
    height, marks_cm = _ROW_CM * len(tokens.rows), _MARK_CM * len(tokens.methods)
    bottom = top - _above_cm(tokens) - height
    bars_left = left + _RANK_CM + _TOKEN_CM
    bars = _add_axes(figure, bars_left, bottom, width - _RANK_CM - _TOKEN_CM - marks_cm - 0.1, height)
    marks = _add_axes(figure, left + width - marks_cm, bottom, marks_cm, height)
    _draw_bars(bars, panel)
    _draw_marks(marks, tokens)
    for index, (row, text) in enumerate(zip(tokens.rows, panel.texts, strict=True)):
        y = bottom + height - _ROW_CM * (index + 0.5)
        _write(figure, left + _RANK_CM - 0.1, y, str(row.rank), ha="right", va="center", color=style.GREY)
        _write(figure, left + _RANK_CM, y, style.fitted(text, _TOKEN_CM - 0.15), va="center")
    prompt = style.fitted(panel.prompt, 0.8 * width, end=True)  # bold letters are wider
    _write(figure, left + 0.1, top - 0.3, f"“{prompt}”", va="center", weight="bold")


def _draw_bars(axes: Axes, panel: Panel) -> None:
    tokens, judge = panel.tokens, _judge(panel)
    for index, row in enumerate(tokens.rows):
        word = verdict_words(row, tokens.methods)[panel.titles.index(judge)] if judge else "yes"
        rejected = word in ("no", "?")
        axes.barh(
            index,
            row.probability,
            height=0.72,
            facecolor="white" if rejected else style.BLUE,
            edgecolor=style.VERMILION if rejected else style.BLUE,
            hatch="/////" if rejected else None,
            linewidth=0.6,
        )
    least = max(min(row.probability for row in tokens.rows), _MIN_PROBABILITY)
    axes.set_xscale("log")
    axes.set_xlim(least / 3, 1.0)
    power = math.ceil(math.log10(least / 3))
    axes.set_xticks([10.0**power, 1.0], [f"1e{power}" if power else "", "1"])
    axes.get_xticklabels()[0].set_horizontalalignment("left")
    axes.get_xticklabels()[1].set_horizontalalignment("right")
    axes.minorticks_off()
    _number_rows(axes, tokens)


def _draw_marks(axes: Axes, tokens: NextTokens) -> None:
    words = [verdict_words(row, tokens.methods) for row in tokens.rows]
    for word in _MARKS:
        points = [(x, y) for y, row in enumerate(words) for x, verdict in enumerate(row) if verdict == word]
        if points:
            _draw_signs(axes, word, *zip(*points, strict=True), size=3.6)
    for column, method in enumerate(tokens.methods):
        axes.annotate(
            _short(method),
            (column, -0.5),
            xytext=(0, 2),
            textcoords="offset points",
            rotation=90,
            ha="center",
            va="bottom",
        )
    axes.set_xlim(-0.5, len(tokens.methods) - 0.5)
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    _number_rows(axes, tokens)
    for start in range(1, len(tokens.rows), 2):
        axes.axhspan(start - 0.5, start + 0.5, color="#F2F2F2", linewidth=0, zorder=0)


def _number_rows(axes: Axes, tokens: NextTokens) -> None:
    axes.set_ylim(len(tokens.rows) - 0.5, -0.5)
    axes.set_yticks([])


def _explain(figure: Figure, panels: Sequence[Panel], left: float, top: float) -> None:
    """Draw the legend: the marks that occur, and the full name of each method."""
    methods = panels[0].tokens.methods
    occurring = {
        word for panel in panels for row in panel.tokens.rows for word in verdict_words(row, methods)
    }
    signs = [word for word in _MARKS if word in occurring]
    axes = _add_axes(figure, left, top - _TITLE_CM - _LINE_CM * len(signs), 0.8, _LINE_CM * len(signs))
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(signs) - 0.5, -0.5))
    y = top - _TITLE_CM - _LINE_CM / 2
    for index, word in enumerate(signs):
        _draw_signs(axes, word, [0.5], [index], size=4.5)
        _write(figure, left + 0.8, y, _MARKS[word][-1], va="center")
        y -= _LINE_CM
    y -= _LINE_CM / 2
    for method, title in zip(methods, panels[0].titles, strict=True):
        _write(figure, left + 0.2, y, _short(method), va="center")
        name = style.fitted(title, _PANEL_CM - 1.8)
        _write(figure, left + 1.8, y, name, va="center", color=style.GREY)
        y -= _LINE_CM
    _write(figure, left + 0.2, y - _LINE_CM / 2, "bars: probability, log scale", va="center")


def _draw_signs(axes: Axes, word: str, x: Sequence[float], y: Sequence[float], *, size: float) -> None:
    marker, colour, filled, _ = _MARKS[word]
    axes.plot(x, y, marker, color=colour, markersize=size, fillstyle="full" if filled else "none")


def _above_cm(tokens: NextTokens) -> float:
    """The height of the prompt and the names of the methods above a panel."""
    return _TITLE_CM + 0.2 + _LETTER_CM * max(len(_short(method)) for method in tokens.methods)


def _add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    across, up = (2.54 * inches for inches in figure.get_size_inches())
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def _write(figure: Figure, x: float, y: float, text: str, **look: str) -> None:
    across, up = (2.54 * inches for inches in figure.get_size_inches())
    figure.text(x / across, y / up, text, **look)  # type: ignore[arg-type]


def _short(method: Method) -> str:
    name = method.rule.name.removeprefix("ba-")
    return ("BA-" if method.rule.basis_aware else "") + _SYMBOLS.get(name, name)


def _judge(panel: Panel) -> str:
    """The method that decides the fill of bars: basis-aware eta as in the paper, or the first such one."""
    titled = zip(panel.titles, panel.tokens.methods, strict=True)
    aware = [(title, method.rule.name) for title, method in titled if method.rule.basis_aware]
    aware.sort(key=lambda pair: pair[1] != "ba-eta")
    return aware[0][0] if aware else ""


def _check(panels: Sequence[Panel]) -> None:
    if not panels:
        raise InvalidInputError("a figure of next tokens must have at least one prompt; got none.")
    names = [[str(method.rule) for method in panel.tokens.methods] for panel in panels]
    for panel, own in zip(panels, names, strict=True):
        if own != names[0]:
            raise InvalidInputError(
                f"all prompts of a figure must have the same methods; got {names[0]} and {own}."
            )
        if len(panel.texts) != len(panel.tokens.rows):
            raise InvalidInputError(
                f"each token must have a text; got {len(panel.texts)} texts for {len(panel.tokens.rows)} "
                f"tokens after {panel.prompt!r}."
            )


def _describe(panels: Sequence[Panel]) -> str:
    """Say how many of the tokens shown a basis-aware method accepts and rejects."""
    parts = []
    judge = _judge(panels[0])
    for panel in panels:
        words = [verdict_words(row, panel.tokens.methods) for row in panel.tokens.rows]
        if judge:
            own = [row[panel.titles.index(judge)] for row in words]
            parts.append(
                f"after {panel.prompt[-40:]!r}, {judge} accepts {own.count('yes')} for their probability and "
                f"{own.count('basis')} below the threshold, and rejects {own.count('no')}"
            )
    summary = f" Of the tokens shown: {'; '.join(parts)}." if parts else ""
    return f"Bars of next-token probabilities, with a mark for each method: accepted or rejected.{summary}"
