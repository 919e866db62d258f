"""numba's ``njit``, whose cache on disk notices every change of the kernels, and has room for several numbas.

numba compiles a function together with all that it calls, but keeps the result for as long as the file of
the function itself is unchanged. After an edit or an upgrade in place, old code of a called function would
live on in its callers. So the stamp of every function here is a hash of all modules with compiled code.

Two versions of numba, from two environments with the same sources, would name their files alike. Each would
overwrite the other's and compile everything again, and running together they could read each other's code.
So the version is part of the names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import IndexDataCacheFile

from bat.compiled import file_name, source_stamp


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with the same options."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if options.get("cache"):
            kept = dispatcher._cache
            kept._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
                kept.cache_path,
                file_name(kept._impl.filename_base, numba.__version__),
                # numba compares it with the stamp in the index: usually the file's time and size.
                source_stamp(Path(__file__).parent),
            )
        return dispatcher

    return compiled
