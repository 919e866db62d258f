"""Whether the compiled solver is in numba's cache: if not, its first use takes about a minute.

Callers can then say why they wait. The answer comes from the files of the cache alone, in milliseconds: a
driver, which decides nothing itself, does not import numba to ask.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path

NOTE = "Compiling the solver, which takes about a minute, once per installation."

_PACKAGE = Path(__file__).parent


class EntryPoint(Enum):
    """The ways into the solver, each compiled whole: the file and the function."""

    PROGRAM = ("solvers/_solve.py", "solve")  # one at a time
    BATCH = ("solvers/_rows.py", "solve_rows")  # measuring human text, deciding about many tokens
    STEP = ("_settle_rows.py", "settle_rows")  # sampling by a basis-aware rule


def is_compiled(*entries: EntryPoint) -> bool:
    """Whether all of these are in the cache, compiled from the code as it is now."""
    return all(_is_cached(_PACKAGE / entry.value[0], entry.value[1]) for entry in entries)


@cache
def source_stamp(package: Path) -> str:
    """A hash of the modules of a package that have anything to compile (see bat._compiling)."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"@njit" in source:
            digest.update(f"{path.relative_to(package).as_posix()} {len(source)}\n".encode() + source)
    return digest.hexdigest()


def file_name(base: str, numba_version: str) -> str:
    """How the names of files in the cache begin (see bat._compiling), given how numba would begin them."""
    return f"{base}.numba{numba_version}"


def _is_cached(source: Path, function: str) -> bool:
    # numba names an index after the function and its line, and ignores one with another stamp.
    base = f"{source.stem}.{function}-*.py{sys.version_info.major}{sys.version_info.minor}"
    pattern = file_name(base, importlib.metadata.version("numba")) + ".nbi"
    stamp = source_stamp(_PACKAGE).encode()
    return any(stamp in index.read_bytes() for folder in _folders(source) for index in folder.glob(pattern))


def _folders(source: Path) -> Iterator[Path]:
    """Where numba may keep what it compiled of a file."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if not named:
        yield source.parent / "__pycache__"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    shared = Path(named) if named else home / "numba"  # the latter if the former cannot be written
    path = os.path.abspath(source.parent)
    yield shared / f"{source.parent.name}_{hashlib.sha1(path.encode()).hexdigest()}"
