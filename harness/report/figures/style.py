"""The common style of figures, and rendering to SVG with the same bytes every time.

Colours are those of Okabe and Ito, which work for colour-blind readers. Nothing is shown by colour alone:
markers, lines and hatches differ too, so that figures can be read in greyscale.

matplotlib is imported when the first figure is drawn. pyplot, which keeps figures in memory, is never used.
"""

from __future__ import annotations

import io
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLACK, GREY, PALE = "#000000", "#767676", "#D9D9D9"
BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, SKY, PURPLE = "#E69F00", "#56B4E9", "#CC79A7"

WIDTH_CM = 12.0
_CM_PER_INCH = 2.54
_FONT = "DejaVu Sans"  # comes with matplotlib, so every machine has it
_FONT_POINTS = 8.0

_SETTINGS: dict[Any, Any] = {  # matplotlib has a type for each of its 300 keys
    "font.family": [_FONT],
    "font.size": _FONT_POINTS,
    "axes.titlesize": _FONT_POINTS + 1,
    "axes.labelsize": _FONT_POINTS,
    "xtick.labelsize": _FONT_POINTS,
    "ytick.labelsize": _FONT_POINTS,
    "legend.fontsize": _FONT_POINTS,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 4.5,
    "text.parse_math": False,  # a token may well be a dollar sign
    # Letters as outlines, which look the same on every machine.
    "svg.fonttype": "path",
    "svg.hashsalt": "bat-harness",
}


@dataclass(frozen=True, slots=True)
class Look:
    """The look of a line: colour, marker and line style each identify it."""

    colour: str
    marker: str
    line: Any  # a line style of matplotlib: a string, or the lengths of dashes and gaps


PLAIN = Look(BLUE, "o", "-")
BASIS_AWARE = Look(VERMILION, "D", "--")
LOOKS = (
    PLAIN,
    BASIS_AWARE,
    Look(GREEN, "^", "-."),
    Look(PURPLE, "s", ":"),
    Look(BLACK, "v", (0, (5, 1, 1, 1, 1, 1))),
    Look(ORANGE, "P", (0, (3, 3))),
)


@contextmanager
def settings() -> Iterator[None]:
    """Use our settings inside, whatever the user's settings are, and restore those afterwards."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def new_figure(height_cm: float, width_cm: float = WIDTH_CM, *, arranged: bool = True) -> Figure:
    """Return an empty figure; with ``arranged``, matplotlib makes room for labels."""
    from matplotlib.figure import Figure

    size = (width_cm / _CM_PER_INCH, height_cm / _CM_PER_INCH)
    return Figure(figsize=size, layout="constrained" if arranged else None)


def render(draw: Callable[[], Figure]) -> bytes:
    """Draw a figure with our settings, and return it as SVG."""
    with settings():
        stream = io.BytesIO()
        draw().savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def is_basis_aware(method: str) -> bool:
    """Whether a method's name says that it is basis-aware, as in ba-eta or BA-eta."""
    return method.lower().startswith(("ba-", "ba "))


def plain_name(method: str) -> str:
    """Return what a basis-aware method shares with its plain form: the name without its parameter."""
    name = method.partition("=")[0]
    if ":" not in name:  # classes of modules are spelled exactly
        name = name.lower()
    return name[3:] if is_basis_aware(name) else name


def draw_interval(axes: Axes, position: float, low: float | None, high: float | None, **look: Any) -> None:
    """Draw a horizontal interval with its ends, or a vertical one with ``upright``.

    Nothing is drawn for None or NaN.
    """
    upright = look.pop("upright", False)
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return
    across, along = [position, position], [low, high]
    marker, points = ("_", (across, along)) if upright else ("|", (along, across))
    axes.plot(*points, marker=marker, linewidth=1.1, markersize=5, **look)


def number(value: float, _position: object = None) -> str:
    """A number as people write it, for ticks: 0.0006 and 1e-6, never 1e-06."""
    if value == 0.0 or 1e-4 <= abs(value) < 1e6:
        return f"{value:.12g}"
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def printable(text: str, longest: int | None = None) -> str:
    """Return a text with escapes for characters that the font lacks, cut to a number of letters."""
    from matplotlib.font_manager import findfont, get_font

    letters = get_font(findfont(_FONT))
    shown = "".join(
        letter if letters.get_char_index(ord(letter)) else letter.encode("unicode_escape", "replace").decode()
        for letter in text
    )
    return shown if longest is None or len(shown) <= longest else shown[: longest - 1] + "…"


def fitted(text: str, width_cm: float, *, end: bool = False) -> str:
    """Return as much of a text's beginning, or of its end, as fits."""
    whole = printable(text)

    def cut(dropped: int) -> str:
        if dropped == 0:
            return whole
        return "…" + whole[dropped:] if end else whole[:-dropped] + "…"

    # By bisection, because outlines are slow to compute.
    dropped = bisect_left(range(len(whole)), True, key=lambda drop: _width_cm(cut(drop)) <= width_cm)
    return cut(dropped)


def _width_cm(text: str) -> float:
    from matplotlib.textpath import TextPath

    # Control points of curves may lie slightly outside them, but exact extents are slow to compute.
    xs = TextPath((0, 0), text, size=_FONT_POINTS).vertices[:, 0]
    return float(xs.max(initial=0.0)) * _CM_PER_INCH / 72


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "eta, ba-eta and nucleus"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
