"""The exact set of tokens a basis-aware rule may sample from, over the whole vocabulary.

The paper calls this infeasible: one program a token would take hours. Here three kinds of proof are
tried from the cheapest to the dearest. Tokens at or above the threshold are members. Spreading
(``bat.spreading``) rejects nearly all of the rest in one matrix product. The few hundred that are left are
decided one by one by a solver, the certified one by default, which stops as soon as each is certain.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from bat import spreading
from bat.arrays import BoolArray, FloatArray, IntArray
from bat.basis import Basis
from bat.errors import InvalidInputError
from bat.program import NO_EFFORT, Answer, Effort, Program, Solver
from bat.solvers import get_solver
from bat.solvers.certified import CertifiedSolver
from bat.threads import map_in_threads, usable_threads
from bat.thresholds import Verdict, check_vocabulary, judge
from bat.validation import ArrayInput, as_probabilities, as_thresholds

DEFAULT_MAX_PROGRAMS = 20_000


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """Every token is in exactly one of ``accepted``, ``undecided`` and the certified rest."""

    accepted: IntArray  # token ids, ascending: certified, or at or above the threshold
    undecided: IntArray  # token ids, ascending: not settled within the budget, never guessed
    threshold: float
    vocabulary_size: int
    programs: int  # linear programs solved
    rejected_by_spreading: int  # tokens rejected by the one matrix product
    effort: Effort  # of the programs; seconds are the whole search's

    @property
    def exact(self) -> bool:
        return self.undecided.size == 0

    def mask(self) -> BoolArray:
        """Membership as booleans over the vocabulary."""
        member = np.zeros(self.vocabulary_size, dtype=np.bool_)
        member[self.accepted] = True
        return member


def candidate_set(
    basis: Basis,
    probs: ArrayInput,
    threshold: float,
    *,
    solver: str | Solver = "certified",
    max_programs: int = DEFAULT_MAX_PROGRAMS,
    time_limit_seconds: float = 60.0,
    threads: int | None = None,
) -> CandidateSet:
    """All tokens of one context accepted at ``threshold``.

    What ``max_programs`` and ``time_limit_seconds`` do not suffice to settle is returned as undecided, the
    least likely tokens first to be left out.
    """
    rows = as_probabilities(probs, single=True)
    if rows.shape[0] != 1:
        raise InvalidInputError(f"candidate_set takes one context; got {rows.shape[0]} rows. Loop over them.")
    check_vocabulary(basis, rows.shape[1], "probs")
    if isinstance(max_programs, bool) or max_programs < 0:
        raise InvalidInputError(f"max_programs must be an integer of at least 0; got {max_programs!r}.")
    tau = float(as_thresholds(threshold, 1)[0])
    return find_candidates(
        basis.rows,
        rows[0],
        tau,
        get_solver(solver),
        max_programs=max_programs,
        time_limit_seconds=time_limit_seconds,
        threads=usable_threads(threads),
    )


def find_candidates(
    rows: FloatArray,
    p: FloatArray,
    tau: float,
    solver: Solver,
    *,
    max_programs: int,
    time_limit_seconds: float,
    threads: int,
) -> CandidateSet:
    """``candidate_set`` behind the door: the inputs are checked."""
    began = time.perf_counter()
    accepted = p >= tau
    open_tokens = np.flatnonzero(~accepted & (p > 0.0))
    rejected = 0
    programs = 0
    effort = NO_EFFORT
    undecided = np.empty(0, np.int64)
    if rows.shape[0] > 1 and open_tokens.size:
        certified = solver if isinstance(solver, CertifiedSolver) else CertifiedSolver()
        shared = certified.prepare(rows, p)  # what spreading reads, whoever solves
        prepared = shared if solver is certified else solver.prepare(rows, p)
        left = open_tokens[spreading.upper_bounds(shared.core, open_tokens) > tau]
        rejected = open_tokens.size - left.size
        # Most likely first: if the budget ends, what is left undecided carries the least mass.
        left = left[np.argsort(-p[left], kind="stable")]

        def run(token: int) -> tuple[Verdict, Answer | None]:
            remaining = time_limit_seconds - (time.perf_counter() - began)
            if remaining <= 0.0:
                return Verdict.UNDECIDED, None
            program = Program(rows, p, token)
            return judge(solver, program, tau, prepared=prepared, time_limit_seconds=remaining)

        chosen = left[:max_programs]
        settled = map_in_threads(run, chosen.tolist(), threads)
        verdicts = np.array([verdict for verdict, _ in settled], dtype=object)
        accepted[chosen[verdicts == Verdict.ACCEPT]] = True
        undecided = np.sort(np.concatenate([chosen[verdicts == Verdict.UNDECIDED], left[max_programs:]]))
        answers = [answer for _, answer in settled if answer is not None]
        programs = len(answers)
        effort = sum((answer.effort for answer in answers), NO_EFFORT)
    return CandidateSet(
        accepted=np.flatnonzero(accepted),
        undecided=undecided,
        threshold=tau,
        vocabulary_size=p.size,
        programs=programs,
        rejected_by_spreading=int(rejected),
        effort=replace(effort, seconds=time.perf_counter() - began),
    )
