"""Solvers of the program in ``bat.program``, chosen by name.

    certified   ours, the default: simplex on the dual, proved by full passes (certified.py)
    highs       the full program through HiGHS (highs.py)
    cbc         the full program through PuLP and CBC, as the paper's users would start (cbc.py)

All return the interval that their solution proves, so a wrong answer shows as a wide interval.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from bat.errors import InvalidInputError
from bat.program import Solver

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

SOLVER_NAMES = ("certified", "highs", "cbc")


@cache
def _by_name(name: str) -> Solver:
    # Imported when asked for: the reference solvers' packages are optional and slow to load.
    if name == "certified":
        from bat.solvers.certified import CertifiedSolver

        return CertifiedSolver()
    if name == "highs":
        from bat.solvers.highs import HighsSolver

        return HighsSolver()
    from bat.solvers.cbc import CbcSolver

    return CbcSolver()


def get_solver(solver: str | Solver) -> Solver:
    """A solver by name, or the one given."""
    if not isinstance(solver, str):
        return solver
    if solver not in SOLVER_NAMES:
        near = difflib.get_close_matches(solver, SOLVER_NAMES, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInputError(f"solver must be one of {', '.join(SOLVER_NAMES)}; got {solver!r}.{guess}")
    return _by_name(solver)


def usable_threads(threads: int | None) -> int:
    """How many threads to use: what was asked for, else one per core this process may run on."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidInputError(
            f"threads must be an integer of at least 1; got {threads!r}. Leave it out to use every core."
        )
    return threads


def map_in_threads(
    function: Callable[[_Item], _Result], items: Sequence[_Item], threads: int
) -> list[_Result]:
    """``[function(item) for item in items]``, several at a time; the order of results is that of items."""
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(function, items))
