"""The rules of `bat` inside transformers' own `generate`.

    from workers.plugin import RuleSampler
    sampler = RuleSampler(model, "ba-eta=0.02", seed=0)
    output = model.generate(**inputs, max_new_tokens=40, custom_generate=sampler)

The decoding loop stays transformers' own: caches, stopping, padding, streaming and what is returned are left
to it. A last logits processor draws a token with `bat.sample`, whose first half runs on the device of the
model, and makes every other token impossible. The loop is told to take the most likely one.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    StoppingCriteriaList,
)

from bat.arrays import IntArray, WordArray
from bat.basis import Basis
from bat.errors import InvalidInputError
from bat.program import Solver
from bat.random import Key, key_words, uniforms
from bat.rules import Rule
from bat.sampling import Samples, draws_needed, sample
from bat.solvers import get_solver
from bat.temperature import Temperature, resolve_temperature
from workers.generate_settings import arguments_of_generate, check_mode, get_processors
from workers.logits_processor import CandidateSetProcessor, UndecidedError, as_rule, prepare_basis
from workers.models import LanguageModel
from workers.prompts import prompt_name

__all__ = ["CandidateSetProcessor", "RuleSampler", "Step", "UndecidedError", "prompt_name"]


@dataclass(frozen=True, slots=True)
class Step:
    """What happened at one step, to the rows that had not ended."""

    rows: IntArray  # [active]: indices into the batch, which has num_return_sequences rows for each prompt
    samples: Samples  # of those rows


class RuleSampler:
    """A decoding loop for `model.generate(custom_generate=...)` that samples under a rule of `bat`.

    The random numbers of a row are addressed by `Key(seed, run, prompt_name(prompt), sample)` and the step,
    where `sample` counts the sequences returned for one prompt. So a prompt draws the same numbers in any
    batch, and equal prompts in one batch draw the same; `num_return_sequences`, another seed or another run
    give other texts. The remaining settings are those of `bat.sample`. The temperature may be given here, or
    to `generate`, where it has the order that the rule prefers: first for plain rules, last for basis-aware.

    The basis is prepared once, here, from the output matrix as it now is. `steps` tells of the last call.
    """

    def __init__(
        self,
        model: PreTrainedModel | LanguageModel | Basis,
        rule: str | Rule,
        *,
        seed: int = 0,
        run: int | str = "",
        constraints: int = 20,
        max_tries: int = 10,
        temperature: float | Temperature | None = None,
        fallback: str = "greedy",
        solver: str | Solver = "certified",
        threads: int | None = None,
    ) -> None:
        self.rule = as_rule(rule)
        self.temperature = resolve_temperature(temperature, self.rule)
        get_solver(solver)  # a misspelt name is an error now, not at the first token
        self.basis = prepare_basis(model, self.rule, constraints)
        self.seed, self.run = seed, run
        self.max_tries, self.fallback, self.solver, self.threads = max_tries, fallback, solver, threads
        self.steps: tuple[Step, ...] = ()
        source = model.model if isinstance(model, LanguageModel) else model
        self._output_layer = None if isinstance(source, Basis) else source.get_output_embeddings()

    def __call__(
        self,
        model: PreTrainedModel,
        input_ids: torch.LongTensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        **model_inputs: Any,
    ) -> Any:
        """Generate; transformers calls this with what it prepared."""
        arguments = arguments_of_generate()
        self._check_inputs(model, input_ids)
        check_mode(generation_config, arguments.get("assistant_model"))
        processors, temperature = get_processors(
            logits_processor, generation_config, self.rule, self.temperature
        )
        samples = generation_config.num_return_sequences or 1
        keys = self._keys(input_ids, model_inputs.get("attention_mask"), samples)
        wants_scores = bool(generation_config.return_dict_in_generate and generation_config.output_scores)
        draw = _Draw(self, temperature, key_words(keys), wants_scores)
        settings = copy.copy(generation_config)
        settings.do_sample, settings.output_scores = False, False
        for name in ("streamer", "synced_gpus"):
            if arguments.get(name) is not None:
                model_inputs.setdefault(name, arguments[name])

        output = model._sample(  # type: ignore[operator]
            input_ids,
            logits_processor=LogitsProcessorList([*processors, draw]),
            stopping_criteria=_Stops(stopping_criteria, draw),
            generation_config=settings,
            **model_inputs,
        )
        sequences = output.sequences if generation_config.return_dict_in_generate else output
        # On some devices the loop goes one step too far and takes it back.
        count = sequences.shape[1] - input_ids.shape[1]
        self.steps = tuple(draw.steps[:count])
        if wants_scores:
            output.scores = tuple(draw.scores[:count])
        return output

    def _check_inputs(self, model: PreTrainedModel, input_ids: torch.LongTensor) -> None:
        # The layer, not the model: what wraps a model leaves its output layer in place.
        if self._output_layer is not None and model.get_output_embeddings() is not self._output_layer:
            raise InvalidInputError(
                f"A RuleSampler must generate with the model it was made from; got another "
                f"{type(model).__name__}. Make one for each model, or make it from a bat.Basis."
            )
        if input_ids.shape[1] == 0:
            raise InvalidInputError(
                "The prompt must be given as token ids, which address its random numbers; got none. "
                "Pass input_ids, beside inputs_embeds if need be."
            )

    def _keys(
        self, input_ids: torch.LongTensor, attention_mask: torch.Tensor | None, samples: int
    ) -> list[Key]:
        ids = input_ids.cpu().numpy()  # [B, length]
        real = np.ones(ids.shape, np.bool_)
        if attention_mask is not None:  # transformers drops a mask without padding
            # A mask longer than the ids begins with what is already in the cache.
            real = attention_mask[:, -ids.shape[1] :].cpu().numpy().astype(np.bool_)
        return [
            Key(self.seed, self.run, prompt_name(tokens[mask].tolist()), row % samples)
            for row, (tokens, mask) in enumerate(zip(ids, real, strict=True))
        ]


class _Draw(LogitsProcessor):
    """The last processor of one call: draws a token for each row and makes every other one impossible."""

    def __init__(
        self, sampler: RuleSampler, temperature: Temperature | None, words: WordArray, wants_scores: bool
    ) -> None:
        self.sampler, self.temperature, self.words = sampler, temperature, words
        self.wants_scores = wants_scores
        self.ended = np.zeros(len(words), np.bool_)
        self.steps: list[Step] = []
        self.scores: list[torch.Tensor] = []  # [B, v] each: what the rule saw

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        sampler = self.sampler
        rows = np.flatnonzero(~self.ended)
        active = torch.from_numpy(rows).to(scores.device)
        samples = sample(
            sampler.basis,
            scores if len(rows) == len(scores) else scores[active],
            sampler.rule,
            uniforms(self.words[rows], len(self.steps), draws_needed(sampler.max_tries)),
            max_tries=sampler.max_tries,
            temperature=self.temperature,
            fallback=sampler.fallback,
            solver=sampler.solver,
            threads=sampler.threads,
        )
        self.steps.append(Step(rows, samples))
        if self.wants_scores:
            self.scores.append(scores)
        drawn = torch.full_like(scores, -torch.inf)
        drawn[active, torch.from_numpy(samples.tokens).to(scores.device)] = 0.0
        return drawn  # type: ignore[return-value]


class _Stops(StoppingCriteriaList):
    """The caller's criteria. They also tell which rows have ended, so that nothing is solved for those."""

    def __init__(self, criteria: StoppingCriteriaList, draw: _Draw) -> None:
        super().__init__(criteria)
        self._draw = draw
        # The loop pads rows that have ended, and only then is it free what is drawn for them.
        self._pads = any(hasattr(criterion, "eos_token_id") for criterion in criteria)

    def __call__(self, input_ids: torch.LongTensor, scores: Any, **others: Any) -> torch.BoolTensor:
        # The loop is not told to keep scores, which after the drawing would know that one token alone.
        done: torch.BoolTensor = super().__call__(input_ids, tuple(self._draw.scores) or None, **others)
        if self._pads:
            self._draw.ended |= done.cpu().numpy()
        return done
