"""The whole program, every token a column, through HiGHS.

``HighsSolver()`` is given the program in the units of ``bat.solvers.reference`` and is right.
``HighsSolver(raw=True)`` is given the program in probabilities, as one would write it down from the paper,

    maximise lam   such that   sum_j p_j a_j x_j = lam b,    0 <= x_j <= 1,    tau = 1 - lam

with HiGHS's default tolerances. There the reduced cost of nearly every token, p_j (a_j . y), is below
tolerance before the first pivot, and tens of thousands of such "negligible" violations add up. It is kept
to show by how much: ``claimed_threshold`` gives what HiGHS says, ``solve`` gives what that proves.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bat.arrays import FloatArray
from bat.errors import SolverUnavailableError
from bat.program import Answer, Goal, Program
from bat.solvers.reference import answer_from_solution, other_tokens, state, trivial_fractions


class HighsSolver:
    """Dual simplex over the full program; the interval is what its solution proves, not what it claims."""

    name = "highs"

    def __init__(self, *, raw: bool = False) -> None:
        self.raw = raw

    def prepare(self, rows: FloatArray, probs: FloatArray) -> object:
        """Nothing: every token's program is stated afresh."""
        return None

    def solve(self, program: Program, goal: Goal, prepared: object = None) -> Answer:
        """Solve to optimality within ``goal.time_limit_seconds``, then certify."""
        return self._solve(program, goal)[0]

    def claimed_threshold(self, program: Program, goal: Goal) -> float:
        """The critical threshold HiGHS itself reports, with no proof; NaN where it reports none."""
        return self._solve(program, goal)[1]

    def _solve(self, program: Program, goal: Goal) -> tuple[Answer, float]:
        highspy = _import_highspy()
        started = time.perf_counter()
        if trivial_fractions(program) is not None:
            answer = answer_from_solution(program, goal, None, None, iterations=0, seconds=0.0)
            return answer, answer.upper
        direction, fractions, claimed, iterations = (_solve_raw if self.raw else _solve_scaled)(
            highspy, program, goal
        )
        seconds = time.perf_counter() - started
        answer = answer_from_solution(
            program, goal, direction, fractions, iterations=iterations, seconds=seconds, polished=not self.raw
        )
        return answer, claimed


Solution = tuple[FloatArray | None, FloatArray | None, float, int]  # y, phi, claimed tau, iterations


def _solve_scaled(highspy: Any, program: Program, goal: Goal) -> Solution:
    stated = state(program)
    cost = np.eye(1, stated.upper.size)[0]
    # Presolve finds nothing in a dense program and, in hard cases, calls it infeasible.
    options = {"presolve": "off", "primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    values, duals, iterations = _run(highspy, cost, stated.matrix, stated.upper, stated.right, goal, options)
    direction = None if duals is None else stated.direction(duals)
    if values is None:
        return direction, None, float("nan"), iterations
    return direction, stated.fractions(program, values), float(values[0]) * stated.unit, iterations


def _solve_raw(highspy: Any, program: Program, goal: Goal) -> Solution:
    rows, probs = program.rows, program.probs
    tokens = other_tokens(program)
    matrix = np.column_stack((-rows @ probs, rows[:, tokens] * probs[tokens]))
    upper = np.concatenate(([np.inf], np.ones(tokens.size)))
    cost = -np.eye(1, upper.size)[0]
    values, duals, iterations = _run(highspy, cost, matrix, upper, np.zeros(rows.shape[0]), goal, {})
    if values is None:
        return duals, None, float("nan"), iterations
    phi = np.zeros_like(probs)
    phi[tokens] = 1.0 - values[1:]
    return duals, phi, 1.0 - float(values[0]), iterations


def _run(
    highspy: Any,
    cost: FloatArray,
    matrix: FloatArray,
    upper: FloatArray,
    right: FloatArray,
    goal: Goal,
    options: dict[str, Any],
) -> tuple[FloatArray | None, FloatArray | None, int]:
    """Minimise cost . x subject to matrix x = right, 0 <= x <= upper: values, row duals, iterations."""
    height, width = matrix.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = width, height
    model.col_cost_, model.col_lower_, model.col_upper_ = cost, np.zeros(width), upper
    model.row_lower_, model.row_upper_ = right, right
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.arange(0, height * width + 1, height, dtype=np.int32)
    model.a_matrix_.index_ = np.tile(np.arange(height, dtype=np.int32), width)
    model.a_matrix_.value_ = np.ascontiguousarray(matrix.T).ravel()
    solver = highspy.Highs()
    solver.silent()
    common = {"solver": "simplex", "threads": 1, "random_seed": 0, "time_limit": goal.time_limit_seconds}
    for name, value in (common | options).items():
        solver.setOptionValue(name, value)
    solver.passModel(model)
    solver.run()
    solution = solver.getSolution()
    values = np.array(solution.col_value) if solution.value_valid else None
    duals = np.array(solution.row_dual) if solution.dual_valid else None
    return values, duals, int(solver.getInfo().simplex_iteration_count)


def _import_highspy() -> Any:
    try:
        import highspy
    except ImportError as error:
        raise SolverUnavailableError(
            'solver "highs" needs the package highspy, which cannot be imported. Run "pip install highspy", '
            'or use solver="certified", which needs nothing more.'
        ) from error
    return highspy
