"""numba's ``njit``, whose cache on disk notices every change of the kernels.

numba compiles a function together with all that it calls, but keeps the result for as long as the file of
the function itself is unchanged. After an edit or an upgrade in place, old code of a called function would
live on in its callers. So the stamp of every function here is a hash of all modules with compiled code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with the same options."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if options.get("cache"):
            # What numba compares with the stamp in the cache's index: usually the file's time and size.
            dispatcher._cache._cache_file._source_stamp = source_stamp(Path(__file__).parent)
        return dispatcher

    return compiled


@cache
def source_stamp(package: Path) -> str:
    """A hash of the modules of a package that have anything to compile."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"@njit" in source:
            digest.update(f"{path.relative_to(package).as_posix()} {len(source)}\n".encode() + source)
    return digest.hexdigest()
