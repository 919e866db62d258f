"""The second half of sampling, on the host: the programs of the rows that ``bat.proposals`` left pending.

A pending row asks for a decision about its candidate. If that is rejected, the row draws its next candidate
from the distribution it was handed, at most ``max_tries`` in all; then comes the fallback: ``greedy``, the
paper's, takes the most likely token; ``exact`` draws from the exact candidate set, which the same solver
decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from bat._settle_rows import Rows, make_rows, settle_rows
from bat._wheel import Wheel
from bat.acceptance import Acceptance, check_fallback
from bat.arrays import AnyArray, FloatArray, IntArray
from bat.basis import Basis
from bat.candidates import DEFAULT_MAX_PROGRAMS, find_candidates
from bat.program import Answer, Efforts, Program, Solver
from bat.proposals import Proposals
from bat.solvers import check_solver, get_solver
from bat.solvers._finish import finish
from bat.solvers._solve import LAST_RESORT
from bat.solvers._workspace import Workspace
from bat.solvers.certified import CertifiedSolver, as_batch_solver, as_question
from bat.threads import run_in_threads, usable_threads
from bat.thresholds import check_vocabulary, decision_goal


@dataclass(frozen=True, slots=True)
class Samples:
    """One token per row and how it was found."""

    tokens: IntArray  # [B]
    probs: FloatArray  # [B] the token's probability under the model
    thresholds: FloatArray  # [B] the rule's threshold (NaN for a rule without one)
    acceptance: npt.NDArray[np.uint8]  # [B] Acceptance
    rejections: IntArray  # [B] candidates rejected before the token
    undecided: IntArray  # [B] of those, how many no bound could settle: passed over, not refuted
    programs: IntArray  # [B] linear programs solved, the exact fallback's included
    effort: Efforts  # what those programs cost
    rejected_tokens: tuple[tuple[int, ...], ...]  # the tokens rejected, in order


def settle(
    basis: Basis,
    proposals: Proposals,
    *,
    fallback: str = "greedy",
    solver: str | Solver = "certified",
    threads: int | None = None,
) -> Samples:
    """A token for each row, once the pending rows are decided. Tries are those the uniforms were made for."""
    check_vocabulary(basis, proposals.distributions.shape[1], "logits")
    check_fallback(fallback)
    if isinstance(solver, str):
        check_solver(solver)  # plain rules never ask for it, but a misspelt name is a mistake all the same
    pending = _decide(basis.rows, proposals, get_solver(solver), usable_threads(threads))
    for row in np.flatnonzero(pending.tokens < 0).tolist():
        _fall_back(pending, row, fallback, get_solver(solver), usable_threads(threads))
    return _samples(proposals, pending)


def _decide(rows: FloatArray, proposals: Proposals, solver: Solver, threads: int) -> Rows:
    """Let every pending row draw until a token is accepted or its tries are used up."""
    rows_pending = proposals.pending
    pending = make_rows(
        rows,
        np.ascontiguousarray(proposals.distributions),
        np.ascontiguousarray(proposals.uniforms),
        proposals.thresholds[rows_pending],
        proposals.tokens[rows_pending],
    )
    if not rows_pending.size:
        return pending
    goal = decision_goal()
    ours = as_batch_solver(solver)
    question, certified = as_question(goal), ours or CertifiedSolver()
    wanted = certified.wanted(rows)
    prepared: dict[int, object] = {}  # what another solver shares between the tries of a row

    def bounds(row: int, space: Workspace) -> tuple[Answer, Workspace]:
        tau, probs = float(pending.thresholds[row]), pending.probs[row]
        if ours is not None:
            return finish(ours.prepare(rows, probs), question._replace(threshold=tau), LAST_RESORT, space)
        if row not in prepared:
            prepared[row] = solver.prepare(rows, probs)
        program = Program(rows, probs, int(pending.candidates[row]))
        return solver.solve(program, replace(goal, threshold=tau), prepared[row]), space

    def work() -> None:
        row, space = -1, certified.workspace(rows)
        while True:
            row, space = settle_rows(pending, question, wanted, space, ours is not None, row)
            if row < 0:
                break
            answer, space = bounds(row, space)
            pending.lower[row], pending.upper[row] = answer.lower, answer.upper
            pending.pivots[row] += answer.effort.pivots
            pending.passes[row] += answer.effort.passes
            pending.seconds[row] += answer.effort.seconds
        certified.keep(space)

    count = rows_pending.size
    run_in_threads(work, lambda: pending.counter.fill(count), min(threads, count))
    return pending


def _fall_back(pending: Rows, row: int, fallback: str, solver: Solver, threads: int) -> None:
    """Give a row that used up its tries a token all the same."""
    probs, tau = pending.probs[row], float(pending.thresholds[row])
    if fallback == "greedy":
        pending.tokens[row], pending.acceptance[row] = probs.argmax(), Acceptance.GREEDY_FALLBACK
        return
    candidates = find_candidates(
        pending.rows,
        probs,
        tau,
        solver,
        max_programs=DEFAULT_MAX_PROGRAMS,
        time_limit_seconds=60.0,
        threads=threads,
    )
    members = np.zeros_like(probs)
    members[candidates.accepted] = probs[candidates.accepted]
    pending.tokens[row] = Wheel(members, 1).draw(float(pending.uniforms[row, -1]))
    pending.acceptance[row] = Acceptance.EXACT_FALLBACK
    pending.programs[row] += candidates.programs
    pending.undecided[row] += candidates.undecided.size
    pending.pivots[row] += candidates.effort.pivots
    pending.passes[row] += candidates.effort.passes
    pending.seconds[row] += candidates.effort.seconds


def _samples(proposals: Proposals, pending: Rows) -> Samples:
    """What was proposed, with the pending rows replaced by what became of them."""
    where = proposals.pending

    def spread(values: AnyArray) -> AnyArray:
        everywhere = np.zeros(len(proposals), values.dtype)
        everywhere[where] = values
        return everywhere

    tokens, probs = proposals.tokens.copy(), proposals.probs.copy()
    tokens[where] = pending.tokens
    probs[where] = pending.probs[np.arange(where.size), pending.tokens]
    rejected_tokens = list(proposals.rejected_tokens)
    for position, row in enumerate(where.tolist()):
        rejected = pending.rejected_tokens[position, : pending.rejections[position]]
        rejected_tokens[row] = tuple(rejected.tolist())
    return Samples(
        tokens=tokens,
        probs=probs,
        thresholds=proposals.thresholds,
        acceptance=spread(pending.acceptance),
        rejections=np.array([len(rejected) for rejected in rejected_tokens], dtype=np.int64),
        undecided=spread(pending.undecided),
        programs=spread(pending.programs),
        effort=Efforts(spread(pending.pivots), spread(pending.passes), spread(pending.seconds)),
        rejected_tokens=tuple(rejected_tokens),
    )
