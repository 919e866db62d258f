"""Which versions made a result: for provenance, and for the question why two machines disagree."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

_LIBRARIES = (
    "bat-harness", "torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "numba", "highspy",
    "pulp", "ray", "sqlalchemy", "mauve-text", "faiss-cpu",
    "scikit-learn",
)  # fmt: skip


def library_versions() -> dict[str, str]:
    """The versions of Python and of the libraries that results depend on, and what the driver runs on."""
    found = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": str(os.cpu_count() or "unknown"),
    }
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    """The name of the processor: Linux has it in a file, other systems tell it themselves."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or "unknown"
