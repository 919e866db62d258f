"""Critical thresholds and decisions for batches of (context, token) pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from bat.arrays import BoolArray, FloatArray, IntArray
from bat.basis import Basis
from bat.errors import InvalidInputError
from bat.program import NO_EFFORT, Answer, Certificate, Efforts, Goal, Program, Solver, Status
from bat.solvers import get_solver
from bat.solvers.certified import as_batch_solver
from bat.threads import map_in_threads, usable_threads
from bat.validation import ArrayInput, as_probabilities, as_thresholds, as_tokens

# Two thresholds closer than this cannot be told apart by float64 sums over a vocabulary.
DECISION_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class CriticalThresholds:
    """Certified intervals, one per row: ``lower <= tau* <= upper``.

    The token is accepted at every threshold below ``lower`` and rejected at every threshold from ``upper``
    on. ``certificates`` prove both bounds; ``bat.certificates`` checks them.
    """

    lower: FloatArray  # [B]
    upper: FloatArray  # [B]
    certificates: tuple[Certificate | None, ...]
    status: tuple[Status, ...]
    effort: Efforts
    solver: str

    @property
    def closed(self) -> BoolArray:
        """Which intervals reached the tolerance."""
        return np.array([status is Status.CLOSED for status in self.status])


class Verdict(StrEnum):
    """What is certain about a token at a threshold."""

    ACCEPT = "accept"
    REJECT = "reject"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Decisions:
    """A verdict per row, with the interval that supports it. Undecided is neither accept nor reject."""

    verdicts: tuple[Verdict, ...]
    lower: FloatArray  # [B]
    upper: FloatArray  # [B]
    used_program: BoolArray  # [B]: False where the token is at or above the threshold, or impossible
    certificates: tuple[Certificate | None, ...]
    effort: Efforts
    solver: str

    @property
    def accepted(self) -> BoolArray:
        return np.array([verdict is Verdict.ACCEPT for verdict in self.verdicts])

    @property
    def rejected(self) -> BoolArray:
        return np.array([verdict is Verdict.REJECT for verdict in self.verdicts])

    @property
    def undecided(self) -> BoolArray:
        return np.array([verdict is Verdict.UNDECIDED for verdict in self.verdicts])


def critical_thresholds(
    basis: Basis,
    probs: ArrayInput,
    tokens: ArrayInput,
    solver: str | Solver = "certified",
    tolerance: float = 1e-6,
    *,
    cap: float = 1.0,
    threads: int | None = None,
    time_limit_seconds: float = 60.0,
) -> CriticalThresholds:
    """The critical threshold of one token in each row of ``probs`` [B, v].

    Intervals are closed to ``upper - lower <= tolerance * upper``, or until the lower bound passes ``cap``
    (nobody samples with a threshold above one half: a cap saves the hardest solves). A row that runs out of
    time keeps its valid, wider interval and says so in ``status``.
    """
    checked, ids = _checked(basis, probs, tokens)
    goal = Goal(_as_tolerance(tolerance), cap=cap, time_limit_seconds=time_limit_seconds)
    chosen = get_solver(solver)
    answers = _solve_rows(chosen, basis.rows, checked, ids, goal, usable_threads(threads))
    return CriticalThresholds(
        lower=np.array([answer.lower for answer in answers]),
        upper=np.array([answer.upper for answer in answers]),
        certificates=tuple(answer.certificate for answer in answers),
        status=tuple(answer.status for answer in answers),
        effort=Efforts.of([answer.effort for answer in answers]),
        solver=chosen.name,
    )


def decide(
    basis: Basis,
    probs: ArrayInput,
    tokens: ArrayInput,
    thresholds: ArrayInput,
    solver: str | Solver = "certified",
    *,
    certificates: bool = False,
    threads: int | None = None,
    time_limit_seconds: float = 60.0,
) -> Decisions:
    """Whether each token is accepted at its threshold, stopping as soon as that is certain.

    A token at or above its threshold is accepted without a program, ties included. ``certificates`` keeps
    the proofs, which costs about as much again as the decisions.
    """
    checked, ids = _checked(basis, probs, tokens)
    taus = as_thresholds(thresholds, len(ids))
    chosen = get_solver(solver)

    goal = decision_goal(prove=certificates, time_limit_seconds=time_limit_seconds)
    answers = _solve_rows(chosen, basis.rows, checked, ids, goal, usable_threads(threads), taus)
    own = checked[np.arange(len(ids)), ids]
    lower = np.array([own[q] if a is None else a.lower for q, a in enumerate(answers)])
    # Without a program nothing bounds tau* from above, except that an impossible token has tau* = 0.
    upper = np.array([float(own[q] > 0.0) if a is None else a.upper for q, a in enumerate(answers)])
    return Decisions(
        verdicts=tuple(_verdict(*row) for row in zip(own.tolist(), taus.tolist(), answers, strict=True)),
        lower=lower,
        upper=upper,
        used_program=np.array([answer is not None for answer in answers], dtype=np.bool_),
        certificates=tuple(None if answer is None else answer.certificate for answer in answers),
        effort=Efforts.of([NO_EFFORT if answer is None else answer.effort for answer in answers]),
        solver=chosen.name,
    )


def judge(
    solver: Solver,
    program: Program,
    threshold: float,
    *,
    prepared: object = None,
    prove: bool = False,
    time_limit_seconds: float = 60.0,
) -> tuple[Verdict, Answer | None]:
    """The verdict on one token; no answer where none was needed."""
    own = float(program.probs[program.token])
    answer = None
    if 0.0 < own < threshold:
        goal = decision_goal(prove=prove, time_limit_seconds=time_limit_seconds)
        answer = solver.solve(program, replace(goal, threshold=threshold), prepared)
    return _verdict(own, threshold, answer), answer


def decision_goal(*, prove: bool = False, time_limit_seconds: float = 60.0) -> Goal:
    """The goal of a decision, but for its threshold."""
    return Goal(DECISION_TOLERANCE, prove=prove, time_limit_seconds=time_limit_seconds)


def _verdict(own: float, threshold: float, answer: Answer | None) -> Verdict:
    if answer is None:
        return Verdict.ACCEPT if own >= threshold else Verdict.REJECT
    if answer.lower > threshold:
        return Verdict.ACCEPT
    if answer.upper <= threshold:
        return Verdict.REJECT
    return Verdict.UNDECIDED


def _solve_rows(
    solver: Solver,
    rows: FloatArray,
    probs: FloatArray,
    tokens: IntArray,
    goal: Goal,
    threads: int,
    thresholds: FloatArray | None = None,
) -> list[Answer | None]:
    """An answer for each row; with thresholds, None where the token needs no program at its own."""
    ours = as_batch_solver(solver)
    if ours is not None:
        return ours.solve_rows(rows, probs, tokens, goal, threads, thresholds)

    def run(row: int) -> Answer | None:
        program = Program(rows, probs[row], int(tokens[row]))
        if thresholds is None:
            return solver.solve(program, goal)
        return judge(
            solver,
            program,
            float(thresholds[row]),
            prove=goal.prove,
            time_limit_seconds=goal.time_limit_seconds,
        )[1]

    return map_in_threads(run, range(len(tokens)), threads)


def _checked(basis: Basis, probs: ArrayInput, tokens: ArrayInput) -> tuple[FloatArray, IntArray]:
    checked = as_probabilities(probs)
    check_vocabulary(basis, checked.shape[1], "probs")
    return checked, as_tokens(tokens, len(checked), checked.shape[1])


def check_vocabulary(basis: Basis, size: int, name: str) -> None:
    """Raise for rows that do not have one column for each token of the basis."""
    if size != basis.vocabulary_size:
        raise InvalidInputError(
            f"{name} must have one column for each of the basis's {basis.vocabulary_size} tokens; "
            f"got {size}. Build the basis from the same model's output matrix."
        )


def _as_tolerance(tolerance: float) -> float:
    if not 1e-12 <= tolerance < 1.0:
        raise InvalidInputError(f"tolerance must lie in [1e-12, 1); got {tolerance}. The default is 1e-6.")
    return float(tolerance)
