from __future__ import annotations

import pytest
import torch
from transformers import PreTrainedTokenizerFast

from tests.workers import tiny_models
from workers import fingerprints
from workers.fingerprints import tokenizer_fingerprint, weight_fingerprint


def weights(dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    return {
        "a": torch.arange(12, dtype=dtype).reshape(3, 4),
        "b": torch.tensor(2.5, dtype=dtype),
        "c": torch.zeros(0, dtype=dtype),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int64])
def test_equal_weights_have_equal_prints_in_any_order(dtype: torch.dtype) -> None:
    state = weights(dtype)
    backwards = {name: tensor.clone() for name, tensor in reversed(state.items())}
    assert weight_fingerprint(state) == weight_fingerprint(backwards)
    assert len(weight_fingerprint(state)) == 32


def test_layout_in_memory_does_not_matter() -> None:
    state = weights()
    other = weights() | {"a": state["a"].T.contiguous().T}
    assert not other["a"].is_contiguous()
    assert weight_fingerprint(other) == weight_fingerprint(state)


def test_every_difference_shows() -> None:
    state = weights()
    changed = state["a"].clone()
    changed[2, 3] = torch.nextafter(changed[2, 3], torch.tensor(100.0))
    prints = [
        weight_fingerprint(other)
        for other in (
            state,
            state | {"a": changed},
            state | {"a": state["a"].reshape(4, 3)},
            state | {"a": state["a"].view(torch.int32)},
            state | {"a": state["b"], "b": state["a"]},
            {name.replace("a", "x"): tensor for name, tensor in state.items()},
            state | {"d": state["a"]},
            {"a": state["a"]},
        )
    ]
    assert len(set(prints)) == len(prints)


def test_tied_weights_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_models.gpt2()
    state = model.state_dict()
    assert state["lm_head.weight"].data_ptr() == state["transformer.wte.weight"].data_ptr()
    apart = {name: tensor.clone() for name, tensor in state.items()}
    expected = weight_fingerprint(apart)
    read: list[torch.Size] = []
    digest = fingerprints._digest

    def watched(tensor: torch.Tensor) -> bytes:
        read.append(tensor.shape)
        return digest(tensor)

    monkeypatch.setattr(fingerprints, "_digest", watched)
    assert weight_fingerprint(state) == expected
    assert read.count(state["lm_head.weight"].shape) == 1


def test_a_tokenizer_is_known_by_its_content() -> None:
    first, same, larger = tiny_models.tokenizer(), tiny_models.tokenizer(), tiny_models.tokenizer(301)
    assert tokenizer_fingerprint(first) == tokenizer_fingerprint(same)
    assert tokenizer_fingerprint(first) != tokenizer_fingerprint(larger)
    assert len(tokenizer_fingerprint(first)) == 32


def test_use_does_not_change_a_tokenizers_print() -> None:
    tokenizer = tiny_models.tokenizer()
    before = tokenizer_fingerprint(tokenizer)
    tokenizer(["short", "a longer text"], padding=True, truncation=True, max_length=4)
    assert tokenizer.backend_tokenizer.padding is not None
    assert tokenizer_fingerprint(tokenizer) == before


def test_special_tokens_are_part_of_a_tokenizer() -> None:
    inner = tiny_models.tokenizer().backend_tokenizer
    ends = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|endoftext|>")
    begins = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<|endoftext|>")
    assert tokenizer_fingerprint(ends) != tokenizer_fingerprint(begins)


class SlowTokenizer:
    """The part of a tokenizer without a fast backend that a fingerprint needs."""

    is_fast = False
    all_special_ids = (0,)
    special_tokens_map = {"eos_token": "a"}  # noqa: RUF012

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self.get_vocab = lambda: vocabulary


def test_a_slow_tokenizer_is_known_by_its_vocabulary() -> None:
    first, same = SlowTokenizer({"a": 0, "b": 1}), SlowTokenizer({"b": 1, "a": 0})
    other = SlowTokenizer({"a": 1, "b": 0})
    assert tokenizer_fingerprint(first) == tokenizer_fingerprint(same)
    assert tokenizer_fingerprint(first) != tokenizer_fingerprint(other)
