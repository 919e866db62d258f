"""Numbers, times and texts, formatted for people."""

from __future__ import annotations

import re
from datetime import datetime

from bat.arguments import counted as counted

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def duration(seconds: float) -> str:
    """A duration in its two largest units: "3 h 20 min"; less than half a second is "0 s"."""
    left = max(0, round(seconds))
    for index, (unit, size) in enumerate(_UNITS):
        if left >= size:
            text = f"{left // size} {unit}"
            if index + 1 < len(_UNITS):
                smaller, smaller_size = _UNITS[index + 1]
                rest = left % size // smaller_size
                # From ten of the larger unit on, the smaller one does not matter.
                text += f" {rest} {smaller}" if rest and left < 10 * size else ""
            return text
    return "0 s"


def moment(time: datetime) -> str:
    """A date and time in the local time zone."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M")


def without_colours(text: str) -> str:
    """A text without terminal colour codes."""
    return _COLOURS.sub("", text)
