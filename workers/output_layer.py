"""Whether the theory applies: a model's logits must be a linear function of its last hidden state.

The method reasons about softmax(scale * (W h + b)). Training sees the distribution p only through the
gradient with respect to h, which is scale * W^T (p - target): neither the bias b nor a constant scale changes
which distributions it can tell apart, so both are welcome. Anything else between h and the logits, such as
the soft cap of Gemma 2, bends that gradient and is an error.

Configurations name such things in many ways, so nothing is read from them: a tiny forward pass decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from bat.errors import InvalidInputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# How far, relative to the largest logit of a row, rounding may move a logit. float32 leaves room for the
# 10-bit products (TF32) some GPUs use; the others for a few roundings to their own precision.
_TOLERANCE = {torch.float32: 1e-3, torch.float16: 5e-3, torch.bfloat16: 3e-2}

# The probe's hidden states are stretched until their largest logits have these sizes, one position each.
# A cap or any other bend shows as a scale that differs between small and large logits, even in a model
# whose own logits are small.
_LOGIT_SIZES = (1.0, 10.0, 100.0)

# Two texts that differ in the last token alone: what a causal model thinks before it must be the same.
_PROBE = ((0, 1, 2), (0, 1, 3))


def get_output_matrix(model: PreTrainedModel, name: str) -> torch.Tensor:
    """Return the output matrix [vocabulary, hidden size], or raise when the model has none."""
    layer = model.get_output_embeddings()
    weight = getattr(layer, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.ndim != 2 or weight.dtype not in _TOLERANCE:
        layer_type = "none" if layer is None else type(layer).__name__
        raise InvalidInputError(
            f"The model {name!r} must have an output matrix of floating-point numbers, but its output layer "
            f"is {layer_type}. Choose a model with a plain, unquantised linear output layer."
        )
    return weight.detach()


def check_output_layer(model: PreTrainedModel, name: str) -> None:
    """Raise unless the model is causal and its logits are scale * (W h + b) for one constant scale."""
    weight = get_output_matrix(model, name)
    hidden, stretched, logits = _probe(model, weight, name)
    tolerance = _TOLERANCE[weight.dtype]
    change = (hidden[0, :-1] - hidden[1, :-1]).abs().max() / hidden.abs().max().clamp_min(1e-30)
    if change > tolerance:
        raise InvalidInputError(
            f"The model {name!r} must be causal, but a token changes what it thinks of the tokens before it. "
            "Choose a model that was trained to predict next tokens."
        )
    bias = getattr(model.get_output_embeddings(), "bias", None)
    linear = functional.linear(stretched, weight, None if bias is None else bias.detach()).float()
    if logits.shape != linear.shape:
        raise InvalidInputError(
            f"The model {name!r} must give one logit for each row of its output matrix; it gives "
            f"{logits.shape[-1]} logits for {weight.shape[0]} rows. Choose another model."
        )
    if not logits.isfinite().all():
        raise InvalidInputError(
            f"The model {name!r} gives logits that are not finite in {str(weight.dtype)[6:]}. "
            "Use float32 or bfloat16, or check its weights."
        )
    # The least-squares scale; the worst relative error of any position then says whether it fits them all.
    scale = (linear * logits).sum() / linear.square().sum()
    size = (scale * linear).abs().amax(dim=-1).clamp_min(1e-30)
    error = ((logits - scale * linear).abs().amax(dim=-1) / size).max().item()
    if not error <= tolerance:
        raise InvalidInputError(
            f"The method needs logits that are scale * (W h + bias), but those of {name!r} differ from that "
            f"by up to {error:.0%}{_find_cap(model)}. Choose a model with a plain linear output layer."
        )


def _probe(
    model: PreTrainedModel, weight: torch.Tensor, name: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the last hidden states, the same as stretched, and the logits of the latter."""
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    sizes = torch.tensor(_LOGIT_SIZES, device=weight.device)

    def stretch(_: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        hidden = inputs[0]  # [2, positions, d]
        largest = functional.linear(hidden.to(weight.dtype), weight).float().abs().amax(dim=-1)
        factor = sizes / largest.clamp_min(1e-30)  # [2, positions]
        stretched = (hidden.float() * factor[..., None]).to(hidden.dtype)
        seen.append((hidden.float(), stretched.to(weight.dtype)))
        return (stretched, *inputs[1:])

    tokens = torch.tensor(_PROBE, device=weight.device) % weight.shape[0]
    layer = model.get_output_embeddings()
    hook = layer.register_forward_pre_hook(stretch)
    try:
        with torch.inference_mode():
            logits = model(
                input_ids=tokens, attention_mask=torch.ones_like(tokens), use_cache=False
            ).logits.float()
    finally:
        hook.remove()
    if len(seen) != 1:
        raise InvalidInputError(
            f"The model {name!r} must make its logits with its output layer once a pass; it called it "
            f"{len(seen)} times. Choose a model with a plain linear output layer."
        )
    return *seen[0], logits


def _find_cap(model: PreTrainedModel) -> str:
    cap = getattr(model.config.get_text_config(), "final_logit_softcapping", None)
    return f" (its configuration has final_logit_softcapping = {cap:g})" if cap else ""
