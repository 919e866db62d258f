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
from harness.report.names import name_of
from harness.report.parts import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from harness.explore.next_token import Method, NextTokens

# All places are in centimetres: text has a size of its own, so panels cannot be shares of the figure.
_PANEL_CM = 5.85
_GAP_CM = 0.3
_ROW_CM = 0.32
_TITLE_CM = 0.55
_LETTER_CM = 0.18  # of the methods' names, which stand upright
_BELOW_CM = 0.75  # the scale of the bars
_RANK_CM = 1.05  # five figures
_TOKEN_CM = 1.65
_MARK_CM = 0.3
_LEAST_BAR_CM = 0.9
_LINE_CM = 0.45  # of the words that explain
_PANELS_A_ROW = 2

_LEAST_PROBABILITY = 1e-30  # a logarithmic scale has no zero

_SYMBOLS = {"eta": "η", "epsilon": "ε", "nucleus": "p"}
_MARKS = {  # marker, colour, filled, meaning
    "yes": ("o", style.BLUE, True, "accepted for its probability"),
    "basis": ("D", style.GREEN, True, "below the threshold, yet accepted"),
    "no": ("x", style.VERMILION, True, "refused"),
    "?": ("s", style.BLACK, False, "undecided"),
}


@dataclass(frozen=True, slots=True)
class Panel:
    """A prompt, its next tokens, and the text of each of them, in the order of the rows."""

    prompt: str
    found: NextTokens
    texts: tuple[str, ...]


def acceptance(panels: Sequence[Panel], name: str = "next-tokens") -> Picture:
    """Draw a panel for each prompt; all must have the same methods."""
    _check(panels)
    judge = _judge(panels[0].found.methods)
    return Picture(
        name=name,
        title="Next tokens and which methods accept them",
        caption="Next tokens after each prompt with their ranks: the likeliest, and those on which "
        "basis-aware methods and their plain forms differ. Bars are probabilities on a logarithmic scale"
        + (f", solid where {judge} accepts the token and hatched where it does not" if judge else "")
        + ". Columns are methods. A plain method's marks change once, at its threshold; a basis-aware method "
        "may refuse a token and accept less likely ones.",
        svg=style.render(partial(draw, panels)),
        alternative=_describe(panels),
        paper="Figures 1 and 4 of the paper",
    )


def draw(panels: Sequence[Panel]) -> Figure:
    """Draw two panels a row; the place after the last one says what the marks mean."""
    marks_cm = _MARK_CM * len(panels[0].found.methods)
    panel_cm = max(_PANEL_CM, _RANK_CM + _TOKEN_CM + _LEAST_BAR_CM + marks_cm)
    above = _above_cm(panels[0].found)
    heights = [above + _ROW_CM * len(panel.found.rows) + _BELOW_CM for panel in panels]
    places = len(panels) + 1
    heights += [_LINE_CM * (len(_MARKS) + 3 + len(panels[0].found.methods))]
    rows = [max(heights[start : start + _PANELS_A_ROW]) for start in range(0, places, _PANELS_A_ROW)]
    width = _PANELS_A_ROW * panel_cm + _GAP_CM
    figure = style.new_figure(sum(rows), width, arranged=False)
    for place in range(places):
        row, column = divmod(place, _PANELS_A_ROW)
        left, top = column * (panel_cm + _GAP_CM), sum(rows) - sum(rows[:row])
        if place < len(panels):
            _draw_panel(figure, panels[place], left, top, panel_cm)
        else:
            _explain(figure, panels, left, top)
    return figure


def _draw_panel(figure: Figure, panel: Panel, left: float, top: float, width: float) -> None:
    found = panel.found
    height, marks_cm = _ROW_CM * len(found.rows), _MARK_CM * len(found.methods)
    bottom = top - _above_cm(found) - height
    bars_left = left + _RANK_CM + _TOKEN_CM
    bars = _add_axes(figure, bars_left, bottom, width - _RANK_CM - _TOKEN_CM - marks_cm - 0.1, height)
    marks = _add_axes(figure, left + width - marks_cm, bottom, marks_cm, height)
    _draw_bars(bars, found)
    _draw_marks(marks, found)
    for place, (row, text) in enumerate(zip(found.rows, panel.texts, strict=True)):
        y = bottom + height - _ROW_CM * (place + 0.5)
        _write(figure, left + _RANK_CM - 0.1, y, str(row.rank), ha="right", va="center", color=style.GREY)
        _write(figure, left + _RANK_CM, y, style.fitted(text, _TOKEN_CM - 0.15), va="center")
    prompt = style.fitted(panel.prompt, 0.8 * width, end=True)  # bold letters are wider
    _write(figure, left + 0.1, top - 0.3, f"“{prompt}”", va="center", weight="bold")


def _draw_bars(axes: Axes, found: NextTokens) -> None:
    judge = _judge(found.methods)
    names = [name_of(method.rule) for method in found.methods]
    for place, row in enumerate(found.rows):
        word = verdict_words(row, found.methods)[names.index(judge)] if judge else "yes"
        refused = word in ("no", "?")
        axes.barh(
            place,
            row.probability,
            height=0.72,
            facecolor="white" if refused else style.BLUE,
            edgecolor=style.VERMILION if refused else style.BLUE,
            hatch="/////" if refused else None,
            linewidth=0.6,
        )
    least = max(min(row.probability for row in found.rows), _LEAST_PROBABILITY)
    axes.set_xscale("log")
    axes.set_xlim(least / 3, 1.0)
    power = math.ceil(math.log10(least / 3))
    axes.set_xticks([10.0**power, 1.0], [f"1e{power}" if power else "", "1"])
    axes.get_xticklabels()[0].set_horizontalalignment("left")
    axes.get_xticklabels()[1].set_horizontalalignment("right")
    axes.minorticks_off()
    _number_rows(axes, found)


