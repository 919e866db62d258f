"""A log file for each start of a run."""

from __future__ import annotations

import logging
import os
from datetime import UTC, datetime
from pathlib import Path

LOGGER = logging.getLogger("harness.driver")


def log_to_file(address: str, name: str) -> Path:
    """Write what the driver does to a new file: beside a database that is a file, else in this folder."""
    file = address.removeprefix("sqlite:///")
    base = Path(file).parent if file != address else Path()
    folder = base / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name)
    path = folder / f"{safe}-{moment}-{os.getpid()}.log"
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for old in list(LOGGER.handlers):
        LOGGER.removeHandler(old)
        old.close()
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    return path
