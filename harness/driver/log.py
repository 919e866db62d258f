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
    """A log that a full disk ends, and nothing else with it."""

    def handleError(self, record: logging.LogRecord) -> None:
        LOGGER.removeHandler(self)
        with contextlib.suppress(OSError):
            self.close()
        sys.stderr.write(f"The log {self.baseFilename} cannot be written any more; the run goes on.\n")


def log_to_file(address: str, name: str) -> Path:
    """Write what the driver does to a new file: beside a database that is a file, else in this folder."""
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
            f"the log of a run must be writable in {folder}; it is not ({error.strerror or error}). "
            "Make room there, or start in another folder."
        ) from error
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for old in list(LOGGER.handlers):
        LOGGER.removeHandler(old)
        old.close()
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    return path
