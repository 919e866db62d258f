"""Solvers of the program in ``bat.program``, chosen by name.

    certified   ours, the default: simplex on the dual, proved by full passes (certified.py)
    highs       the full program through HiGHS (highs.py)
    cbc         the full program through PuLP and CBC, as the paper's users would start (cbc.py)

All return the interval that their solution proves, so a wrong answer shows as a wide interval. A solver of
your own is a class with the methods of ``bat.program.Solver``: pass an instance, or name the class.
"""

from __future__ import annotations

from functools import cache

from bat.plugins import PluginError, Registry
from bat.program import Solver

# Named, not imported: the reference solvers' packages are optional and slow to load.
SOLVERS: Registry[type[Solver]] = Registry(
    group="bat_harness.solvers",
    noun="solver",
    builtins={
        "certified": "bat.solvers.certified:CertifiedSolver",
        "highs": "bat.solvers.highs:HighsSolver",
        "cbc": "bat.solvers.cbc:CbcSolver",
    },
    accepts=lambda entry: isinstance(entry, type) and hasattr(entry, "prepare") and hasattr(entry, "solve"),
    requirement="must be a class with the methods prepare and solve of bat.program.Solver",
)
SOLVER_NAMES = tuple(SOLVERS.builtins)
# Increased when a built-in solver's decisions come with other efforts than before. Here rather than at the
# class, because whoever plans jobs must not wait for a solver to be imported.
_DECISION_VERSIONS = {"certified": 3}


def solver_names() -> tuple[str, ...]:
    """Every solver's name, those of installed packages included."""
    return SOLVERS.names()


def check_solver(name: object) -> str:
    """Return the name of a solver if there is one; the solver itself is not started."""
    return SOLVERS.check(name)


def get_solver(solver: str | Solver) -> Solver:
    """A solver by name, or the one given."""
    return _by_name(solver) if isinstance(solver, str) else solver


def provenance(name: str) -> dict[str, str] | None:
    """What results of a solver must record about where it came from: None for the project's own."""
    return SOLVERS.provenance(name)


def decision_version(name: str) -> int | None:
    """What results of a solver's decisions must record beside its name: None for a first version."""
    return _DECISION_VERSIONS.get(name)


@cache
def _by_name(name: str) -> Solver:
    solver = SOLVERS.get(name)
    try:
        return solver()
    except TypeError as error:
        raise PluginError(
            f"solver {name!r} must be made without arguments, as {solver.__qualname__}(); {error}. "
            "Give its arguments defaults, or pass an instance."
        ) from error
