"""One thread for each product of BLAS, while this package's own threads do the work side by side.

A library that also starts threads of its own has them fight for the same cores: with 100 constraints on two
cores, a program then took six times as long. And with one thread, the last bits of an answer do not depend on
how many cores a machine has.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0  # how many have asked for it at this moment
_limit: Any = None


@contextlib.contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep NumPy's and SciPy's BLAS to one thread in this process, until the last who asked has left."""
    global _inside, _limit
    with _lock:
        if _inside == 0:
            _limit = libraries().limit(limits=1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()


@functools.cache
def libraries() -> ThreadpoolController:
    """The BLAS of NumPy and SciPy, and any other that is loaded by now; finding them takes a while.

    A package that brings its own later, as faiss does, keeps its threads: no product of ours goes through it.
    """
    import numpy.linalg  # noqa: F401
    import scipy.linalg  # noqa: F401

    return ThreadpoolController().select(user_api="blas")


def _forget() -> None:
    """In a forked process, the threads that may have asked for it, or held the lock, do not exist."""
    global _lock, _inside
    _lock, _inside = threading.Lock(), 0


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_forget)
