"""What the first visitors need and takes seconds to import, imported beside the server's start."""

from __future__ import annotations

import importlib
import threading

# For intervals; for the tokens of texts. Both are imported late elsewhere, so that commands start quickly.
_MODULES = ("scipy.stats", "transformers", "workers.models", "workers.encoding")


def warm_up() -> None:
    """Begin to import, in a thread that ends with the process."""
    threading.Thread(target=_import_all, name="warm-up", daemon=True).start()


def _import_all() -> None:
    for name in _MODULES:
        importlib.import_module(name)
