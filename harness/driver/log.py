"""A log file for each start of a run."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from bat.errors import BatError

LOGGER = logging.getLogger("harness.driver")


class LogError(BatError):
    """The log of a run cannot be written."""


class _File(logging.FileHandler):
    """A log file. If it cannot be written any more, logging stops and the run continues."""

    def handleError(self, record: logging.LogRecord) -> None:
        LOGGER.removeHandler(self)
        with contextlib.suppress(OSError):
            self.close()
        sys.stderr.write(
            f"The log {self.baseFilename} cannot be written any more; the run continues without it.\n"
        )


def log_to_file(address: str, name: str) -> Path:
    """Log to a new file in the folder logs, beside an SQLite database or in the current folder."""
    file = address.removeprefix("sqlite:///")
    base = Path(file).parent if file != address else Path()
    folder = base / "logs"
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)
    path = folder / f"{safe}-{moment}-{os.getpid()}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handler = _File(path, encoding="utf-8")
    except OSError as error:
        raise LogError(
            f"the log folder {folder} must be writable; it is not ({error.strerror or error}). "
            "Free some space, or start in another folder."
        ) from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for old in list(LOGGER.handlers):
        LOGGER.removeHandler(old)
        old.close()
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    return path
