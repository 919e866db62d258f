"""The cache that is filled in place gives what the stock cache gives."""

from __future__ import annotations

import pytest
import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicSlidingWindowLayer

from tests.workers import tiny_models
from workers.kv_cache import FilledLayer, cache_bytes, make_cache
from workers.models import load


@torch.inference_mode()
def logits_of_steps(model, cache, selections) -> list[torch.Tensor]:  # type: ignore[no-untyped-def]
    """Two tokens, then one at a time; between steps the rows named in `selections` stay."""
    generator = torch.Generator().manual_seed(0)
    found = []
    tokens = torch.randint(0, 250, (5, 2), generator=generator)
    for selection in [*selections, None]:
        found.append(model(input_ids=tokens, past_key_values=cache, use_cache=True).logits[:, -1])
        if selection is not None:
            cache.batch_select_indices(torch.tensor(selection))
            tokens = torch.randint(0, 250, (len(selection), 1), generator=generator)
    return found


@pytest.mark.parametrize(
    "selections",
    [
        [[0, 1, 2, 3, 4]] * 3,
        [[0, 1, 4, 3], [0, 2], [1]],  # from the end into gaps, then shrinking
        [[4, 3, 2, 1, 0], [1, 0, 2, 2]],  # any order, repeats too
    ],
)
def test_equals_the_stock_cache(selections: list[list[int]]) -> None:
    model = load("fake:v=300,d=16,layers=2", device="cpu").model
    ours = logits_of_steps(model, make_cache(model, 12), selections)
    stock = logits_of_steps(model, DynamicCache(config=model.config), selections)
    for one, other in zip(ours, stock, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def test_only_ordinary_layers_are_replaced() -> None:
    model = tiny_models.gpt2()
    assert all(type(layer) is FilledLayer for layer in make_cache(model, 8).layers)
    cache = DynamicCache(config=model.config)
    cache.layers = [DynamicSlidingWindowLayer(sliding_window=4)]
    assert type(make_cache(model, 8).layers[0]) is FilledLayer
    assert type(cache.layers[0]) is DynamicSlidingWindowLayer


def test_says_when_it_is_full() -> None:
    model = tiny_models.gpt2()
    with pytest.raises(RuntimeError, match="made for 3 tokens and got 4"), torch.inference_mode():
        model(input_ids=torch.zeros((1, 4), dtype=torch.long), past_key_values=make_cache(model, 3))


def test_the_memory_of_a_batch() -> None:
    model = load("fake:v=300,d=16,layers=2", device="cpu").model
    cache = make_cache(model, 12)
    logits_of_steps(model, cache, [[0, 1, 2, 3, 4]])
    rooms = [room for layer in cache.layers for room in (layer._key_room, layer._value_room)]
    assert sum(room.numel() * room.element_size() for room in rooms) == cache_bytes(2, 16, 5, 12)
