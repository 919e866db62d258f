"""The result of a check."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Health(StrEnum):
    """The outcome of a check."""

    OK = "ok"
    WARN = "warn"  # some sweeps will not work
    FAIL = "fail"  # no sweep will work


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, with advice."""

    name: str
    health: Health
    text: str
    advice: str = ""


# An exception counts as a failed check.
Check = Callable[[], Iterable[Finding]]


def is_writable(folder: Path) -> bool:
    """Whether a folder is writable, or can be created."""
    try:
        tempfile.TemporaryFile(dir=nearest(folder)).close()
    except OSError:
        return False
    return True


def nearest(folder: Path) -> Path:
    """The folder itself, or the nearest parent that exists."""
    return next(path for path in (folder, *folder.absolute().parents) if path.exists())
