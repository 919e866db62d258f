"""Sampling a next token for each row of a batch.

Candidates are drawn from the model's distribution without replacement, in an order that the random
numbers alone decide, and the first one the rule accepts is taken. That has the distribution of a draw
from the rule's candidate set: in successive draws without replacement, the first member of any set C to
appear is token i of C with probability p_i / sum_C p_j, whatever is drawn before it. So one draw is
usually enough, the whole candidate set is never needed, and rules that share random numbers mostly agree
on their tokens, which makes comparisons between rules sharper.

A token at or above the threshold needs no program. Below it a basis-aware rule asks for a decision, at
most ``max_tries`` times; then comes the fallback: ``greedy``, the paper's, takes the most likely token;
``exact`` draws from the exact candidate set, which the same solver decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bat._wheel import Wheel, draw_kept
from bat.acceptance import Acceptance, check_fallback
from bat.arrays import FloatArray, IntArray
from bat.basis import Basis
from bat.candidates import DEFAULT_MAX_PROGRAMS, find_candidates
from bat.errors import InvalidInputError
from bat.program import NO_EFFORT, Efforts, Program, Solver
from bat.rules import Rule, Summary, ThresholdRule, check_rule
from bat.solvers import check_solver, get_solver
from bat.threads import map_in_threads, usable_threads
from bat.thresholds import Verdict, check_vocabulary, settle
from bat.validation import ArrayInput, softmax_with_entropy


@dataclass(frozen=True, slots=True)
class Samples:
    """One token per row and how it was found."""

    tokens: IntArray  # [B]
    probs: FloatArray  # [B] the token's probability under the model
    thresholds: FloatArray  # [B] the rule's threshold (NaN for a rule without one)
    acceptance: npt.NDArray[np.uint8]  # [B] Acceptance
    refusals: IntArray  # [B] candidates rejected before the token
    undecided: IntArray  # [B] of those, how many no bound could settle: passed over, not refuted
    programs: IntArray  # [B] linear programs solved, the exact fallback's included
    effort: Efforts  # what those programs cost
    refused: tuple[tuple[int, ...], ...]  # the tokens rejected, in order


def draws_needed(max_tries: int) -> int:
    """How many uniform numbers a row needs."""
    return max_tries + 1


def sample(
    basis: Basis,
    logits: ArrayInput,
    rule: Rule,
    uniforms: npt.ArrayLike,
    *,
    max_tries: int = 10,
    fallback: str = "greedy",
    solver: str | Solver = "certified",
    threads: int | None = None,
) -> Samples:
    """Sample one token for each row of ``logits`` [B, v] under ``rule``.

    ``uniforms`` [B, max_tries + 1] in [0, 1) come from ``bat.uniforms``; the result is a function of a row's
    logits and uniforms alone, whatever else is in the batch.
    """
    threads = usable_threads(threads)
    probs, entropy = softmax_with_entropy(logits, threads=threads)
    check_vocabulary(basis, probs.shape[1], "logits")
    numbers = _checked_uniforms(uniforms, len(probs), max_tries)
    check_rule(rule)
    check_fallback(fallback)
    if isinstance(solver, str):
        check_solver(solver)  # plain rules never ask for it, but a misspelt name is a mistake all the same
    summary = Summary(probs, entropy)
    taus = rule.thresholds(summary) if isinstance(rule, ThresholdRule) else np.full(len(probs), np.nan)
    if not rule.basis_aware:
        return _sample_plain(probs, rule, summary, taus, numbers, threads)
    batch = _Batch(basis.rows, probs, taus, numbers, get_solver(solver), threads)
    batch.draw(max_tries)
    batch.fall_back(fallback, max_tries)
    return batch.samples()


def _sample_plain(
    probs: FloatArray, rule: Rule, summary: Summary, taus: FloatArray, numbers: FloatArray, threads: int
) -> Samples:
    """The same successive draws, but membership is known: after the last number, draw among the kept."""
    batch = len(probs)
    by_threshold = type(rule).keep is ThresholdRule.keep  # else the rule has its own idea of what to keep
    keep = None if by_threshold else rule.keep(summary)
    nothing = np.empty(0, np.bool_)

    def run(row: int) -> tuple[int, tuple[int, ...]]:
        removed = np.empty(numbers.shape[1], np.int64)
        kept = nothing if keep is None else keep[row]
        if kept.size and np.count_nonzero(kept) == 1:  # greedy, or nothing else survives: no draw is needed
            return int(kept.argmax()), ()
        token, count = draw_kept(probs[row], taus[row], kept, numbers[row], removed)
        return int(token), tuple(removed[:count].tolist())

    drawn = map_in_threads(run, range(batch), threads)
    tokens = np.array([token for token, _ in drawn], dtype=np.int64)
    zeros = np.zeros(batch, np.int64)
    return Samples(
        tokens=tokens,
        probs=probs[np.arange(batch), tokens],
        thresholds=taus,
        acceptance=np.full(batch, Acceptance.THRESHOLD, np.uint8),
        refusals=np.array([len(refused) for _, refused in drawn], dtype=np.int64),
        undecided=zeros,
        programs=zeros,
        effort=Efforts.of([NO_EFFORT] * batch),
        refused=tuple(refused for _, refused in drawn),
    )


class _Batch:
    """Rows of a basis-aware rule on their way to a token."""

    def __init__(
        self,
        rows: FloatArray,
        probs: FloatArray,
        taus: FloatArray,
        numbers: FloatArray,
        solver: Solver,
        threads: int,
    ) -> None:
        size = len(probs)
        self.rows, self.probs, self.taus, self.numbers = rows, probs, taus, numbers
        self.solver, self.threads = solver, threads
        self.tokens = np.full(size, -1, np.int64)
        self.acceptance = np.zeros(size, np.uint8)
        self.undecided, self.programs = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.efforts = [NO_EFFORT] * size
        self.refused: list[list[int]] = [[] for _ in range(size)]

    def draw(self, max_tries: int) -> None:
        """Each row draws until a token is accepted or its tries are used up; rows are independent."""
        map_in_threads(lambda row: self._draw_row(row, max_tries), range(len(self.tokens)), self.threads)

    def _draw_row(self, row: int, max_tries: int) -> None:
        wheel = Wheel(self.probs[row], max_tries)
        prepared: object = None
        for attempt in range(max_tries):
            token = wheel.draw(float(self.numbers[row, attempt]))
            if token < 0:
                return
            if self.probs[row, token] >= self.taus[row]:
                self.tokens[row] = token
                self.acceptance[row] = Acceptance.THRESHOLD
                return
            if prepared is None:
                prepared = self.solver.prepare(self.rows, self.probs[row])
            program = Program(self.rows, self.probs[row], token)
            verdict, answer = settle(self.solver, program, float(self.taus[row]), prepared=prepared)
            if answer is not None:
                self.programs[row] += 1
                self.efforts[row] += answer.effort
            if verdict is Verdict.ACCEPT:
                self.tokens[row] = token
                self.acceptance[row] = Acceptance.CERTIFIED
                return
            self.undecided[row] += verdict is Verdict.UNDECIDED
            self.refused[row].append(token)
            wheel.remove(token)

    def fall_back(self, fallback: str, max_tries: int) -> None:
        for row in np.flatnonzero(self.tokens < 0):
            if fallback == "greedy":
                self.tokens[row] = int(self.probs[row].argmax())
                self.acceptance[row] = Acceptance.GREEDY_FALLBACK
                continue
            candidates = find_candidates(
                self.rows,
                self.probs[row],
                float(self.taus[row]),
                self.solver,
                max_programs=DEFAULT_MAX_PROGRAMS,
                time_limit_seconds=60.0,
                threads=self.threads,
            )
            members = np.zeros_like(self.probs[row])
            members[candidates.accepted] = self.probs[row, candidates.accepted]
            self.tokens[row] = Wheel(members, 1).draw(float(self.numbers[row, max_tries]))
            self.acceptance[row] = Acceptance.EXACT_FALLBACK
            self.programs[row] += candidates.programs
            self.undecided[row] += candidates.undecided.size
            self.efforts[row] += candidates.effort

    def samples(self) -> Samples:
        return Samples(
            tokens=self.tokens,
            probs=self.probs[np.arange(len(self.tokens)), self.tokens],
            thresholds=self.taus,
            acceptance=self.acceptance,
            refusals=np.array([len(tokens) for tokens in self.refused], dtype=np.int64),
            undecided=self.undecided,
            programs=self.programs,
            effort=Efforts.of(self.efforts),
            refused=tuple(tuple(tokens) for tokens in self.refused),
        )


def _checked_uniforms(uniforms: npt.ArrayLike, batch: int, max_tries: int) -> FloatArray:
    if isinstance(max_tries, bool) or not isinstance(max_tries, int) or max_tries < 1:
        raise InvalidInputError(
            f"max_tries must be an integer of at least 1; got {max_tries!r}. The paper uses 10."
        )
    numbers = np.asarray(uniforms, dtype=np.float64)
    needed = draws_needed(max_tries)
    if numbers.ndim != 2 or numbers.shape[0] != batch or numbers.shape[1] < needed:
        raise InvalidInputError(
            f"uniforms must have shape [{batch}, {needed}] or wider: a row for each row of logits, with "
            f"max_tries + 1 numbers; got {list(numbers.shape)}. Make them with bat.uniforms."
        )
    if not ((numbers >= 0.0) & (numbers < 1.0)).all():
        raise InvalidInputError("uniforms must lie in [0, 1). Make them with bat.uniforms.")
    return numbers[:, :needed]
