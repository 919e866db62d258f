from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from transformers import PreTrainedModel

from bat.errors import InvalidInputError
from tests.workers import tiny_models
from workers.devices import DTYPES
from workers.output_layer import check_output_layer, get_output_matrix


def fill_bias(model: PreTrainedModel) -> PreTrainedModel:
    """Give the output layer a bias that matters; untrained ones are zero."""
    bias = model.get_output_embeddings().bias
    bias.data.copy_(torch.linspace(-3, 3, len(bias)))
    return model


ACCEPTED: dict[str, Any] = {
    "tied": lambda dtype: tiny_models.gpt2().to(dtype),
    "untied": lambda dtype: tiny_models.family("llama", dtype),
    "output bias": lambda dtype: fill_bias(tiny_models.family("phi", dtype)),
    "logits multiplied": lambda dtype: tiny_models.family("cohere", dtype, logit_scale=0.0625),
    "logits divided": lambda dtype: tiny_models.family("granite", dtype, logits_scaling=8.0),
    "projection before the output": lambda dtype: tiny_models.family(
        "opt", dtype, word_embed_proj_dim=8, ffn_dim=32, max_position_embeddings=64
    ),
    "cap not used": lambda dtype: tiny_models.family(
        "gemma2", dtype, head_dim=8, final_logit_softcapping=None
    ),
    "recurrent": lambda dtype: tiny_models.family("mamba", dtype, state_size=4),
}


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(kind, torch.float32) for kind in ACCEPTED]
    + [(kind, dtype) for kind in ("tied", "output bias", "logits divided") for dtype in DTYPES.values()],
)
def test_linear_output_layers_are_accepted(kind: str, dtype: torch.dtype) -> None:
    model = ACCEPTED[kind](dtype)
    before = model(torch.tensor([[5, 6, 7]]), use_cache=False).logits
    check_output_layer(model, "tiny")
    # The probe stretches hidden states while it lasts, and leaves nothing behind.
    torch.testing.assert_close(
        model(torch.tensor([[5, 6, 7]]), use_cache=False).logits, before, rtol=0, atol=0
    )
    width = 8 if "projection" in kind else 16
    assert get_output_matrix(model, "tiny").shape == (tiny_models.VOCABULARY, width)


def test_the_bias_of_the_output_layer_is_counted() -> None:
    model = fill_bias(tiny_models.family("phi"))
    check_output_layer(model, "tiny")
    # The check above can fail: a bias the layer does not state is a bend.
    layer = model.get_output_embeddings()
    hidden_bias = layer.bias.detach().clone()
    layer.bias = None
    layer.register_forward_hook(lambda _module, _inputs, output: output + hidden_bias)
    with pytest.raises(InvalidInputError, match=r"logits that are scale \* \(W h \+ bias\)"):
        check_output_layer(model, "tiny")


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_a_soft_cap_is_invalid_even_where_logits_are_small(dtype: torch.dtype) -> None:
    model = tiny_models.family("gemma2", dtype, head_dim=8, final_logit_softcapping=30.0)
    # Untrained, it gives logits of at most 1, where the cap of 30 changes next to nothing.
    assert model(torch.tensor([[5, 6, 7]])).logits.abs().max() < 1
    with pytest.raises(InvalidInputError, match=r"'gemma'.*final_logit_softcapping = 30.*Choose"):
        check_output_layer(model, "gemma")


class Twisted(nn.Module):
    """A model with what its configuration would not tell: something between the layer and the logits."""

    def __init__(self, twist: Any, calls: int = 1) -> None:
        super().__init__()
        self.inner = tiny_models.gpt2()
        self.twist, self.calls, self.config = twist, calls, self.inner.config

    def get_output_embeddings(self) -> nn.Module:
        return self.inner.get_output_embeddings()

    def forward(self, **inputs: Any) -> SimpleNamespace:
        hidden = self.inner.transformer(**inputs).last_hidden_state
        logits = hidden @ self.inner.lm_head.weight.T
        for _ in range(self.calls):
            logits = self.inner.lm_head(hidden)
        return SimpleNamespace(logits=self.twist(logits))


@pytest.mark.parametrize(
    ("twist", "problem"),
    [
        (torch.tanh, "differ from that by up to"),
        (lambda logits: logits * torch.linspace(1, 2, logits.shape[-1]), "differ from that by up to"),
        (lambda logits: logits + 1, "differ from that by up to"),
        (lambda logits: logits[..., :-1], "gives 299 logits for 300 rows"),
        (lambda logits: logits / 0, "not finite in float32"),
    ],
)
def test_anything_else_between_layer_and_logits_is_invalid(twist: Any, problem: str) -> None:
    check_output_layer(Twisted(lambda logits: 3 * logits), "tiny")
    with pytest.raises(InvalidInputError, match=problem):
        check_output_layer(Twisted(twist), "tiny")


@pytest.mark.parametrize("calls", [0, 2])
def test_an_output_layer_that_is_not_what_makes_the_logits_is_invalid(calls: int) -> None:
    with pytest.raises(InvalidInputError, match=f"called it {calls} times"):
        check_output_layer(Twisted(lambda logits: logits, calls), "tiny")


def test_a_model_that_looks_ahead_is_invalid() -> None:
    looking_ahead = tiny_models.family("bert", initializer_range=0.5)
    with pytest.raises(InvalidInputError, match="must be causal"):
        check_output_layer(looking_ahead, "tiny")
    check_output_layer(tiny_models.family("bert", initializer_range=0.5, is_decoder=True), "tiny")


def test_a_model_without_an_output_matrix_is_invalid() -> None:
    model = tiny_models.gpt2()
    with pytest.raises(InvalidInputError, match="output layer is none"):
        get_output_matrix(model.transformer, "tiny")
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().to(torch.int8), requires_grad=False)
    with pytest.raises(InvalidInputError, match="output layer is Linear"):
        get_output_matrix(model, "tiny")
