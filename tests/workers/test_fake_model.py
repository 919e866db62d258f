from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from transformers import DynamicCache, PreTrainedModel

from bat.errors import InvalidInputError
from workers import fake_model, models


@pytest.fixture(scope="module")
def fake() -> models.LanguageModel:
    return models.load("fake:", device="cpu")


def some_tokens(rows: int, length: int, size: int = 1000) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(3).integers(0, size, (rows, length)))


def entropies(model: PreTrainedModel, tokens: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        log_probs = torch.log_softmax(model(tokens).logits.double(), dim=-1)
    return -(log_probs.exp() * log_probs).sum(dim=-1)


def test_the_keys_of_a_name() -> None:
    name = "fake:v=500, d=8,layers=2,seed=7,context=64,slow=0.5,fail_at=3,crash_at=5,oom_above=8,lost_at=9"
    assert fake_model.parse(name) == fake_model.Recipe(500, 8, 2, 7, 64, 0.5, 3, 5, 8, 9)
    assert fake_model.parse("fake") == fake_model.parse("fake:") == fake_model.Recipe()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("fake:sed=1", "no key 'sed'; got it in 'fake:sed=1'. Did you mean 'seed'?"),
        ("fake:fail=1", "Did you mean 'fail_at'?"),
        ("fake:colour=1", "The keys are v, d, layers, seed,"),
        ("fake:v=300,v=400", "stands once"),
        ("fake:v=256", "v must be an integer of at least 257; got '256' in 'fake:v=256'. Try v=257."),
        ("fake:v=many", "v must be an integer of at least 257; got 'many'"),
        ("fake:d", "d must be an integer of at least 2; got ''"),
        ("fake:d=3", "d must be even; got 3 in 'fake:d=3'. Use 4."),
        ("fake:layers=0", "layers must be an integer of at least 1"),
        ("fake:seed=-1", "seed must be an integer of at least 0"),
        ("fake:seed=1.5", "seed must be an integer"),
        ("fake:slow=nan", "slow must be a number of seconds of at least 0; got 'nan'"),
        ("fake:slow=inf", "slow must be a number of seconds"),
        ("fake:v=1000000000", "at most 1,048,576 tokens and 268,435,456 weights; got v=1,000,000,000"),
        ("fake:v=1000000,d=1024", "2,058,485,760 weights in"),
        ("fake:fail_at=0", "fail_at must be an integer of at least 1"),
    ],
)
def test_names_that_mean_nothing(name: str, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(problem)):
        models.load(name)


def test_every_key_has_a_least_value() -> None:
    assert set(fake_model._LEAST) == set(fake_model.Recipe.__slots__)


def test_the_same_name_is_the_same_model(fake: models.LanguageModel) -> None:
    again = models.load("fake:v=1000,d=16,seed=0,layers=1", device="cpu")
    assert again.info == fake.info
    for name, weight in fake.model.state_dict().items():
        torch.testing.assert_close(again.model.state_dict()[name], weight, rtol=0, atol=0)


@pytest.mark.parametrize("key", ["v=999", "d=8", "layers=2", "seed=1"])
def test_what_results_depend_on_is_in_the_fingerprint(fake: models.LanguageModel, key: str) -> None:
    other = models.load(f"fake:{key}", device="cpu").info
    assert other.weight_fingerprint != fake.info.weight_fingerprint
    assert (other.tokenizer_fingerprint != fake.info.tokenizer_fingerprint) == key.startswith("v")
    assert key in other.name


def test_misbehaviour_is_no_part_of_the_identity(fake: models.LanguageModel) -> None:
    assert models.load("fake:slow=0.001,fail_at=9,crash_at=9,oom_above=9", device="cpu").info == fake.info


def test_making_a_model_leaves_torchs_random_state_alone() -> None:
    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    models.load("fake:seed=11", device="cpu")
    torch.testing.assert_close(torch.rand(3), expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["fake:", "fake:seed=1", "fake:d=64,layers=3", "fake:v=257", "fake:v=5000"])
def test_distributions_are_neither_flat_nor_sharp(name: str) -> None:
    loaded = models.load(name, device="cpu")
    tokens = some_tokens(8, 32, loaded.info.vocabulary_size)
    found = entropies(loaded.model, tokens)
    # Everything here is seeded, so there is no luck: measured means lie between 3.9 and 4.7 nats.
    assert 2 < found.mean() < 5
    with torch.inference_mode():
        end = loaded.model(tokens).logits.softmax(dim=-1)[..., 256].mean()
    assert end < 0.02


def test_contexts_matter_beyond_the_last_token(fake: models.LanguageModel) -> None:
    tokens = some_tokens(1, 8).repeat(2, 1)
    tokens[1, 0] += 1
    with torch.inference_mode():
        first, second = fake.model(tokens).logits[:, -1].softmax(dim=-1)
    assert (first - second).abs().sum() > 0.01


