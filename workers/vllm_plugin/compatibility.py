"""What vLLM cannot cope with in a process that has imported `bat`."""

from __future__ import annotations

from llvmlite.binding import ffi


def let_modules_be_scanned() -> None:
    """Keep vLLM from failing because numba, which `bat` uses, has been imported.

    When its engine starts on a CPU, vLLM 0.32 looks at everything in every module, and calls `get` on the
    __dict__ of what has one. The library of llvmlite has whatever attribute it is asked for, as a function.
    """
    wrapper = getattr(ffi, "_lib_fn_wrapper", None)  # another version of llvmlite may have none
    if wrapper is not None and not hasattr(wrapper, "get"):
        wrapper.get = lambda self, name: None
