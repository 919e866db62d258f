"""Tokens for the rows of a batch that have a rule.

Rows with the same rule and settings are sampled together. The token of a row depends on its logits and the
address of its random numbers alone, so it does not matter which rows are beside it, nor where in the batch it
is. Whoever samples afterwards finds a single finite logit in the row.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from bat.arrays import WordArray
from bat.basis import Basis
from bat.errors import BatError
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


@dataclass(frozen=True, slots=True, eq=False)
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
        )
        return cls(parameters, recipe, key_words([parameters.key(prompt)]), min(end_tokens, default=0))


class Row(NamedTuple):
    """A row of logits."""

    index: int
    step: int  # the number of tokens that the text has already
    request: RuleRequest


class Chooser:
    """Chooses tokens with the bases of one model; `basis` finds one by its number of constraints."""

    def __init__(self, basis: Callable[[int], Basis], threads: int | None = None) -> None:
        self._basis, self._threads = basis, threads

    def choose(self, logits: torch.Tensor, rows: Sequence[Row]) -> None:
        """Leave the token chosen as the only finite logit in each of these rows of `logits` [B, v]."""
        groups: dict[Recipe, list[Row]] = {}
        for row in rows:
            groups.setdefault(row.request.recipe, []).append(row)
        for group in groups.values():
            self._choose_together(logits, group)

    def _choose_together(self, logits: torch.Tensor, group: list[Row]) -> None:
        try:
            tokens = self._sample(logits, group)
        except BatError as error:
            # An exception would end the engine, with every request in it. So only texts whose rule cannot be
            # applied end here. They are never continued under anything else.
            if len(group) > 1:
                for row in group:
                    self._choose_together(logits, [row])
                return
            [row] = group
            _log.error("A text under %s ends at step %d: %s", row.request.recipe.rule, row.step, error)
            recording.fail(row.request.parameters.trace, str(error))
            tokens = [row.request.end_token]
        where = _indices(logits, group)
        logits.index_fill_(0, where, -torch.inf)
        logits[where, torch.tensor(tokens, device=logits.device)] = 0.0

    def _sample(self, logits: torch.Tensor, group: list[Row]) -> list[int]:
        settings = group[0].request.parameters.settings
        steps = np.array([row.step for row in group])
        words = np.concatenate([row.request.words for row in group])
        are_all = [row.index for row in group] == list(range(len(logits)))
        samples = sample(
            self._basis(group[0].request.recipe.constraints),
            logits if are_all else logits[_indices(logits, group)],
            settings.rule,
            uniforms(words, steps, draws_needed(settings.max_tries)),
            max_tries=settings.max_tries,
            temperature=settings.temperature,
            fallback=settings.fallback,
            solver=settings.solver,
            threads=self._threads,
        )
        if group[0].request.recipe.is_recorded:
            recording.add([row.request.parameters.trace or 0 for row in group], steps, samples)
        chosen: list[int] = samples.tokens.tolist()
        return chosen


def _indices(logits: torch.Tensor, group: list[Row]) -> torch.Tensor:
    return torch.tensor([row.index for row in group], device=logits.device)
