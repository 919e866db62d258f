"""The one linear program of basis-aware threshold sampling, and the words for its answers.

For a context with distribution p and a token i, the critical threshold is

    tau* = min tau   such that   tau * b  =  p_i a_i  +  sum_{j != i} phi_j p_j a_j,   0 <= phi_j <= 1

where a_j is token j's column of ``rows`` and b = sum_j p_j a_j. ``phi_j`` is the fraction of token
j's probability that is taken away to make room for token i's: the distribution

    q_j = p_j (1 - phi_j) / (1 - tau),   q_i = 0

agrees with p on every kept direction and never exceeds p by more than the factor 1 / (1 - tau).
Its dual has one unknown per row,

    tau* = max_y  (p_i s - N) / (p_i s + P - N),     s = a_i . y,
    P = sum_{j != i} p_j max(0, a_j . y),            N = sum_{j != i} p_j max(0, -a_j . y),

so any direction y bounds tau* from below and any fractions phi bound it from above. Small
thresholds are differences of small numbers in both forms, which is why they are written with
phi and N rather than with the paper's x = 1 - phi: nothing cancels against one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from bat.arrays import FloatArray, IntArray


class Status(StrEnum):
    """How a solve ended."""

    CLOSED = "closed"  # upper - lower <= tolerance * upper
    DECIDED = "decided"  # the interval excludes the threshold that was asked about
    ABOVE_CAP = "above cap"  # tau* is proved to lie above the cap; nobody asked further
    UNFINISHED = "unfinished"  # the pivot or time budget ran out; the interval is valid but wide
    FAILED = "failed"  # the solver gave no usable answer; the interval is the trivial [p_i, 1]


@dataclass(frozen=True, slots=True)
class Program:
    """One question: how high must the threshold be before this token is rejected?"""

    rows: FloatArray  # [r, v]: rows[0] is all ones, the others span the kept singular vectors
    probs: FloatArray  # [v], nonnegative, sums to one
    token: int


@dataclass(frozen=True, slots=True)
class Goal:
    """When a solver may stop."""

    tolerance: float = 1e-6  # relative: upper - lower <= tolerance * upper
    threshold: float | None = None  # stop as soon as the interval excludes this value
    cap: float = 1.0  # stop as soon as the lower bound passes this value
    prove: bool = True  # keep a certificate (for a decision alone, half the work)
    max_pivots: int = 50_000
    time_limit_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class Certificate:
    """What proves an interval, small enough to keep.

    ``direction`` (y) proves the lower bound. For the upper bound phi_j is 1 where a_j . y < 0 and
    0 elsewhere, except at ``tokens``, where it is ``fractions``.
    """

    direction: FloatArray  # [r]
    tokens: IntArray  # [k]
    fractions: FloatArray  # [k]


@dataclass(frozen=True, slots=True)
class Effort:
    """What a solve cost."""

    pivots: int  # simplex steps (iterations, for the reference solvers)
    passes: int  # products of the whole vocabulary with a direction
    seconds: float

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.pivots + other.pivots, self.passes + other.passes, self.seconds + other.seconds)


@dataclass(frozen=True, slots=True)
class Efforts:
    """The efforts of a batch, a number per row."""

    pivots: IntArray  # [B]
    passes: IntArray  # [B]
    seconds: FloatArray  # [B]

    @classmethod
    def of(cls, efforts: Sequence[Effort]) -> Efforts:
        """Collect one effort per row."""
        return cls(
            np.array([effort.pivots for effort in efforts], dtype=np.int64),
            np.array([effort.passes for effort in efforts], dtype=np.int64),
            np.array([effort.seconds for effort in efforts], dtype=np.float64),
        )


NO_EFFORT = Effort(0, 0, 0.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """An interval that contains tau*, its proof, and its cost."""

    lower: float
    upper: float
    certificate: Certificate | None  # None only when the goal did not ask for one
    effort: Effort
    status: Status


class Solver(Protocol):
    """Every solver answers the same question in the same words; see ``bat.solvers``.

    ``prepare`` computes what all tokens of one distribution share; its result is passed back to ``solve``
    by callers that ask about several tokens, and means nothing to anyone else. Solvers may be called from
    several threads at once.
    """

    @property
    def name(self) -> str: ...

    def prepare(self, rows: FloatArray, probs: FloatArray) -> object: ...

    def solve(self, program: Program, goal: Goal, prepared: object = None) -> Answer: ...
