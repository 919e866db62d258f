"""What is remembered of a model: the same as loading it gives, until its files change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from bat.errors import InvalidInputError
from workers import model_cards, models
from workers.fingerprints import tokenizer_fingerprint
from workers.model_cards import load_card
from workers.models import load


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The models whose weights were read."""
    monkeypatch.setenv("BAT_HARNESS_CACHE", str(tmp_path / "cache"))
    names: list[str] = []

    def counting(name: str, *settings: object) -> models.LanguageModel:
        names.append(name)
        return load(name, *settings)  # type: ignore[arg-type]

    monkeypatch.setattr(model_cards.models, "load", counting)
    return names


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model folder whose files have not changed for a while."""
    fake = load("fake:v=300,d=8")
    path = tmp_path / "model"
    fake.model.save_pretrained(path)
    fake.tokenizer.save_pretrained(path)
    _age(path)
    return path


def _age(folder: Path, seconds: float = 60.0) -> None:
    for file in folder.iterdir():
        then = file.stat().st_mtime - seconds
        os.utime(file, (then, then))


def test_weights_are_read_once_until_they_change(folder: Path, reads: list[str]) -> None:
    name = str(folder)
    expected = load(name, "cpu").info
    for _ in range(2):
        info, tokenizer = load_card(name)
        assert info == expected
        assert tokenizer_fingerprint(tokenizer) == expected.tokenizer_fingerprint
    assert reads == [name]
    assert load_card(name, "bfloat16")[0].dtype == "bfloat16"
    assert reads == [name, name]

    model = load(name, "cpu").model
    with torch.no_grad():
        next(model.parameters()).add_(1.0)
    model.save_pretrained(folder)
    _age(folder, 30.0)
    assert load_card(name)[0].weight_fingerprint != expected.weight_fingerprint
    assert reads == [name, name, name]


def test_a_tokenizer_is_read_once_in_a_process(folder: Path) -> None:
    load_card(str(folder))
    assert load_card(str(folder))[1] is load_card(str(folder))[1]


def test_files_that_changed_a_moment_ago_are_read_every_time(folder: Path, reads: list[str]) -> None:
    (folder / "config.json").touch()
    assert load_card(str(folder))
    assert load_card(str(folder))
    assert len(reads) == 2


def test_a_damaged_card_is_made_again(folder: Path, reads: list[str], tmp_path: Path) -> None:
    name = str(folder)
    info, _ = load_card(name)
    [card] = (tmp_path / "cache" / "cards").iterdir()
    for damaged in ("", "{}", "[1]", '{"end_tokens": [1], "name": "x"}'):
        card.write_text(damaged, encoding="utf-8")
        assert load_card(name)[0] == info
    assert len(reads) == 5


def test_a_cache_that_cannot_be_written_does_no_harm(
    folder: Path, reads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("BAT_HARNESS_CACHE", str(tmp_path / "file"))
    name = str(folder)
    assert load_card(name)[0] == load_card(name)[0]
    assert reads == [name, name]


def test_fake_models_are_remembered_for_the_code_that_makes_them(
    reads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "fake:v=300,d=8"
    expected = load(name, "cpu")
    for same in (name, "fake:d=8,v=300,slow=0.1"):  # misbehaviour changes no result
        info, tokenizer = load_card(same)
        assert info == expected.info
        assert tokenizer_fingerprint(tokenizer) == info.tokenizer_fingerprint
    assert reads == [name]
    changed = tmp_path / "fake_model.py"
    changed.write_text("# other weights\n", encoding="utf-8")
    monkeypatch.setattr(model_cards.fake_model, "__file__", str(changed))
    assert load_card(name)[0] == expected.info
    assert reads == [name, name]
    with pytest.raises(InvalidInputError, match="revision can be asked of hub models only"):
        load_card(name, revision="main")


def test_a_tokenizer_that_its_file_does_not_tell_whole_is_read_by_its_class(
    folder: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, _ = load_card(str(folder))
    fake = load("fake:v=400,d=8").tokenizer
    monkeypatch.setattr(model_cards.pretrained, "read_tokenizer_file", lambda *_: fake)
    info, tokenizer = load_card(str(folder))
    assert info == expected
    assert tokenizer_fingerprint(tokenizer) == expected.tokenizer_fingerprint

    def fail(*_: object) -> None:
        raise OSError("no tokenizer.json")

    monkeypatch.setattr(model_cards.pretrained, "read_tokenizer_file", fail)
    assert tokenizer_fingerprint(load_card(str(folder))[1]) == expected.tokenizer_fingerprint
    assert reads == [str(folder)]
