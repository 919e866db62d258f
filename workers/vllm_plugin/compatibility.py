"""What vLLM stumbles over in an environment with this project."""

from __future__ import annotations

from llvmlite.binding import ffi


def let_modules_be_scanned() -> None:
    """Keep vLLM from failing because numba, on which `bat` is built, has been imported.

    When its engine starts on a CPU, vLLM 0.32 looks at everything in every module, and calls `get` on the
    __dict__ of what has one. The library of llvmlite has whatever attribute it is asked for, as a function.
    """
    if not hasattr(ffi._lib_fn_wrapper, "get"):
        ffi._lib_fn_wrapper.get = lambda self, name: None
