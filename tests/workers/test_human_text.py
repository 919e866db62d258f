from __future__ import annotations

import csv
import io
import random
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from bat.errors import InvalidInputError
from workers.assets import NEWS_ARTICLES, LanguageModel
from workers.human_text import MAX_PREFIX_TOKENS, MIN_PREFIX_TOKENS, human_next_tokens, read_news_articles

VOCABULARY = 50


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    """One token for each of the words w0, w1, ..."""
    words = {f"w{index}": index for index in range(VOCABULARY)}
    inner = Tokenizer(models.WordLevel(words, unk_token="w0"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=inner)


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def model(request: pytest.FixtureRequest) -> LlamaForCausalLM | GPT2LMHeadModel:
    """A small untrained model of each family the project runs."""
    torch.manual_seed(1)
    if request.param == "llama":
        llama = LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            initializer_range=0.5,
        )
        return LlamaForCausalLM(llama).eval()
    gpt2 = GPT2Config(vocab_size=VOCABULARY, n_embd=16, n_layer=2, n_head=2, initializer_range=0.5)
    return GPT2LMHeadModel(gpt2).eval()


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Documents of differing lengths, some too short to use, one longer than any prefix."""
    generator = random.Random(2)
    lengths = [
        5,
        MIN_PREFIX_TOKENS,
        MIN_PREFIX_TOKENS + 1,
        40,
        60,
        90,
        120,
        2 * MAX_PREFIX_TOKENS,
        45,
        70,
        52,
        66,
    ]
    return [" ".join(f"w{generator.randrange(VOCABULARY)}" for _ in range(length)) for length in lengths]


def every_row_fits(tokens: list[int], logits: np.ndarray, expected: dict[int, list[np.ndarray]]) -> bool:
    return all(
        any(np.allclose(row, candidate, atol=1e-4) for candidate in expected[token])
        for token, row in zip(tokens, logits, strict=True)
    )


def test_every_row_is_the_model_before_a_token_a_person_wrote(model, tokenizer, texts) -> None:
    logits, tokens = human_next_tokens(model, tokenizer, texts, count=30, per_document=4, seed=0)
    assert logits.shape == (30, VOCABULARY)
    assert logits.dtype == np.float32
    assert tokens.shape == (30,)
    # By definition: one document at a time, no padding, every logit computed.
    expected: dict[int, list[np.ndarray]] = {token: [] for token in range(VOCABULARY)}
    for text in texts:
        ids = tokenizer(text).input_ids
        with torch.inference_mode():
            rows = model(torch.tensor([ids[:MAX_PREFIX_TOKENS]])).logits[0].numpy()
        for position in range(MIN_PREFIX_TOKENS, min(len(ids), MAX_PREFIX_TOKENS + 1)):
            expected[ids[position]].append(rows[position - 1])
    assert every_row_fits(tokens.tolist(), logits, expected)
    # The check above can fail: the same rows do not fit the tokens shifted by one.
    assert not every_row_fits(np.roll(tokens, 1).tolist(), logits, expected)


def test_positions_depend_on_the_seed_and_not_on_the_order_of_texts(model, tokenizer, texts) -> None:
    first = human_next_tokens(model, tokenizer, texts, count=12, per_document=3, seed=5)
    backwards = human_next_tokens(model, tokenizer, texts[::-1] + texts, count=12, per_document=3, seed=5)
    other = human_next_tokens(model, tokenizer, texts, count=12, per_document=3, seed=6)
    np.testing.assert_array_equal(first.logits, backwards.logits)
    np.testing.assert_array_equal(first.tokens, backwards.tokens)
    assert not np.array_equal(first.tokens, other.tokens)


def test_a_larger_count_extends_a_smaller_one(model, tokenizer, texts) -> None:
    few = human_next_tokens(model, tokenizer, texts, count=6, per_document=3, seed=5)
    more = human_next_tokens(model, tokenizer, texts, count=15, per_document=3, seed=5)
    np.testing.assert_array_equal(few.tokens, more.tokens[:6])
    np.testing.assert_allclose(few.logits, more.logits[:6], atol=1e-4)


def test_progress_is_told_after_every_batch(model, tokenizer, texts) -> None:
    told: list[int] = []
    human_next_tokens(model, tokenizer, texts, count=10, per_document=1, seed=0, progress=told.append)
    assert told == [8, 10]


def test_too_little_text_says_how_much_there_is(model, tokenizer, texts) -> None:
    # Ten of the twelve documents have more than MIN_PREFIX_TOKENS tokens.
    with pytest.raises(InvalidInputError, match=r"11 positions .* 12 texts offer only 10"):
        human_next_tokens(model, tokenizer, texts, count=11, per_document=1, seed=0)


@pytest.mark.parametrize(("count", "per_document"), [(0, 1), (1, 0), (-3, 1)])
def test_counts_must_be_positive(model, tokenizer, texts, count: int, per_document: int) -> None:
    with pytest.raises(InvalidInputError, match=f"count={count} and per_document={per_document}"):
        human_next_tokens(model, tokenizer, texts, count=count, per_document=per_document, seed=0)


def write_archive(path: Path, texts: list[str]) -> Path:
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, ["article_id", "text"])
    writer.writeheader()
    writer.writerows({"article_id": index, "text": text} for index, text in enumerate(texts))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("articles.csv", table.getvalue())
    return path


def test_broken_empty_and_repeated_articles_are_left_out(tmp_path: Path) -> None:
    whole = ["Is this whole? Yes.", 'He said "yes".\nAnd, then, left.', "Plain words."]
    broken = ['He said "?yes".', "It?s broken.", "What is ?this", "A \ufffd character."]
    archive = write_archive(tmp_path / "a.zip", [*broken, *whole, "", "  ", whole[0], f" {whole[1]} "])
    assert sorted(read_news_articles(archive)) == sorted(whole)


def test_the_order_of_articles_is_that_of_their_hashes(tmp_path: Path) -> None:
    texts = [f"Article number {index}." for index in range(20)]
    forwards = read_news_articles(write_archive(tmp_path / "a.zip", texts))
    backwards = read_news_articles(write_archive(tmp_path / "b.zip", texts[::-1]))
    assert forwards == backwards
    assert forwards != texts


def test_the_demo_corpus_is_what_it_says() -> None:
    articles = read_news_articles()
    assert NEWS_ARTICLES.find() is not None
    assert len(articles) == len(set(articles)) == 2_428
    assert not any(re.search(r"\w\?\w", article) for article in articles)
    assert 2_000 < np.median([len(article) for article in articles]) < 4_000


@pytest.mark.model
def test_the_demo_model_foresees_human_text(demo_model: LanguageModel) -> None:
    texts = read_news_articles()
    logits, tokens = human_next_tokens(*demo_model, texts, count=24, per_document=8, seed=0)
    assert logits.shape == (24, 49_152)
    log_probs = torch.log_softmax(torch.from_numpy(logits).double(), dim=-1)
    rows = torch.arange(24)
    surprise = -log_probs[rows, torch.from_numpy(tokens)].mean().item()
    exchanged = -log_probs[rows, torch.from_numpy(np.roll(tokens, 1))].mean().item()
    # Measured: 3.5 nats for the tokens people wrote there, 12.8 for those they wrote elsewhere.
    assert 2.0 < surprise < 5.0
    assert exchanged > 8.0
