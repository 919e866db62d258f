"""Numbers, times and texts, formatted for people."""

from __future__ import annotations

import re
from datetime import datetime

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 job", "1,200 jobs"; `plural` for nouns that take more than an s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def duration(seconds: float) -> str:
    """A length of time in its two largest units: "3 h 20 min"; less than a second is "0 s"."""
    left = max(0, round(seconds))
    for index, (unit, size) in enumerate(_UNITS):
        if left >= size:
            text = f"{left // size} {unit}"
            if index + 1 < len(_UNITS):
                smaller, smaller_size = _UNITS[index + 1]
                rest = left % size // smaller_size
                # The smaller unit does not matter from ten of the larger one on.
                text += f" {rest} {smaller}" if rest and left < 10 * size else ""
            return text
    return "0 s"


def moment(time: datetime) -> str:
    """A date and time by the local clock."""
    return time.astimezone().strftime("%Y-%m-%d %H:%M")


def without_colours(text: str) -> str:
    """A text without the codes that colour it in a terminal."""
    return _COLOURS.sub("", text)
