"""numba's ``njit``, whose cache on disk notices every change of the kernels.

numba compiles a function together with all that it calls, but keeps the result for as long as the file of
the function itself is unchanged. After an edit or an upgrade in place, old code of a called function would
live on in its callers. So the stamp of every function here is a hash of all modules with compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from bat.compiled import source_stamp


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with the same options."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if options.get("cache"):
            # What numba compares with the stamp in the cache's index: usually the file's time and size.
            dispatcher._cache._cache_file._source_stamp = source_stamp(Path(__file__).parent)
        return dispatcher

    return compiled
