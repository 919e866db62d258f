from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import transformers

from bat.errors import InvalidInputError
from harness.report.tokenizers import load_tokenizer, token_texts
from workers import fake_model
from workers.encoding import decode, encode

FAKE = "fake:v=300,d=16"
END = 256


@pytest.fixture(autouse=True)
def _empty_cache() -> Iterator[None]:
    load_tokenizer.cache_clear()
    yield
    load_tokenizer.cache_clear()


def test_texts_make_up_the_whole_one_and_characters_belong_to_their_last_token() -> None:
    tokenizer = load_tokenizer(FAKE)
    context, text = encode(tokenizer, "A"), "b é \N{SNOWMAN}."
    tokens = encode(tokenizer, text)
    assert len(tokens) == len(text.encode())  # fakes spell in bytes
    texts = token_texts(FAKE, context, tokens)
    assert texts == ["b", " ", "", "é", " ", "", "", "\N{SNOWMAN}", "."]


def test_a_character_may_begin_in_the_context_or_never_end() -> None:
    whole = encode(load_tokenizer(FAKE), "a\N{SNOWMAN}b")
    assert token_texts(FAKE, whole[:2], whole[2:]) == ["", "\N{SNOWMAN}", "b"]
    assert token_texts(FAKE, whole[:1], whole[1:3]) == ["", "\ufffd"]


def test_special_and_unused_tokens_have_names() -> None:
    letter = encode(load_tokenizer(FAKE), "x")
    expected = ["x", "<|endoftext|>", "x", "<unused 5000>", "x"]
    assert token_texts(FAKE, [END], [*letter, END, *letter, 5000, *letter]) == expected
    assert token_texts(FAKE, [], []) == []


def test_tokens_of_a_long_text_are_told_apart_with_few_before_them() -> None:
    tokenizer = load_tokenizer(FAKE)
    tokens = [*encode(tokenizer, "word and \N{SNOWMAN} word. " * 20), 260, 270]
    texts = token_texts(FAKE, encode(tokenizer, "Once"), tokens)
    assert "".join(texts) == decode(tokenizer, tokens)


def test_tokenizers_are_read_from_folders_without_weights(tmp_path: Path) -> None:
    fake_model.parse(FAKE)
    load_tokenizer(FAKE).save_pretrained(tmp_path)
    tokens = encode(load_tokenizer(FAKE), "né")
    assert token_texts(str(tmp_path), [], tokens) == ["n", "", "é"]


@pytest.mark.model
def test_the_demo_model_gives_its_tokenizer_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", fail)
    tokenizer = load_tokenizer("smollm2-135m")
    tokens = encode(tokenizer, "The mayor said “no” — 東京.")
    texts = token_texts("smollm2-135m", [], tokens)
    assert texts[:3] == ["The", " mayor", " said"]
    assert "".join(texts) == "The mayor said “no” — 東京."


def test_a_tokenizer_is_loaded_once_and_looked_for_here_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None, bool]] = []
    tokenizer = load_tokenizer(FAKE)

    def answer(pretrained_model_name_or_path: str, revision: str | None, **options: Any) -> Any:
        here = options["local_files_only"]
        asked.append((pretrained_model_name_or_path, revision, here))
        assert options["trust_remote_code"] is False
        if here:
            raise OSError("not in the cache")
        return tokenizer

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", answer)
    tokens = encode(tokenizer, "ab")
    for _ in range(2):
        assert token_texts("someone/model", [], tokens, "abc") == ["a", "b"]
    assert asked == [("someone/model", "abc", True), ("someone/model", "abc", False)]


def test_what_cannot_be_had_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(**_: Any) -> None:
        raise OSError("no such model.\nmore")

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", fail)
    with pytest.raises(InvalidInputError, match=r"tokenizer of 'someone/model' .* no such model\. Check"):
        token_texts("someone/model", [], [1])
    with pytest.raises(InvalidInputError, match="cannot be loaded"):
        token_texts(str(tmp_path), [], [1])
    with pytest.raises(InvalidInputError, match="cannot be loaded"):
        token_texts(str(tmp_path / "missing.gguf"), [], [1])
    with pytest.raises(InvalidInputError, match="at least 0; got -1"):
        token_texts(FAKE, [], [-1])
