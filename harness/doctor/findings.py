"""What a check found."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Health(StrEnum):
    """How a check went."""

    OK = "ok"
    WARN = "warn"  # something will not work, which many sweeps do without
    FAIL = "fail"  # sweeps need this


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, and what to do about it."""

    name: str
    health: Health
    text: str
    advice: str = ""


# Gives findings; one that raises has found that something is broken.
Check = Callable[[], Iterable[Finding]]


def is_writable(folder: Path) -> bool:
    """Whether a folder can be written, or made where it is not there yet."""
    try:
        tempfile.TemporaryFile(dir=nearest(folder)).close()
    except OSError:
        return False
    return True


def nearest(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(one for one in (folder, *folder.absolute().parents) if one.exists())
