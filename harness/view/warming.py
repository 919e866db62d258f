"""What the first visitors need and takes long, done beside the start of the server."""

from __future__ import annotations

import importlib
import threading
from contextlib import suppress

from bat.errors import BatError
from harness.store import open_reader
from harness.view.remembering import Memory
from harness.view.results import score_tables
from harness.view.settings import ViewSettings

# For intervals, and for the tokens of texts; imported late elsewhere, so that commands start quickly.
_MODULES = ("scipy.stats", "transformers", "workers.models", "workers.encoding")


def warm_up(settings: ViewSettings, memory: Memory) -> None:
    """Begin, in a thread that ends with the process."""
    threading.Thread(target=_prepare, args=(settings, memory), name="warm-up", daemon=True).start()


def _prepare(settings: ViewSettings, memory: Memory) -> None:
    for name in _MODULES:
        importlib.import_module(name)
    # A database that cannot be read is the visitor's to learn, with a sentence.
    with suppress(BatError), open_reader(settings.db) as reader:
        for run in reader.runs()[:1]:
            tables = score_tables(memory, reader, run)
            for model in tables.models:
                tables.table(model, tables.scores(model))
