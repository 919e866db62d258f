"""Rows of a batch side by side: compiled code releases the interpreter's lock, so threads are enough.

Threads live as long as the process: starting one costs about as much as a small program. The thread that
asks always works too and never waits for a helper to begin, so helpers may ask in turn. A forked process
starts with no helpers, as threads do not survive a fork, and makes its own.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from bat.blas_threads import single_threaded_blas
from bat.errors import InvalidInputError

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

MOST_HELPERS = 256  # in the whole process; a thread is only started when all others are busy
_helpers: ThreadPoolExecutor | None = None


def usable_threads(threads: int | None) -> int:
    """How many threads to use: what was asked for, else one per core this process may run on."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidInputError(
            f"threads must be an integer of at least 1; got {threads!r}. Leave it out to use every core."
        )
    return threads


def run_in_threads(work: Callable[[], None], stop: Callable[[], None], threads: int) -> None:
    """Call ``work`` in up to ``threads`` threads at once, this one among them, and wait for all of them.

    ``work`` takes what there is to do from a common store until nothing is left, so one call may do it all.
    An exception in any of them, an interrupt included, is raised here once no thread is at work any more;
    ``stop`` is called first, and must make ``work`` return soon.
    """
    with single_threaded_blas():
        _run_in_threads(work, stop, threads)


def _run_in_threads(work: Callable[[], None], stop: Callable[[], None], threads: int) -> None:
    helping = [_executor().submit(work) for _ in range(threads - 1)]
    try:
        work()
    except BaseException:
        stop()
        raise
    finally:
        for helper in helping:
            helper.cancel()  # one that has not begun is not needed any more
        started = [helper for helper in helping if not helper.cancelled()]
        try:
            wait(started)
        except BaseException:  # an interrupt: nobody may be at work in the caller's arrays once it has them
            stop()
            wait(started)
            raise
    for helper in started:
        helper.result()


def map_in_threads(
    function: Callable[[_Item], _Result], items: Sequence[_Item], threads: int
) -> list[_Result]:
    """``[function(item) for item in items]``, several at a time; the order of results is that of items."""
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    results: dict[int, _Result] = {}
    places = itertools.count()
    stopped = False

    def work() -> None:
        while not stopped and (place := next(places)) < len(items):
            results[place] = function(items[place])

    def stop() -> None:
        nonlocal stopped
        stopped = True

    run_in_threads(work, stop, min(threads, len(items)))
    return [results[place] for place in range(len(items))]


def _executor() -> ThreadPoolExecutor:
    global _helpers
    if _helpers is None:
        _helpers = ThreadPoolExecutor(MOST_HELPERS, thread_name_prefix="bat")
    return _helpers


def _forget() -> None:
    global _helpers
    _helpers = None


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_forget)
