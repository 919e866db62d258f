"""Local files: which names mean one, and that a change of content is noticed, and nothing else."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from workers import local_files
from workers.corpora.files import _READERS, is_plain_text
from workers.corpora.registry import CORPORA
from workers.local_files import (
    corpus_revision,
    digest_of,
    find_corpus_files,
    find_model_files,
    find_signature,
    is_corpus_path,
    is_model_path,
    model_revision,
)
from workers.models import EMBEDDED_MODELS
from workers.names import BUILT_IN_CORPORA, EMBEDDED_MODEL_NAMES


def test_names_that_mean_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("news", "gpt2", "smollm2-135m"):
        Path(name).mkdir()  # a built-in name means what is built in, whatever lies around
    assert [
        is_corpus_path(name) for name in ("news", "datasets:x/y", "a.jsonl", "texts/", "package:Text")
    ] == [
        *(False, False, True, False, False),
    ]
    assert is_corpus_path("./a/b")
    assert [
        is_model_path(name) for name in ("smollm2-135m", "fake", "fake:v=9", "x/gpt2", "gpt2", "m.GGUF")
    ] == [
        *(False, False, False, False, True, True),
    ]


def test_the_names_here_are_those_of_the_registries() -> None:
    assert set(BUILT_IN_CORPORA) == set(CORPORA.builtins)
    assert set(EMBEDDED_MODEL_NAMES) == set(EMBEDDED_MODELS)
    plain_text = {suffix for suffix in local_files.CORPUS_SUFFIXES if is_plain_text(Path(f"a{suffix}"))}
    assert plain_text == {".txt", ".txt.gz"}
    assert {*_READERS, *plain_text} == set(local_files.CORPUS_SUFFIXES)


def settle(*files: Path) -> None:
    for file in files:
        os.utime(file, (time.time() - 60, time.time() - 60))


def test_a_corpus_is_its_content(tmp_path: Path) -> None:
    file, copy = tmp_path / "a.jsonl", tmp_path / "elsewhere" / "b.jsonl"
    copy.parent.mkdir()
    for path in (file, copy):
        path.write_text('{"text": "one"}')
    assert corpus_revision([file]) == corpus_revision([copy])
    assert find_signature([file]) is None  # it was written just now, and could be again
    settle(file)
    before, revision = find_signature([file]), corpus_revision([file])
    assert before is not None
    assert find_signature([file]) == before
    file.write_text('{"text": "two"}')  # as long as before
    os.utime(file, (time.time() - 60, time.time() - 60))
    assert find_signature([file]) != before  # the time of modification is old, that of the change is not
    assert corpus_revision([file]) != revision


def test_a_file_is_read_once_by_a_process_unless_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one")
    settle(file)
    reads: list[Path] = []
    read = local_files._read_digest
    monkeypatch.setattr(local_files, "_read_digest", lambda path: (reads.append(path), read(path))[1])
    assert digest_of(file) == digest_of(file)
    assert len(reads) == 1
    first = digest_of(file)
    file.write_text("two")
    assert digest_of(file) != first


def test_a_model_folder_is_what_its_loaders_read(tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors", "optimizer.bin", "README.md"):
        (tmp_path / name).write_text(name)
    files = find_model_files(tmp_path)
    assert [file.name for file in files] == ["config.json", "model.safetensors"]
    before = model_revision(files)
    (tmp_path / "README.md").write_text("more words")
    assert model_revision(find_model_files(tmp_path)) == before
    (tmp_path / "model.safetensors").write_text("other weights")
    assert model_revision(find_model_files(tmp_path)) != before
    gguf = tmp_path / "m.gguf"
    gguf.write_bytes(b"GGUF")
    assert find_model_files(gguf) == (gguf,)
    assert find_corpus_files(tmp_path / "..").count(tmp_path) == 0
