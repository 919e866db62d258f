"""The second half of sampling, on the host: the programs of the rows that ``bat.proposals`` left pending.

A pending row asks for a decision about its candidate. If that is rejected, the row draws its next candidate
from the distribution it was handed, at most ``max_tries`` in all; then comes the fallback: ``greedy``, the
paper's, takes the most likely token; ``exact`` draws from the exact candidate set, which the same solver
decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat._wheel import Wheel
from bat.acceptance import Acceptance, check_fallback
from bat.arrays import FloatArray, IntArray
from bat.basis import Basis
from bat.candidates import DEFAULT_MAX_PROGRAMS, find_candidates
from bat.program import NO_EFFORT, Efforts, Program, Solver
from bat.proposals import Proposals
from bat.solvers import check_solver, get_solver
from bat.threads import map_in_threads, usable_threads
from bat.thresholds import Verdict, check_vocabulary, judge


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
    threads = usable_threads(threads)
    rows = [_Row(basis.rows, proposals, position) for position in range(proposals.pending.size)]
    if rows:
        chosen = get_solver(solver)
        map_in_threads(lambda row: row.draw(chosen), rows, threads)
        for row in rows:
            if row.token < 0:
                row.fall_back(fallback, chosen, threads)
    return _samples(proposals, rows)


class _Row:
    """A pending row on its way to a token."""

    def __init__(self, rows: FloatArray, proposals: Proposals, position: int) -> None:
        row = int(proposals.pending[position])
        self.rows, self.probs = rows, proposals.distributions[position]
        self.numbers = proposals.uniforms[position]
        self.tau, self.candidate = float(proposals.thresholds[row]), int(proposals.tokens[row])
        self.max_tries = self.numbers.size - 1
        self.token = -1
        self.acceptance = Acceptance.THRESHOLD
        self.undecided, self.programs = 0, 0
        self.effort = NO_EFFORT
        self.rejected_tokens: list[int] = []

    def draw(self, solver: Solver) -> None:
        """Draw until a token is accepted or the tries are used up."""
        wheel = Wheel(self.probs, self.max_tries)
        prepared = solver.prepare(self.rows, self.probs)
        token = self.candidate
        while token >= 0:
            verdict, answer = judge(
                solver, Program(self.rows, self.probs, token), self.tau, prepared=prepared
            )
            if answer is not None:
                self.programs += 1
                self.effort += answer.effort
            if verdict is Verdict.ACCEPT:
                self.token = token
                self.acceptance = Acceptance.THRESHOLD if answer is None else Acceptance.CERTIFIED
                return
            self.undecided += verdict is Verdict.UNDECIDED
            self.rejected_tokens.append(token)
            wheel.remove(token)
            tries = len(self.rejected_tokens)
            token = wheel.draw(float(self.numbers[tries])) if tries < self.max_tries else -1

    def fall_back(self, fallback: str, solver: Solver, threads: int) -> None:
        if fallback == "greedy":
            self.token, self.acceptance = int(self.probs.argmax()), Acceptance.GREEDY_FALLBACK
            return
        candidates = find_candidates(
            self.rows,
            self.probs,
            self.tau,
            solver,
            max_programs=DEFAULT_MAX_PROGRAMS,
            time_limit_seconds=60.0,
            threads=threads,
        )
        members = np.zeros_like(self.probs)
        members[candidates.accepted] = self.probs[candidates.accepted]
        self.token = Wheel(members, 1).draw(float(self.numbers[self.max_tries]))
        self.acceptance = Acceptance.EXACT_FALLBACK
        self.programs += candidates.programs
        self.undecided += candidates.undecided.size
        self.effort += candidates.effort


def _samples(proposals: Proposals, rows: list[_Row]) -> Samples:
    """What was proposed, with the pending rows replaced by what became of them."""
    batch, pending = len(proposals), proposals.pending
    tokens, probs = proposals.tokens.copy(), proposals.probs.copy()
    acceptance = np.full(batch, Acceptance.THRESHOLD, np.uint8)
    undecided, programs = np.zeros(batch, np.int64), np.zeros(batch, np.int64)
    efforts, rejected_tokens = [NO_EFFORT] * batch, list(proposals.rejected_tokens)
    for q, row in zip(pending.tolist(), rows, strict=True):
        tokens[q], probs[q], acceptance[q] = row.token, row.probs[row.token], row.acceptance
        undecided[q], programs[q], efforts[q] = row.undecided, row.programs, row.effort
        rejected_tokens[q] = tuple(row.rejected_tokens)
    return Samples(
        tokens=tokens,
        probs=probs,
        thresholds=proposals.thresholds,
        acceptance=acceptance,
        rejections=np.array([len(rejected) for rejected in rejected_tokens], dtype=np.int64),
        undecided=undecided,
        programs=programs,
        effort=Efforts.of(efforts),
        rejected_tokens=tuple(rejected_tokens),
    )