def _draw_marks(axes: Axes, found: NextTokens) -> None:
    words = [verdict_words(row, found.methods) for row in found.rows]
    for word in _MARKS:
        places = [(x, y) for y, row in enumerate(words) for x, said in enumerate(row) if said == word]
        if places:
            _draw_signs(axes, word, *zip(*places, strict=True), size=3.6)
    for column, method in enumerate(found.methods):
        axes.annotate(
            _short(method),
            (column, -0.5),
            xytext=(0, 2),
            textcoords="offset points",
            rotation=90,
            ha="center",
            va="bottom",
        )
    axes.set_xlim(-0.5, len(found.methods) - 0.5)
    axes.set_xticks([])
    axes.spines[["left", "bottom"]].set_visible(False)
    _number_rows(axes, found)
    for start in range(1, len(found.rows), 2):
        axes.axhspan(start - 0.5, start + 0.5, color="#F2F2F2", linewidth=0, zorder=0)


def _number_rows(axes: Axes, found: NextTokens) -> None:
    axes.set_ylim(len(found.rows) - 0.5, -0.5)
    axes.set_yticks([])


def _explain(figure: Figure, panels: Sequence[Panel], left: float, top: float) -> None:
    """Say what the signs mean that there are, and which method is behind each short name."""
    methods = panels[0].found.methods
    said = {word for panel in panels for row in panel.found.rows for word in verdict_words(row, methods)}
    signs = [word for word in _MARKS if word in said]
    axes = _add_axes(figure, left, top - _TITLE_CM - _LINE_CM * len(signs), 0.8, _LINE_CM * len(signs))
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(signs) - 0.5, -0.5))
    y = top - _TITLE_CM - _LINE_CM / 2
    for place, word in enumerate(signs):
        _draw_signs(axes, word, [0.5], [place], size=4.5)
        _write(figure, left + 0.8, y, _MARKS[word][-1], va="center")
        y -= _LINE_CM
    y -= _LINE_CM / 2
    for method in methods:
        _write(figure, left + 0.2, y, _short(method), va="center")
        _write(figure, left + 1.8, y, name_of(method.rule), va="center", color=style.GREY)
        y -= _LINE_CM
    _write(figure, left + 0.2, y - _LINE_CM / 2, "bars: probability, log scale", va="center")


def _draw_signs(axes: Axes, word: str, x: Sequence[float], y: Sequence[float], *, size: float) -> None:
    marker, colour, filled, _ = _MARKS[word]
    axes.plot(x, y, marker, color=colour, markersize=size, fillstyle="full" if filled else "none")


def _above_cm(found: NextTokens) -> float:
    """Room for the prompt, and below it for the names of the methods."""
    return _TITLE_CM + 0.2 + _LETTER_CM * max(len(_short(method)) for method in found.methods)


def _add_axes(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    across, up = (2.54 * inches for inches in figure.get_size_inches())
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def _write(figure: Figure, x: float, y: float, text: str, **look: str) -> None:
    across, up = (2.54 * inches for inches in figure.get_size_inches())
    figure.text(x / across, y / up, text, **look)  # type: ignore[arg-type]


def _short(method: Method) -> str:
    name = method.rule.name.removeprefix("ba-")
    return ("BA-" if method.rule.basis_aware else "") + _SYMBOLS.get(name, name)


def _judge(methods: Sequence[Method]) -> str:
    """The method that bars are filled by: basis-aware eta as in the paper, or else the first of its kind."""
    aware = [method.rule for method in methods if method.rule.basis_aware]
    aware.sort(key=lambda rule: rule.name != "ba-eta")
    return name_of(aware[0]) if aware else ""


def _check(panels: Sequence[Panel]) -> None:
    if not panels:
        raise InvalidInputError("a figure of next tokens must have at least one prompt; got none.")
    names = [[str(method.rule) for method in panel.found.methods] for panel in panels]
    for panel, own in zip(panels, names, strict=True):
        if own != names[0]:
            raise InvalidInputError(
                f"all prompts of a figure must have the same methods; got {names[0]} and {own}."
            )
        if len(panel.texts) != len(panel.found.rows):
            raise InvalidInputError(
                f"each token must have a text; got {len(panel.texts)} texts for {len(panel.found.rows)} "
                f"tokens after {panel.prompt!r}."
            )


def _describe(panels: Sequence[Panel]) -> str:
    """Say where a basis-aware method refused a token and accepted a less likely one."""
    parts = []
    judge = _judge(panels[0].found.methods)
    for panel in panels:
        words = [verdict_words(row, panel.found.methods) for row in panel.found.rows]
        names = [name_of(method.rule) for method in panel.found.methods]
        if judge:
            own = [row[names.index(judge)] for row in words]
            parts.append(
                f"after {panel.prompt[-40:]!r}, {judge} accepts {own.count('yes')} for their probability and "
                f"{own.count('basis')} below the threshold, and refuses {own.count('no')}"
            )
    said = f" Of the tokens shown: {'; '.join(parts)}." if parts else ""
    return f"Bars of next-token probabilities, with a mark for each method: accepted or refused.{said}"
