"""Sampling a next token for each row of a batch, in two halves.

    propose    where the logits are: softmax, thresholds, a candidate for each row    (bat.proposals)
    settle     on the host: the programs of candidates below their thresholds         (bat.settling)

Callers that have other work to do between the halves, such as a forward pass, call them one by one.
"""

from __future__ import annotations

import numpy.typing as npt

from bat.basis import Basis
from bat.program import Solver
from bat.proposals import draws_needed, propose
from bat.rules import Rule
from bat.settling import Samples, settle
from bat.temperature import Temperature
from bat.validation import ArrayInput

__all__ = ["Samples", "draws_needed", "sample"]


def sample(
    basis: Basis,
    logits: ArrayInput,
    rule: Rule,
    uniforms: npt.ArrayLike,
    *,
    max_tries: int = 10,
    temperature: float | Temperature | None = None,
    fallback: str = "greedy",
    solver: str | Solver = "certified",
    threads: int | None = None,
) -> Samples:
    """Sample one token for each row of ``logits`` [B, v] under ``rule``.

    ``uniforms`` [B, max_tries + 1] in [0, 1) come from ``bat.uniforms``; the result is a function of a row's
    logits and uniforms alone, whatever else is in the batch. ``temperature`` is a number, or a
    ``bat.Temperature`` to choose whether it comes before or after the rule.
    """
    proposals = propose(logits, rule, uniforms, max_tries=max_tries, temperature=temperature, threads=threads)
    return settle(basis, proposals, fallback=fallback, solver=solver, threads=threads)
