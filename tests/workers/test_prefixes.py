from __future__ import annotations

import itertools
import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from bat.errors import InvalidInputError
from workers.corpora import Corpus, DocumentCounts, document_id, open_corpus
from workers.models import LanguageModel
from workers.prefixes import (
    MIN_CONTINUATION_TOKENS,
    PAPER_PREFIX_TOKENS,
    PAPER_PREFIXES,
    PrefixSet,
    prefixes,
)

VOCABULARY = 300


def make_tokenizer(*, beginning: bool = False) -> PreTrainedTokenizerFast:
    """One token for each of the words w0, w1, ..., and if asked a beginning of text."""
    words = {f"w{index}": index for index in range(VOCABULARY)} | {"<bos>": VOCABULARY}
    inner = Tokenizer(models.WordLevel(words, unk_token="w0"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if beginning:
        inner.post_processor = processors.TemplateProcessing(
            single="<bos> $A", special_tokens=[("<bos>", VOCABULARY)]
        )
    return PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<bos>")


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return make_tokenizer()


def text_of(length: int) -> str:
    """The words w0, w1, ... up to a length, so that lengths name documents."""
    return " ".join(f"w{index}" for index in range(length))


LENGTHS = range(1, 201)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Documents of 1 to 200 words, each once, with a duplicate and an empty one."""
    return write(tmp_path, [*map(text_of, LENGTHS), text_of(60), ""])


def write(folder: Path, texts: list[str]) -> Corpus:
    path = folder / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return open_corpus(path, split="all")


def test_a_prefix_is_the_opening_of_a_document_and_how_it_went_on(
    corpus: Corpus, tokenizer: PreTrainedTokenizerFast
) -> None:
    found = prefixes(corpus, tokenizer, n=20, tokens=10, continuation_tokens=50, min_continuation_tokens=30)
    lengths = {document_id(text_of(length)): length for length in LENGTHS}
    assert [prefix.id for prefix in found.prefixes] == sorted(prefix.id for prefix in found.prefixes)
    for prefix in found.prefixes:
        assert lengths[prefix.id] >= 40
        assert prefix.token_ids == tuple(range(10))
        assert prefix.continuation_ids == tuple(range(10, min(lengths[prefix.id], 60)))
    assert (found.corpus, found.revision, found.split) == (corpus.name, corpus.revision, "all")


def test_what_was_passed_over_is_counted(corpus: Corpus, tokenizer: PreTrainedTokenizerFast) -> None:
    found = prefixes(corpus, tokenizer, n=161, tokens=10, min_continuation_tokens=30)
    assert found.counts == DocumentCounts(read=202, empty=1, duplicates=1, kept=200)
    documents = [document.id for document in corpus.documents()]
    # Only the short ones that come before the last prefix are measured, and so counted.
    before = documents[: documents.index(found.prefixes[-1].id)]
    assert found.too_short == len(set(before) & {document_id(text_of(length)) for length in range(1, 40)})


def test_too_few_documents_say_how_many_there_are(corpus: Corpus, tokenizer: PreTrainedTokenizerFast) -> None:
    message = (
        r"500 prefixes .*\(split all\) has only 161: of 202 texts, 1 empty, 0 broken, 1 duplicates, "
        r"0 in the other split and 39 shorter than 40 tokens\. Name a larger corpus, or ask for less\."
    )
    with pytest.raises(InvalidInputError, match=message):
        prefixes(corpus, tokenizer, n=500, tokens=10, min_continuation_tokens=30)
    with pytest.raises(InvalidInputError, match="or take split: all"):
        prefixes(replace(corpus, split="test"), tokenizer, n=500, tokens=10)


@pytest.mark.parametrize("documents_per_batch", [1, 3, 1000])
def test_the_batch_changes_nothing(
    corpus: Corpus, tokenizer: PreTrainedTokenizerFast, documents_per_batch: int
) -> None:
    expected = prefixes(corpus, tokenizer, n=50, tokens=10)
    found = prefixes(corpus, tokenizer, n=50, tokens=10, documents_per_batch=documents_per_batch)
    assert found == expected
    assert found.fingerprint == expected.fingerprint


def test_the_order_of_the_file_changes_nothing(tmp_path: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    forward = prefixes(write(tmp_path, [text_of(length) for length in LENGTHS]), tokenizer, n=30)
    backward = prefixes(write(tmp_path, [text_of(length) for length in reversed(LENGTHS)]), tokenizer, n=30)
    assert forward.prefixes == backward.prefixes


def test_fewer_prefixes_are_the_first_of_more(corpus: Corpus, tokenizer: PreTrainedTokenizerFast) -> None:
    many, few = (prefixes(corpus, tokenizer, n=n, tokens=10) for n in (60, 7))
    assert many.prefixes[:7] == few.prefixes
    assert many.fingerprint != few.fingerprint


def test_how_much_of_the_continuation_is_kept_changes_no_prefix(
    corpus: Corpus, tokenizer: PreTrainedTokenizerFast
) -> None:
    long, short, none = (
        prefixes(corpus, tokenizer, n=60, tokens=10, continuation_tokens=kept) for kept in (150, 20, 0)
    )
    assert long.fingerprint == short.fingerprint == none.fingerprint
    assert long.human_fingerprint != short.human_fingerprint
    assert {len(prefix.continuation_ids) for prefix in short.prefixes} == {20}
    assert {prefix.continuation_ids for prefix in none.prefixes} == {()}


def test_the_fingerprint_notices_other_tokens_and_other_documents(
    corpus: Corpus, tokenizer: PreTrainedTokenizerFast
) -> None:
    found = prefixes(corpus, tokenizer, n=5, tokens=10)
    first, *others = found.prefixes
    changed: list[PrefixSet] = [
        replace(found, prefixes=(replace(first, id="0" * 16), *others)),
        replace(found, prefixes=(replace(first, token_ids=(9, *first.token_ids[1:])), *others)),
        replace(found, prefixes=(*others, first)),
    ]
    assert len({each.fingerprint for each in [found, *changed]}) == 4


def test_a_beginning_of_text_stands_before_the_tokens_that_are_counted(corpus: Corpus) -> None:
    plain = prefixes(corpus, make_tokenizer(), n=20, tokens=10)
    begun = prefixes(corpus, make_tokenizer(beginning=True), n=20, tokens=10)
    for without, with_beginning in zip(plain.prefixes, begun.prefixes, strict=True):
        assert with_beginning.token_ids == (VOCABULARY, *without.token_ids)
        assert with_beginning.continuation_ids == without.continuation_ids


def test_a_prefix_set_can_be_sent_to_another_process(
    corpus: Corpus, tokenizer: PreTrainedTokenizerFast
) -> None:
    found = prefixes(corpus, tokenizer, n=5, tokens=10)
    assert pickle.loads(pickle.dumps(found)) == found


def test_progress_is_told_of_every_prefix(corpus: Corpus, tokenizer: PreTrainedTokenizerFast) -> None:
    told: list[int] = []
    prefixes(corpus, tokenizer, n=12, tokens=10, progress=told.append)
    assert told == list(range(1, 13))


def test_a_stream_is_counted_up_to_the_last_prefix(tokenizer: PreTrainedTokenizerFast) -> None:
    class Stream:
        revision = "1"
        streamed = True

        def texts(self) -> itertools.chain[str]:
            return itertools.chain(["", text_of(5)], map(text_of, itertools.count(50)))

        def is_broken(self, text: str) -> bool:
            return False

    endless = Corpus("endless", "all", Stream())
    found = prefixes(endless, tokenizer, n=3, tokens=10, min_continuation_tokens=40)
    assert [prefix.id for prefix in found.prefixes] == [document_id(text_of(n)) for n in (50, 51, 52)]
    assert found.counts == DocumentCounts(read=5, empty=1, kept=4)
    assert found.too_short == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("n", 0), ("tokens", 0), ("continuation_tokens", -1), ("min_continuation_tokens", 1.5), ("n", True)],
)
def test_numbers_that_make_no_sense_are_invalid(
    corpus: Corpus, tokenizer: PreTrainedTokenizerFast, name: str, value: int
) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} must be an integer of at least"):
        prefixes(corpus, tokenizer, **{name: value})


@pytest.mark.model
def test_the_movie_reviews_hold_as_many_prefixes_as_the_paper_uses(demo_model: LanguageModel) -> None:
    found = prefixes(
        open_corpus("movie-reviews"), demo_model.tokenizer, continuation_tokens=MIN_CONTINUATION_TOKENS
    )
    assert len({prefix.id for prefix in found.prefixes}) == PAPER_PREFIXES == 5000
    assert {len(prefix.token_ids) for prefix in found.prefixes} == {PAPER_PREFIX_TOKENS} == {35}
    assert {len(prefix.continuation_ids) for prefix in found.prefixes} == {MIN_CONTINUATION_TOKENS}
    assert found.too_short > 0
