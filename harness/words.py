"""Numbers and times as people say them, and texts as they can be shown."""

from __future__ import annotations

import re
from datetime import datetime

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def counted(number: int, noun: str, several: str | None = None) -> str:
    """A number of things: "1 job", "1,200 jobs"; `several` where the plural takes more than an s."""
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def duration(seconds: float) -> str:
    """A length of time in its two largest units: "3 h 20 min"; less than a second is "0 s"."""
    left = max(0, round(seconds))
    for place, (unit, size) in enumerate(_UNITS):
        if left >= size:
            text = f"{left // size} {unit}"
            if place + 1 < len(_UNITS):
                smaller, smaller_size = _UNITS[place + 1]
                rest = left % size // smaller_size
                # Nobody cares for the seconds of ten minutes.
                text += f" {rest} {smaller}" if rest and left < 10 * size else ""
            return text
    return "0 s"


def moment(time: datetime) -> str:
    """A time of day of the local clock."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M")


def without_colours(text: str) -> str:
    """A text without the codes that colour it in a terminal."""
    return _COLOURS.sub("", text)
