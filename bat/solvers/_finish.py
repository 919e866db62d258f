"""The end of a program in Python: the answer, and the rare steps that compiled code leaves undone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bat import certificates
from bat._machine import seconds
from bat.arrays import FloatArray
from bat.program import Answer, Certificate, Effort, Program, Status
from bat.solvers import _blas, _climb, _solve
from bat.solvers._context import Context, Prepared, fill_direction
from bat.solvers._simplex import EMPTY
from bat.solvers._solve import Question
from bat.solvers._workspace import ABOVE_GROUP, BELOW_GROUP, Workspace

STATUSES = {
    _solve.CLOSED: Status.CLOSED,
    _solve.DECIDED: Status.DECIDED,
    _solve.ABOVE_CAP: Status.ABOVE_CAP,
    _solve.TRIVIAL: Status.CLOSED,
}


def finish(prepared: Prepared, question: Question, ended: int, space: Workspace) -> tuple[Answer, Workspace]:
    """The answer to the program in the workspace, however its solve ended."""
    try:
        return _finish(prepared, question, ended, space)
    except np.linalg.LinAlgError:  # this row has no answer; others do
        state = space.state[0]
        own, first = float(state["mass"]), np.eye(1, space.direction.size)[0]
        certificate = Certificate(first, np.empty(0, np.int64), np.empty(0))
        return Answer(own, 1.0, certificate, _effort(space), Status.FAILED), space


def _finish(prepared: Prepared, question: Question, ended: int, space: Workspace) -> tuple[Answer, Workspace]:
    while ended == _solve.UNPROVEN:
        answer = _prove(prepared.whole, question, space)
        closing = space.state[0]["status"] == _solve.CLOSED
        if not closing or answer.status is Status.CLOSED:
            return answer, space
        ended, space = _solve.solve(prepared.whole, space.state[0]["token"], question, space, True)
    if ended == _solve.LAST_RESORT:
        return _last_resort(prepared.whole, question, space), space
    return _answer(space, question.prove or ended == _solve.TRIVIAL), space


def _answer(space: Workspace, proven: bool) -> Answer:
    """What stands in the state."""
    state = space.state[0]
    size = int(state["proof_size"])
    proof = space.proof_tokens[:size].copy(), space.proof_fractions[:size].copy()
    certificate = Certificate(space.direction.copy(), *proof) if proven else None
    lower, upper = float(state["lower"]), float(state["upper"])
    return Answer(lower, upper, certificate, _effort(space), STATUSES[int(state["status"])])


def _effort(space: Workspace) -> Effort:
    state = space.state[0]
    return Effort(int(state["pivots"]), int(state["passes"]), seconds() - float(state["began"]))


def _program(context: Context, space: Workspace) -> Program:
    return Program(context.rows, context.probs, int(space.state[0]["token"]))


def _prove(context: Context, question: Question, space: Workspace) -> Answer:
    """The upper bound the vertex proves, with what is needed to check it."""
    state = space.state[0]
    status = STATUSES[int(state["status"])]
    if status is Status.CLOSED and not _climb.group_is_pinned(space):
        pinned, system, fixed = _climb.pinned_system(context, space)
        if _solve.prove(question, space, pinned, system, fixed, _solution(system, fixed)):
            return _answer(space, True)
    program, lower = _program(context, space), float(state["lower"])
    upper, repaired = certificates.upper_bound(program, _all_fractions(context, space))
    certificate = certificates.compress(program, space.direction, repaired)
    if status is Status.CLOSED and upper - lower > question.tolerance * upper:
        status = Status.UNFINISHED
    return Answer(lower, max(upper, lower), certificate, _effort(space), status)


def _last_resort(context: Context, question: Question, space: Workspace) -> Answer:
    """The best vertex is found but the quick bounds do not meet: spend more on their rounding."""
    program, lower, direction = _program(context, space), float(space.state[0]["lower"]), space.direction
    for candidate in (direction.copy(), *_refined_directions(context, space)):
        bound, proven = certificates.certify_direction(program, candidate)
        if bound > lower:
            lower, direction = bound, proven
    upper, fractions = certificates.upper_bound(program, _all_fractions(context, space))
    certificate = certificates.compress(program, direction, fractions)
    closed = upper - lower <= question.tolerance * upper
    status = Status.CLOSED if closed else Status.UNFINISHED
    return Answer(lower, max(upper, lower), certificate, _effort(space), status)


def _solution(system: FloatArray, fixed: FloatArray) -> FloatArray:
    """The solution of ``_climb.pinned_system``; by least squares where slots are empty or it is singular."""
    solution = np.empty(fixed.size)
    if system.shape[0] == system.shape[1] and _blas.solve_twice(system, fixed, solution):
        return solution
    return np.asarray(np.linalg.lstsq(system, fixed, rcond=None)[0])


def _refined_directions(context: Context, space: Workspace) -> Iterator[FloatArray]:
    """The vertex's direction solved afresh in the basis's own coordinates: b . y = 1, a_B . y = 0.

    First near the point where the climb ended. Then, because empty slots leave it free to wander off
    along directions that no token notices, the shortest.
    """
    pinned = space.basis[space.basis != EMPTY]
    shortest: FloatArray = np.linalg.lstsq(space.by_token[pinned], -np.ones(pinned.size), rcond=None)[
        0
    ].astype(np.float64)
    system = np.vstack([context.mean, space.columns[:, pinned].T])  # [1 + pinned, r]
    right = np.eye(1, pinned.size + 1)[0]
    for u in (space.u, shortest):
        y = np.empty(context.mean.size)
        fill_direction(context, u, y)
        for _ in range(3):
            y = y + np.linalg.lstsq(system, right - system @ y, rcond=None)[0]
        yield y


def _all_fractions(context: Context, space: Workspace) -> FloatArray:
    """phi over the whole vocabulary, as the climb stands."""
    _climb.publish_sides(context, space)
    phi = np.where(space.side_of < 0.0, 1.0, 0.0)
    pinned, system, fixed = _climb.pinned_system(context, space)
    fractions = _solution(system, fixed)[1:] / space.mass[pinned]
    outside = space.outside > 0.0
    for slot, fraction in zip(pinned, fractions, strict=True):
        if slot == ABOVE_GROUP:
            phi[outside & (space.side_of > 0.0)] = fraction
        elif slot == BELOW_GROUP:
            phi[outside & (space.side_of < 0.0)] = fraction
        else:
            phi[space.tokens[slot]] = fraction
    phi[int(space.state[0]["token"])] = 0.0
    return np.asarray(phi)
