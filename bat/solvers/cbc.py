"""The whole program, every token a column, through CBC as PuLP ships it.

PuLP hands CBC a text file and reads a text file back: coefficients go out with 13 digits and values come
back with 8, whatever CBC computed. That is enough to recognise the optimal vertex, which
``bat.solvers.reference.polish`` then recomputes in float64 from the program itself.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bat.arrays import FloatArray
from bat.errors import SolverUnavailableError
from bat.program import Answer, Goal, Program
from bat.solvers.reference import Statement, answer_from_solution, state, trivial_fractions


class CbcSolver:
    """Simplex over the full program; the interval is what its solution proves, not what it claims."""

    name = "cbc"

    def prepare(self, rows: FloatArray, probs: FloatArray) -> object:
        """Nothing: every token's program is stated afresh."""
        return None

    def solve(self, program: Program, goal: Goal, prepared: object = None) -> Answer:
        """Solve to optimality within ``goal.time_limit_seconds``, then certify."""
        pulp = _import_pulp()
        started = time.perf_counter()
        if trivial_fractions(program) is not None:
            return answer_from_solution(program, goal, None, None, iterations=0, seconds=0.0)
        stated = state(program)
        values, duals, iterations = _run(pulp, stated, started + goal.time_limit_seconds)
        seconds = time.perf_counter() - started
        direction = None if duals is None else stated.direction(duals)
        fractions = None if values is None else stated.fractions(program, values)
        return answer_from_solution(
            program, goal, direction, fractions, iterations=iterations, seconds=seconds
        )


def _run(pulp: Any, stated: Statement, deadline: float) -> tuple[FloatArray | None, FloatArray | None, int]:
    """Values of the columns, duals of the rows and iterations; None where CBC did not reach an optimum."""
    model = pulp.LpProblem("critical_threshold", pulp.LpMinimize)
    # Names are sorted by PuLP before writing; of equal length they stay in order.
    columns = [
        model.add_variable(f"u{k:09d}", 0.0, None if np.isinf(bound) else bound)
        for k, bound in enumerate(stated.upper.tolist())
    ]
    model += columns[0]
    rows = []
    for k, (coefficients, right) in enumerate(
        zip(stated.matrix.tolist(), stated.right.tolist(), strict=True)
    ):
        # A dictionary at once: adding the terms one by one is quadratic in PuLP.
        left = pulp.LpAffineExpression(dict(zip(columns, coefficients, strict=True)))
        rows.append(pulp.LpConstraint(left, pulp.LpConstraintEQ, f"r{k:09d}", right))
        model += rows[-1]
    with tempfile.TemporaryDirectory(prefix="bat-cbc-") as folder:
        log = Path(folder) / "cbc.log"
        solver = _command(
            pulp,
            mip=False,
            msg=False,
            timeLimit=max(0.0, deadline - time.perf_counter()),  # building the model has taken its part
            presolve=False,
            options=["primalTolerance 1e-9", "dualTolerance 1e-9"],
            logPath=str(log),
        )
        solver.tmpDir = folder  # PuLP removes its files itself only if CBC ends well
        try:
            status = model.solve(solver)
        except pulp.PulpSolverError:
            return None, None, 0
        counts = re.findall(r"(\d+) iterations", log.read_text())
    if status != pulp.LpStatusOptimal or any(row.pi is None for row in rows):
        return None, None, int(counts[-1]) if counts else 0
    values = np.array([column.varValue for column in columns], dtype=np.float64)
    duals = np.array([row.pi for row in rows], dtype=np.float64)
    return values, duals, int(counts[-1]) if counts else 0


def _command(pulp: Any, **options: Any) -> Any:
    """The CBC that PuLP ships, or else one that is installed beside it."""
    shipped = getattr(getattr(pulp, "PULP_CBC_CMD", None), "pulp_cbc_path", None)
    for path in (shipped, None):
        solver = pulp.COIN_CMD(path=path, **options)
        if solver.available():
            return solver
    raise SolverUnavailableError(
        'solver "cbc" needs the CBC program, which PuLP did not bring for this machine. Run '
        '"pip install pulp[cbc]", or use solver="certified", which needs nothing more.'
    )


def _import_pulp() -> Any:
    try:
        import pulp
    except ImportError as error:
        raise SolverUnavailableError(
            'solver "cbc" needs the package PuLP, which cannot be imported. Run "pip install pulp", '
            'or use solver="certified", which needs nothing more.'
        ) from error
    return pulp
