"""Which versions made a result: for provenance, and for the question why two machines disagree."""

from __future__ import annotations

import importlib.metadata
import platform

_LIBRARIES = (
    "bat-harness", "torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "numba", "highspy",
    "pulp", "ray", "sqlalchemy", "mauve-text", "faiss-cpu",
)  # fmt: skip


def library_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that results depend on."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