def test_a_cache_of_keys_and_values_gives_the_same_logits(fake: models.LanguageModel) -> None:
    tokens = some_tokens(3, 10)
    with torch.inference_mode():
        whole = fake.model(tokens).logits
        start = fake.model(tokens[:, :6], use_cache=True, logits_to_keep=1)
        assert isinstance(start.past_key_values, DynamicCache)
        assert start.logits.shape == (3, 1, 1000)
        rest = fake.model(tokens[:, 6:], past_key_values=start.past_key_values, use_cache=True).logits
        kept = fake.model(tokens, logits_to_keep=torch.tensor([2, 5]), use_cache=False).logits
    torch.testing.assert_close(start.logits[:, 0], whole[:, 5], rtol=0, atol=1e-4)
    torch.testing.assert_close(rest, whole[:, 6:], rtol=0, atol=1e-4)
    torch.testing.assert_close(kept, whole[:, [2, 5]], rtol=0, atol=1e-4)


def test_generate_works_as_with_any_model(fake: models.LanguageModel) -> None:
    prompt = fake.tokenizer("The mayor said", return_tensors="pt")
    written = fake.model.generate(**prompt, max_new_tokens=12, do_sample=False)
    length = prompt.input_ids.shape[1]
    assert written.shape[1] <= length + 12
    tokens = prompt.input_ids
    for token in written[0, length:]:  # greedy, by definition
        with torch.inference_mode():
            assert fake.model(tokens).logits[0, -1].argmax() == token
        tokens = torch.cat([tokens, token.reshape(1, 1)], dim=1)


@pytest.mark.parametrize(
    "text",
    ["", "The mayor said", "  two  spaces \n\t", "naïve — 漢字 🦇 \x00\x7f", "a<|endoftext|>b", " don't ."],
)
def test_any_text_makes_the_round_trip(fake: models.LanguageModel, text: str) -> None:
    tokens = fake.tokenizer(text).input_ids
    assert fake.tokenizer.decode(tokens) == text
    assert ("<|endoftext|>" in text) == (256 in tokens)
    assert max(tokens, default=0) <= 256


def test_every_token_has_a_text_of_its_own() -> None:
    tokenizer = models.load("fake:v=6000", device="cpu").tokenizer
    words = [tokenizer.decode([token]) for token in range(257, 6000)]
    assert len(tokenizer) == 6000
    assert len(set(words)) == len(words)
    assert all(re.fullmatch(" [a-z]{4,}", word) for word in words)
    assert tokenizer.decode([256]) == "<|endoftext|>"
    # Bytes above 127 are pieces of characters, shown as a replacement when alone.
    texts = [tokenizer.decode([token]) for token in range(256)]
    assert len(set(texts) - {"\ufffd"}) == 128
    assert all(texts)


def run(loaded: models.LanguageModel, rows: int = 1) -> torch.Tensor:
    with torch.inference_mode():
        return loaded.model(input_ids=some_tokens(rows, 4)).logits


def test_a_scripted_failure_happens_once(fake: models.LanguageModel) -> None:
    failing = models.load("fake:fail_at=3", device="cpu")
    first = run(failing)
    run(failing)
    with pytest.raises(RuntimeError, match=r"fails at forward pass 3, as fail_at asks"):
        run(failing)
    torch.testing.assert_close(run(failing), first, rtol=0, atol=0)
    torch.testing.assert_close(run(fake), first, rtol=0, atol=0)


def test_memory_runs_out_above_a_number_of_rows() -> None:
    small = models.load("fake:oom_above=2", device="cpu")
    assert run(small, rows=2).shape == (2, 4, 1000)
    with pytest.raises(torch.OutOfMemoryError, match="no memory for 3 rows"):
        run(small, rows=3)
    with pytest.raises(torch.OutOfMemoryError, match="no memory for 3 rows"):
        small.model(some_tokens(3, 4))
    with pytest.raises(torch.OutOfMemoryError, match="no memory for 4 rows"):
        small.model(inputs_embeds=torch.zeros(4, 2, 16))


def test_a_slow_model_sleeps_at_every_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(fake_model.time, "sleep", slept.append)
    slow = models.load("fake:slow=0.25", device="cpu")
    assert slept == []  # loading is not slowed
    run(slow)
    run(slow)
    assert slept == [0.25, 0.25]


def test_a_scripted_crash_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    exits: list[int] = []
    monkeypatch.setattr(fake_model.os, "_exit", exits.append)
    crashing = models.load("fake:crash_at=2", device="cpu")
    run(crashing)
    assert exits == []
    run(crashing)
    assert exits == [1]
