"""Tokens for the rows of a batch that have a rule.

Rows with the same rule and settings are sampled together. The token of a row depends on its logits and the
address of its random numbers alone: not on the other rows of the batch, nor on its index there. Whoever
samples afterwards finds a single finite logit in the row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakSet

import numpy as np
import torch

from bat.arrays import WordArray
from bat.basis import Basis
from bat.errors import BatError, InvalidInputError
from bat.random import key_words, uniforms
from bat.sampling import draws_needed, sample
from bat.temperature import Temperature
from workers.vllm_plugin import recording
from workers.vllm_plugin.parameters import RuleParameters

_log = logging.getLogger(__name__)


class Recipe(NamedTuple):
    """What rows that are sampled together have in common."""

    rule: str
    constraints: int
    max_tries: int
    temperature: float | Temperature | None
    fallback: str
    solver: str
    is_recorded: bool
    problem: str | None


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class RuleRequest:
    """A request with a rule, as long as it is in the batch."""

    parameters: RuleParameters
    recipe: Recipe
    words: WordArray  # [1, 2] the key of its random numbers
    end_token: int  # ends the text if its rule cannot be applied

    @classmethod
    def of(cls, parameters: RuleParameters, prompt: str, end_tokens: Iterable[int]) -> RuleRequest:
        """The request for a prompt of this name."""
        settings = parameters.settings
        recipe = Recipe(
            str(settings.rule),
            settings.constraints if settings.rule.basis_aware else 0,
            settings.max_tries,
            settings.temperature,
            settings.fallback,
            settings.solver,
            parameters.trace is not None,
            parameters.problem,
        )
        return cls(parameters, recipe, key_words([parameters.key(prompt)]), min(end_tokens, default=0))


class Row(NamedTuple):
    """A row of logits."""

    batch_index: int
    step: int  # the number of tokens that the text has already
    request: RuleRequest


class Chooser:
    """Chooses tokens with the bases of one model; `basis` finds one by its number of constraints."""

    def __init__(self, basis: Callable[[int], Basis], threads: int | None = None) -> None:
        self._basis, self._threads = basis, threads
        self._failed: WeakSet[RuleRequest] = WeakSet()  # a request may ignore the token that ends its text

    def choose(self, logits: torch.Tensor, rows: Sequence[Row]) -> None:
        """Leave the token chosen as the only finite logit in each of these rows of `logits` [B, v].

        An exception would end the engine, with every request in it. So only the texts whose rule cannot be
        applied end. They are never continued under anything else.
        """
        groups: dict[Recipe, list[Row]] = {}
        for row in rows:
            groups.setdefault(row.request.recipe, []).append(row)
        for group in groups.values():
            self._choose_together(logits, group)

    def _choose_together(self, logits: torch.Tensor, group: list[Row]) -> None:
        try:
            tokens = self._sample(logits, group)
        except BatError as error:
            if len(group) > 1:
                for row in group:
                    self._choose_together(logits, [row])
                return
            [row] = group
            if row.request not in self._failed:
                self._failed.add(row.request)
                _log.error("A text under %s ends at step %d: %s", row.request.recipe.rule, row.step, error)
                recording.fail(row.request.parameters.trace, str(error))
            tokens = [row.request.end_token]
        _leave_only(logits, [row.batch_index for row in group], tokens)

    def _sample(self, logits: torch.Tensor, group: list[Row]) -> list[int]:
        recipe, settings = group[0].request.recipe, group[0].request.parameters.settings
        if recipe.problem is not None:
            raise InvalidInputError(recipe.problem)
        steps = np.array([row.step for row in group])
        words = np.concatenate([row.request.words for row in group])
        indices = [row.batch_index for row in group]
        samples = sample(
            self._basis(recipe.constraints),
            logits if indices == list(range(len(logits))) else logits[indices],
            settings.rule,
            uniforms(words, steps, draws_needed(settings.max_tries)),
            max_tries=settings.max_tries,
            temperature=settings.temperature,
            fallback=settings.fallback,
            solver=settings.solver,
            threads=self._threads,
        )
        if recipe.is_recorded:
            traces = [trace for row in group if (trace := row.request.parameters.trace) is not None]
            recording.add(traces, steps, samples)
        chosen: list[int] = samples.tokens.tolist()
        return chosen


def _leave_only(logits: torch.Tensor, rows: Sequence[int], tokens: Sequence[int]) -> None:
    """Make every other token of these rows impossible."""
    where = torch.tensor(rows, device=logits.device)
    logits.index_fill_(0, where, -torch.inf)
    logits[where, torch.tensor(tokens, device=logits.device)] = 0.0
