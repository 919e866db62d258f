import time

import numpy as np
from scipy.optimize import linprog

from bat.arrays import FloatArray
from bat.program import Answer, Goal, Program
from bat.solvers.reference import answer_from_solution, state, trivial_fractions


class ScipySolver:
    """The whole program through scipy."""

    name = "scipy"

    def prepare(self, rows: FloatArray, probs: FloatArray) -> object:
        return None  # what all tokens of a distribution share: nothing here

    def solve(self, program: Program, goal: Goal, prepared: object = None) -> Answer:
        if trivial_fractions(program) is not None:
            return answer_from_solution(program, goal, None, None, iterations=0, seconds=0.0)
        began, stated = time.perf_counter(), state(program)
        cost = np.eye(1, len(stated.upper))[0]
        bounds = np.column_stack((np.zeros_like(cost), stated.upper))
        solution = linprog(cost, A_eq=stated.matrix, b_eq=stated.right, bounds=bounds)
        return answer_from_solution(
            program,
            goal,
            stated.direction(solution.eqlin.marginals) if solution.success else None,
            stated.fractions(program, solution.x) if solution.success else None,
            iterations=solution.nit,
            seconds=time.perf_counter() - began,
        )
