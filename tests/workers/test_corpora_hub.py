"""Hub datasets without a hub: `datasets` really streams, but from a local file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets
import huggingface_hub
import pyarrow
import pyarrow.parquet
import pytest

from bat.errors import InvalidInputError
from workers.corpora import CorpusUnavailableError, DocumentCounts, document_id, open_corpus, split_of
from workers.corpora.hub import OPENWEBTEXT, OPENWEBTEXT_REVISION

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TEXTS = [f"Page {index} of the web." for index in range(50)]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Serve every dataset from one Parquet file, and note what was asked for."""
    path = tmp_path / "train.parquet"
    rows = {"text": [*TEXTS, TEXTS[0], None, " "], "score": list(range(53))}
    pyarrow.parquet.write_table(pyarrow.table(rows), path)
    asked: dict[str, Any] = {}
    load_dataset = datasets.load_dataset

    def load_local(name: str, config: str | None, *, split: str, revision: str, streaming: bool) -> Any:
        asked.update(name=name, config=config, split=split, revision=revision, streaming=streaming)
        return load_dataset(
            "parquet",
            data_files={"train": str(path)},
            split=split,
            streaming=streaming,
            cache_dir=str(tmp_path / "cache"),
        )

    def dataset_info(name: str, *, revision: str | None, timeout: float) -> SimpleNamespace:
        asked["resolved"] = (name, revision)
        return SimpleNamespace(sha=COMMIT)

    monkeypatch.setattr(datasets, "load_dataset", load_local)
    monkeypatch.setattr(huggingface_hub, "dataset_info", dataset_info)
    return asked


def test_openwebtext_is_streamed_at_the_pinned_commit(hub: dict[str, Any]) -> None:
    corpus = open_corpus("openwebtext")
    assert corpus.revision == OPENWEBTEXT_REVISION
    assert hub == {}  # nothing is asked of the hub before the documents are
    documents = list(corpus.documents())
    assert hub == {
        "name": OPENWEBTEXT,
        "config": None,
        "split": "train",
        "revision": OPENWEBTEXT_REVISION,
        "streaming": True,
        "resolved": (OPENWEBTEXT, OPENWEBTEXT_REVISION),
    }
    # A stream keeps its own order.
    assert [document.text for document in documents] == [
        text for text in TEXTS if split_of(document_id(text)) == "test"
    ]


def test_a_stream_is_read_only_as_far_as_needed_and_counts_what_it_drops(hub: dict[str, Any]) -> None:
    corpus = open_corpus("datasets:someone/pages", split="all", revision=COMMIT)
    reader = corpus.documents()
    assert [document.text for document in itertools.islice(reader, 3)] == TEXTS[:3]
    assert reader.counts == DocumentCounts(read=3, kept=3)
    assert [document.text for document in reader] == TEXTS[3:]
    assert reader.counts == DocumentCounts(read=53, empty=2, duplicates=1, kept=50)
    assert len(list(corpus.documents())) == 50


def test_a_branch_is_pinned_to_its_commit_when_the_corpus_is_opened(hub: dict[str, Any]) -> None:
    assert open_corpus("datasets:someone/pages").revision == COMMIT
    assert hub["resolved"] == ("someone/pages", None)
    corpus = open_corpus("datasets:someone/pages", revision="refs/convert/parquet", config="english")
    assert hub["resolved"] == ("someone/pages", "refs/convert/parquet")
    assert corpus.revision == COMMIT
    next(corpus.documents())
    assert (hub["config"], hub["revision"]) == ("english", COMMIT)


def test_a_missing_column_is_answered_with_those_there_are(hub: dict[str, Any]) -> None:
    corpus = open_corpus("openwebtext", column="body")
    with pytest.raises(InvalidInputError, match="those in dataset Skylion007/openwebtext: 'text', 'score'"):
        next(corpus.documents())


def test_a_split_that_the_dataset_does_not_have_is_invalid(hub: dict[str, Any]) -> None:
    corpus = open_corpus("openwebtext", source_split="dev")
    with pytest.raises(InvalidInputError, match=r"cannot be opened as asked: .*dev.* Check revision, config"):
        next(corpus.documents())


class TransportError(Exception):
    """Like what HTTP clients raise when there is no network: not an OSError."""


@pytest.mark.parametrize("error", [TransportError("no route"), ConnectionError("no route")])
def test_a_hub_that_cannot_be_reached_says_what_to_do(
    hub: dict[str, Any], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(huggingface_hub, "dataset_info", unreachable)
    message = r"'someone/pages' cannot be reached .*no route.*HF_ENDPOINT.*local JSONL or Parquet file"
    with pytest.raises(CorpusUnavailableError, match=message):
        open_corpus("datasets:someone/pages")
    with pytest.raises(CorpusUnavailableError, match=message):
        next(open_corpus("datasets:someone/pages", revision=COMMIT).documents())


def test_a_stream_that_breaks_off_says_what_to_do(
    hub: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaking_off(*_: object, **__: object) -> Iterator[dict[str, str]]:
        yield {"text": TEXTS[0]}
        raise TransportError("connection reset")

    monkeypatch.setattr(datasets, "load_dataset", breaking_off)
    reader = open_corpus("openwebtext", split="all").documents()
    assert next(reader).text == TEXTS[0]
    with pytest.raises(CorpusUnavailableError, match="connection reset"):
        next(reader)


def test_a_dataset_that_is_not_there_is_invalid(hub: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise datasets.exceptions.DatasetNotFoundError("nothing there")

    monkeypatch.setattr(datasets, "load_dataset", missing)
    with pytest.raises(InvalidInputError, match=r"must hold dataset 'someone/pages' .* Check its name"):
        next(open_corpus("datasets:someone/pages", revision=COMMIT).documents())
