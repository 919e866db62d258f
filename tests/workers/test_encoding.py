from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BatchEncoding, PreTrainedTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from workers import encoding
from workers.corpora import open_corpus
from workers.encoding import decode, decode_continuation, encode, encode_openings, leading_ids
from workers.models import LanguageModel

WORDS = (
    "the mayor said that one of her friends wouldn't come, to town hall; café 東京 12,345 $9.99 -- ... é 😀"
)


def sentences(seed: int, count: int) -> list[str]:
    """Texts of words, odd spaces and long runs, from 0 to about 3,000 characters."""
    generator = random.Random(seed)
    pieces = [*WORDS.split(), "\n", "\n\n", "\t", "  ", "=" * 70, "a" * 300, " " * 150, "<end>"]
    return [
        "".join(
            generator.choice(pieces) + generator.choice([" ", " ", " ", ""])
            for _ in range(generator.choice([0, 3, 40, 400]))
        )
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def byte_level() -> PreTrainedTokenizerFast:
    """A tokenizer like GPT-2's: bytes, words with the space before them, nothing added."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([WORDS] * 5, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<end>", eos_token="<end>")


@pytest.fixture(scope="module")
def whole_text() -> PreTrainedTokenizerFast:
    """A tokenizer like Gemma's: merges over the whole text, spaces as marks, a beginning added."""
    learner = Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<unk>", "<bos>", "<end>"], show_progress=False
    )
    # Trained on single words, so that no token spans a space between two of them.
    learner.train_from_iterator([f"▁{word}" for word in WORDS.split()] * 5, trainer)
    learnt = json.loads(learner.to_str())["model"]
    unseen = [f"<0x{byte:02X}>" for byte in range(256)]  # what characters outside the vocabulary become
    vocabulary = learnt["vocab"] | {name: len(learnt["vocab"]) + byte for byte, name in enumerate(unseen)}
    merges = [(left, right) for left, right in learnt["merges"]]
    inner = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=True, unk_token="<unk>"))
    inner.add_special_tokens(["<unk>", "<bos>", "<end>"])
    inner.normalizer = normalizers.Replace(" ", "▁")
    inner.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    inner.post_processor = processors.TemplateProcessing(
        single="<bos> $A <end>", special_tokens=[("<bos>", 1), ("<end>", 2)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<bos>", eos_token="<end>")


class SlowTokenizer(PreTrainedTokenizer):
    """One token a character, without the offsets that fast tokenizers give."""

    @property
    def vocab_size(self) -> int:
        return 128

    def get_vocab(self) -> dict[str, int]:
        return {chr(code): code for code in range(128)}

    def _tokenize(self, text: str, **_: object) -> list[str]:
        return list(text)

    def _convert_token_to_id(self, token: str) -> int:
        return ord(token) % 128

    def _convert_id_to_token(self, index: int) -> str:
        return chr(index)


@pytest.fixture(params=["byte_level", "whole_text"])
def tokenizer(request: pytest.FixtureRequest) -> PreTrainedTokenizerFast:
    found: PreTrainedTokenizerFast = request.getfixturevalue(request.param)
    return found


def test_a_beginning_is_put_first_only_where_the_tokenizer_does_so_itself(
    byte_level: PreTrainedTokenizerFast, whole_text: PreTrainedTokenizerFast
) -> None:
    assert leading_ids(byte_level) == ()
    assert byte_level.bos_token_id is not None
    assert leading_ids(whole_text) == (1,)
    ids = encode(whole_text, "the mayor said")
    assert ids[0] == 1
    assert 2 not in ids  # and no end, which would tell the model that all is said
    assert encode(byte_level, "the mayor") == tuple(byte_level("the mayor").input_ids)


@pytest.mark.parametrize("tokens", [1, 7, 35, 100])
def test_cutting_long_texts_does_not_change_their_tokens(
    tokenizer: PreTrainedTokenizerFast, tokens: int
) -> None:
    texts = sentences(seed=tokens, count=60)
    lead = len(leading_ids(tokenizer))
    expected = [encode(tokenizer, text)[: lead + tokens] for text in texts]
    assert encode_openings(tokenizer, texts, tokens) == expected


def test_only_the_beginning_of_a_long_text_is_read(
    byte_level: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    inner = encoding._encode

    def counting(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> BatchEncoding:
        read.extend(map(len, texts))
        return inner(tokenizer, texts)

    monkeypatch.setattr(encoding, "_encode", counting)
    [ids] = encode_openings(byte_level, ["the mayor said " * 100_000], 35)
    assert len(ids) == 35
    assert sum(read) < 1000


def test_tokens_of_many_characters_are_read_further(byte_level: PreTrainedTokenizerFast) -> None:
    ids = encode_openings(byte_level, ["the " + "\n" * 5000 + "mayor said " * 100], 60)[0]
    assert ids == encode(byte_level, "the " + "\n" * 5000 + "mayor said " * 100)[:60]


def test_slow_tokenizers_are_served_too() -> None:
    slow = SlowTokenizer()
    text = "the mayor said " * 100
    assert not slow.is_fast
    assert encode_openings(slow, [text], 35) == [tuple(map(ord, text[:35]))]


def test_special_tokens_written_out_in_a_text_are_text(tokenizer: PreTrainedTokenizerFast) -> None:
    text = "said<end> the"
    ids = encode(tokenizer, text)
    assert tokenizer.eos_token_id not in ids
    assert decode(tokenizer, ids) == text


def test_decoding_gives_back_every_space(byte_level: PreTrainedTokenizerFast) -> None:
    byte_level.clean_up_tokenization_spaces = True  # what would take away the space before a comma
    for text in ["the mayor , said  that .", " leading", "trailing ", "a\n\n b", "it 's ."]:
        assert decode(byte_level, encode(byte_level, text)) == text


def test_a_continuation_is_the_text_after_its_prefix_even_within_a_character(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    text = "the mayor 🦜 said"  # the bird is not in the vocabulary, and takes four tokens
    ids = encode(tokenizer, text)
    lead = len(leading_ids(tokenizer))
    for end in range(lead, len(ids) + 1):
        before = decode(tokenizer, ids[:end]).rstrip("\ufffd")
        assert before + decode_continuation(tokenizer, ids[:end], ids[end:]) == text
    assert len(ids) > 5


def test_no_texts_give_no_openings(tokenizer: PreTrainedTokenizerFast) -> None:
    assert encode_openings(tokenizer, [], 5) == []


@pytest.mark.model
def test_the_demo_tokenizer_reads_openings_as_it_reads_whole_articles(demo_model: LanguageModel) -> None:
    texts = [document.text for document in open_corpus("news").documents()][:300]
    tokenizer = demo_model.tokenizer
    assert leading_ids(tokenizer) == ()
    openings = encode_openings(tokenizer, texts, 35)
    assert openings == [encode(tokenizer, text)[:35] for text in texts]
    assert all(
        text.startswith(decode(tokenizer, ids).rstrip("\ufffd"))
        for text, ids in zip(texts, openings, strict=True)
    )
