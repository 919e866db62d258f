"""What the tests with vLLM share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

import bat
from bat.random import Key
from workers.models import LanguageModel
from workers.prefixes import Prefix
from workers.requests import EngineRequest, ModelRequest
from workers.vllm_plugin.installation import get_version

SMALL = "fake:v=1000,d=128,layers=2"  # heads of 64, for which vLLM has kernels
CONSTRAINTS = 8


def engine_request(model: str, batch_size: int = 4, **options: object) -> EngineRequest:
    """vLLM without compiling the model, which takes longer than these tests."""
    return EngineRequest(ModelRequest(model), get_version(), {"enforce_eager": True, **options}, batch_size)


def prompts_of(count: int) -> list[Prefix]:
    """Prompts of different lengths, in the bytes that the small model's tokenizer has."""
    generator = np.random.default_rng(3)
    return [
        Prefix(f"p{number}", tuple(generator.integers(0, 250, 4 + number % 5).tolist()), ())
        for number in range(count)
    ]


@torch.inference_mode()
def logits_along(model: LanguageModel, prompt: Sequence[int], written: Sequence[int]) -> torch.Tensor:
    """The logits from which each token of a text was chosen, [tokens, v], in one pass of transformers."""
    ids = torch.tensor([[*prompt, *written]])
    logits: torch.Tensor = model.model(input_ids=ids).logits[0, len(prompt) - 1 : -1]
    return logits


def tokens_chosen(
    model: LanguageModel, rule: str, key: Key, prompt: Sequence[int], written: Sequence[int]
) -> list[int]:
    """What the rule chooses at each step of a text that is there already, with transformers' logits."""
    logits = logits_along(model, prompt, written)
    numbers = bat.uniforms([key] * len(written), np.arange(len(written)), 11)
    tokens: list[int] = bat.sample(
        model.basis(CONSTRAINTS), logits, bat.get_rule(rule), numbers
    ).tokens.tolist()
    return tokens
