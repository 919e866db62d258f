"""What a generation is asked for and what comes of it: plain values, which the driver reads without torch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bat.acceptance import check_fallback
from bat.arguments import require_integers
from bat.arrays import IdArray
from bat.random import Key
from bat.rules import Rule, check_rule
from bat.solvers import check_solver
from workers.traces import Trace


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """Everything a generation depends on beside the model and the prefix."""

    rule: Rule
    constraints: int = 20  # of the basis; plain rules do without
    max_tokens: int = 256
    max_tries: int = 10
    fallback: str = "greedy"
    solver: str = "certified"
    seed: int = 0
    run: str = ""  # with the seed, prefix and sample, the address of the random numbers
    sample: int = 0
    batch_size: int = 64

    def __post_init__(self) -> None:
        check_rule(self.rule)
        least = {"constraints": 0, "max_tokens": 1, "max_tries": 1, "seed": 0, "sample": 0, "batch_size": 1}
        require_integers(**{name: (getattr(self, name), value) for name, value in least.items()})
        check_fallback(self.fallback)
        check_solver(self.solver)


class StopReason(StrEnum):
    """Why a text ended where it did."""

    END = "end"  # the model wrote an end-of-text token, which is the last of the token ids
    LENGTH = "length"  # max_tokens
    CONTEXT = "context"  # the model's context is full


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """One continuation. The random numbers behind it are addressed by `key` and the step."""

    prefix_id: str
    key: Key
    text: str
    stop_reason: StopReason
    trace: Trace  # a row for each token
    solver_seconds: float

    @property
    def token_ids(self) -> IdArray:
        return self.trace.token_ids
