"""The certified solver: simplex on a growing working set, proved by full passes.

Works on the dual of ``bat.program``: c unknowns, one kink per token. Most of a context's mass lies
on a few hundred tokens, so the climb happens there, while the other tokens are held in two groups,
above zero and below, each acting as one heavy token at its centre (Portnoy and Koenker's "globbing").
Treating a group as one token restricts the primal, so every vertex on the way already proves an upper
bound; a pass over the vocabulary proves the lower bound and finds the tokens on the wrong side of
zero, which join the working set. Three rounds are typical.

    _context      what all tokens of a distribution share
    _workspace    the arrays of one program, and the state between its steps
    _simplex      steps on the working set
    _climb        the working set between passes: climbing, and learning from a pass
    _spreading    a refusal before the climb
    _sweep        passes over the vocabulary
    _solve        one program from start to answer
    _finish       what compiled code leaves to Python
"""

from __future__ import annotations

import math
import threading

import numpy as np

from bat.arrays import FloatArray, IntArray
from bat.blas_threads import single_threaded_blas
from bat.program import Answer, Certificate, Effort, Goal, Program, Solver
from bat.solvers import _rows, _solve
from bat.solvers._context import Prepared
from bat.solvers._finish import STATUSES, finish
from bat.solvers._solve import Question
from bat.solvers._workspace import Workspace, make_workspace
from bat.threads import run_in_threads

START_TOKENS = 640


class CertifiedSolver:
    """See the module's docstring. Compiled code releases the interpreter's lock: threads run in parallel."""

    name = "certified"

    def __init__(self, start_tokens: int = START_TOKENS) -> None:
        self.start_tokens = start_tokens
        self._local = threading.local()

    def prepare(self, rows: FloatArray, probs: FloatArray) -> Prepared:
        return Prepared(_writable(rows), _writable(probs), self.wanted(rows))

    def solve(self, program: Program, goal: Goal, prepared: object = None) -> Answer:
        shared = prepared if isinstance(prepared, Prepared) else self.prepare(program.rows, program.probs)
        question, space = as_question(goal), self.workspace(program.rows)
        begun = shared.core if _solve.asks_core(question) else shared.whole
        with single_threaded_blas():
            ended, space = _solve.solve(begun, program.token, question, space, False)
            answer, space = finish(shared, question, ended, space)
        self.keep(space)
        return answer

    def solve_rows(
        self,
        rows: FloatArray,
        probs: FloatArray,
        tokens: IntArray,
        goal: Goal,
        threads: int,
        thresholds: FloatArray | None = None,
    ) -> list[Answer | None]:
        """What ``solve`` answers for a token of each row of ``probs`` [B, v], in one compiled call a thread.

        With ``thresholds`` [B] each row is asked about its own; None where that needs no program.
        """
        taus = np.full(len(tokens), math.nan) if thresholds is None else thresholds
        programs = _rows.make_programs(_writable(rows), _writable(probs), tokens, taus, goal.prove)
        question = as_question(goal)
        finished: dict[int, Answer] = {}

        def work() -> None:
            space = self.workspace(rows)
            while True:
                row, ended, space = _rows.solve_rows(programs, question, self.wanted(rows), space)
                if row < 0:
                    break
                shared = self.prepare(rows, programs.probs[row])
                asked = question._replace(threshold=float(taus[row]))
                finished[row], space = finish(shared, asked, ended, space)
            self.keep(space)

        run_in_threads(work, lambda: programs.counter.fill(len(tokens)), min(threads, len(tokens)))
        return [
            finished[row] if row in finished else _answer(programs, row, goal.prove)
            for row in range(len(tokens))
        ]

    def wanted(self, rows: FloatArray) -> int:
        """How many heavy tokens a context starts with."""
        return max(self.start_tokens, 4 * int(rows.shape[0]))

    def workspace(self, rows: FloatArray) -> Workspace:
        """This thread's workspace for programs of these rows [r, v]."""
        space: Workspace | None = getattr(self._local, "space", None)
        if space is None or (space.own_column.size, space.side_of.size) != rows.shape:
            space = make_workspace(*rows.shape)
        return space

    def keep(self, space: Workspace) -> None:
        """Let this thread's next program use the workspace, which may have grown."""
        self._local.space = space


def as_batch_solver(solver: Solver) -> CertifiedSolver | None:
    """The solver, if it is ours: one that overrides ``solve`` wants to see every program."""
    ours = isinstance(solver, CertifiedSolver) and type(solver).solve is CertifiedSolver.solve
    return solver if ours else None  # type: ignore[return-value]


def as_question(goal: Goal) -> Question:
    """The goal in compiled code's words."""
    return Question(
        goal.tolerance,
        math.nan if goal.threshold is None else goal.threshold,
        goal.cap,
        goal.prove,
        goal.max_pivots,
        goal.time_limit_seconds,
    )


def _answer(programs: _rows.Programs, row: int, prove: bool) -> Answer | None:
    ended = int(programs.ended[row])
    if ended == _rows.UNASKED:
        return None
    certificate = None
    if prove or ended == _solve.TRIVIAL:
        size = int(programs.proof_sizes[row])
        certificate = Certificate(
            programs.directions[row].copy(),
            programs.proof_tokens[row, :size].copy(),
            programs.proof_fractions[row, :size].copy(),
        )
    effort = Effort(int(programs.pivots[row]), int(programs.passes[row]), float(programs.seconds[row]))
    return Answer(
        float(programs.lower[row]), float(programs.upper[row]), certificate, effort, STATUSES[ended]
    )


def _writable(array: FloatArray) -> FloatArray:
    """The array, or a copy of a read-only one: compiled code exists for one kind of array."""
    return array if array.flags.writeable and array.flags.c_contiguous else np.array(array, order="C")
