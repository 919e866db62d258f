"""Solvers of the program in ``bat.program``, chosen by name.

    certified   ours, the default: simplex on the dual, proved by full passes (certified.py)
    highs       the full program through HiGHS (highs.py)
    cbc         the full program through PuLP and CBC, as the paper's users would start (cbc.py)

All return the interval that their solution proves, so a wrong answer shows as a wide interval.
"""

from __future__ import annotations

import difflib
from functools import cache

from bat.errors import InvalidInputError
from bat.program import Solver

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
