"""Why a token was accepted or rejected, in words and numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bat import certificates
from bat.arrays import FloatArray, IntArray
from bat.basis import Basis
from bat.errors import BatError, InvalidInputError
from bat.program import Answer, Goal, Program
from bat.solvers import get_solver
from bat.thresholds import Verdict, check_vocabulary
from bat.validation import ArrayInput, as_probabilities, as_thresholds, as_tokens


@dataclass(frozen=True, slots=True)
class Change:
    """One token's part in the argument."""

    token: int
    probability: float
    replacement: float  # its probability in the witness (rejected), or its share of the proof (accepted)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer and its reasons. ``str()`` gives the words; the fields give the numbers.

    Rejected: ``witness`` is a distribution that gives the token nothing, agrees with the model in every kept
    direction, and exceeds no model probability by more than 1 / (1 - threshold); ``changes`` are the tokens
    it alters most. Accepted: ``direction`` proves that there is no such distribution, and ``changes`` are the
    tokens that weigh most against the proof, which together still fall short.
    """

    token: int
    probability: float
    threshold: float
    verdict: Verdict
    lower: float  # the critical threshold lies in [lower, upper]
    upper: float
    needed_program: bool
    witness: FloatArray | None  # [v]
    direction: FloatArray  # [r]
    changes: tuple[Change, ...]
    decode: Callable[[int], str] | None = None

    def __str__(self) -> str:
        return "\n".join(_sentences(self))


def explain(
    basis: Basis,
    probs: ArrayInput,
    token: int,
    threshold: float,
    *,
    decode: Callable[[int], str] | None = None,
    top: int = 8,
) -> Explanation:
    """Explain one token of one context at a threshold. ``decode`` turns ids into text for the words."""
    rows = as_probabilities(probs, single=True)
    if rows.shape[0] != 1:
        raise InvalidInputError(f"explain takes one context; got a batch of {rows.shape[0]}. Pick a row.")
    check_vocabulary(basis, rows.shape[1], "probs")
    program = Program(basis.rows, rows[0], int(as_tokens([token], 1, rows.shape[1])[0]))
    tau = float(as_thresholds(threshold, 1)[0])
    own = float(program.probs[program.token])
    answer = _solve(program, tau)
    verdict = Verdict.UNDECIDED
    if own >= tau or answer.lower > tau:
        verdict = Verdict.ACCEPT
    elif answer.upper <= tau:
        verdict = Verdict.REJECT
    proof = answer.certificate
    if proof is None:  # never with the default goal, which keeps one
        raise BatError("the solver kept no certificate, so there is nothing to explain")
    witness = None
    if verdict is Verdict.REJECT:
        witness = certificates.witness(program, certificates.expand(program, proof))
        changes = _changes(program, witness, np.argsort(-np.abs(witness - program.probs))[: top + 1])
    else:
        against = program.probs * np.maximum(-(proof.direction @ program.rows), 0.0)
        total = float(program.probs[program.token] * (proof.direction @ program.rows[:, program.token]))
        share = against / total if total > 0.0 else against
        changes = _changes(program, share, np.argsort(-share, kind="stable")[:top])
        changes = tuple(change for change in changes if change.replacement > 0.0)
    return Explanation(
        token=program.token,
        probability=own,
        threshold=tau,
        verdict=verdict,
        lower=answer.lower,
        upper=answer.upper,
        needed_program=own < tau,
        witness=witness,
        direction=proof.direction,
        changes=changes,
        decode=decode,
    )


def _solve(program: Program, tau: float) -> Answer:
    """Close the interval; where the threshold still lies inside, try as hard as float64 allows."""
    solver = get_solver("certified")
    answer = solver.solve(program, Goal(1e-6))
    if answer.lower <= tau < answer.upper:
        answer = solver.solve(program, Goal(1e-11))
    return answer


def _changes(program: Program, values: FloatArray, order: IntArray) -> tuple[Change, ...]:
    return tuple(
        Change(int(j), float(program.probs[j]), float(values[j])) for j in order if int(j) != program.token
    )


def _sentences(e: Explanation) -> list[str]:
    def name(token: int) -> str:
        return f"token {token}" if e.decode is None else f"{e.decode(token)!r} ({token})"

    critical = f"{e.lower:.6g}" if e.upper - e.lower <= 1e-5 * e.upper else f"{e.lower:.9g} to {e.upper:.9g}"
    lines = [
        f"{name(e.token)} has probability {e.probability:.6g} and critical threshold {critical}: "
        + ("no threshold rejects it." if e.upper >= 1.0 and e.lower > 0.999999 else
           "it is accepted below that threshold and rejected from it on.")
    ]  # fmt: skip
    if not e.needed_program:
        lines.append(f"At threshold {e.threshold:.6g} it is accepted outright: it is not less likely.")
    elif e.verdict is Verdict.REJECT:
        lines += [
            f"At threshold {e.threshold:.6g} it is rejected: the model's output is also explained by a "
            "distribution that never produces it,",
            "equal to the model's in every kept direction and at most "
            f"{1 / (1 - e.threshold):.6g} times any of its probabilities. The largest changes:",
        ]
        lines += [f"  {name(c.token)}: {c.probability:.6g} becomes {c.replacement:.6g}" for c in e.changes]
    elif e.verdict is Verdict.ACCEPT:
        lines.append(
            f"At threshold {e.threshold:.6g} it is accepted although less likely: every distribution "
            "without it differs from the model's in a kept direction, or exceeds it too far."
        )
        if e.changes:
            lines.append("Tokens that weigh most against the proof, as shares of its weight:")
            lines += [
                f"  {name(c.token)} (probability {c.probability:.6g}): {c.replacement:.4%}" for c in e.changes
            ]
    else:
        lines.append(f"At threshold {e.threshold:.6g} it is undecided: float64 cannot tell the two apart.")
    return lines
