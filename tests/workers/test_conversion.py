"""GGUF files become model folders once, whatever happens meanwhile."""

from __future__ import annotations

import multiprocessing
import threading
import time
from pathlib import Path

import pytest

from bat.basis import CACHE_VARIABLE
from workers import conversion
from workers.assets import AssetError
from workers.conversion import prepare_model


@pytest.fixture
def gguf_file(tmp_path: Path) -> Path:
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"weights")
    return file


class FakeConversion:
    """Stands in for the slow conversion, and counts how often it ran."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.calls = 0
        self.seconds = seconds

    def __call__(self, gguf_file: Path, folder: Path) -> None:
        self.calls += 1
        (folder / "first").write_bytes(gguf_file.read_bytes())
        time.sleep(self.seconds)
        (folder / "second").write_text("done")


def ignore(line: str) -> None:
    pass


def test_a_model_is_converted_once(gguf_file: Path, tmp_path: Path) -> None:
    convert, lines = FakeConversion(), list[str]()
    first = prepare_model([gguf_file], tmp_path / "cache", convert, lines.append)
    second = prepare_model([gguf_file], tmp_path / "cache", convert, lines.append)
    assert first == second
    assert (first / "first").read_bytes() == b"weights"
    assert (first / "second").read_text() == "done"
    assert convert.calls == 1
    assert len(lines) == 2
    assert "half a minute" in lines[0]


def test_another_content_is_another_conversion(gguf_file: Path, tmp_path: Path) -> None:
    convert = FakeConversion()
    first = prepare_model([gguf_file], tmp_path / "cache", convert, ignore)
    gguf_file.write_bytes(b"other weights")
    second = prepare_model([gguf_file], tmp_path / "cache", convert, ignore)
    assert first != second
    assert convert.calls == 2


def test_a_failed_conversion_leaves_nothing_and_is_tried_again(gguf_file: Path, tmp_path: Path) -> None:
    def fail(gguf_file: Path, folder: Path) -> None:
        (folder / "first").write_text("half")
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        prepare_model([gguf_file], tmp_path / "cache", fail, ignore)
    assert [path for path in (tmp_path / "cache" / "models").iterdir() if path.is_dir()] == []
    folder = prepare_model([gguf_file], tmp_path / "cache", FakeConversion(), ignore)
    assert (folder / "second").read_text() == "done"


def _convert_and_die(gguf_file: Path, folder: Path) -> None:
    (folder / "first").write_text("half")
    time.sleep(60)


def test_what_a_killed_conversion_left_is_removed(gguf_file: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    process = multiprocessing.get_context("fork").Process(
        target=prepare_model, args=([gguf_file], cache, _convert_and_die, ignore)
    )
    process.start()
    deadline = time.monotonic() + 30
    while not list(cache.glob("models/*.partial-*/first")):
        assert time.monotonic() < deadline, "the conversion did not start"
        time.sleep(0.01)
    process.kill()
    process.join()
    # The lock died with its process, so this neither waits nor trusts the half-written folder.
    folder = prepare_model([gguf_file], cache, FakeConversion(), ignore)
    assert (folder / "second").read_text() == "done"
    assert list(cache.glob("models/*.partial-*")) == []


def test_those_who_ask_at_once_share_one_conversion(gguf_file: Path, tmp_path: Path) -> None:
    convert, folders = FakeConversion(seconds=0.3), list[Path]()
    threads = [
        threading.Thread(
            target=lambda: folders.append(prepare_model([gguf_file], tmp_path / "cache", convert, ignore))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(folders) == 4
    assert len(set(folders)) == 1
    assert convert.calls == 1


def test_a_cache_that_cannot_be_written_says_how_to_name_another(gguf_file: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file stands where the folder should be")
    with pytest.raises(AssetError, match=CACHE_VARIABLE):
        prepare_model([gguf_file], tmp_path / "cache", FakeConversion(), ignore)


def test_a_missing_reader_is_named(gguf_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AssetError, match=r"gguf and accelerate.*bat-harness\[gguf\]"):
        conversion.convert_gguf(gguf_file, tmp_path)


def test_a_file_in_parts_is_converted_as_the_whole_one(gguf_file: Path, tmp_path: Path) -> None:
    parts = [tmp_path / "a" / "tiny.gguf.part00", tmp_path / "b" / "tiny.gguf.part01"]
    for part, content in zip(parts, (b"wei", b"ghts"), strict=True):
        part.parent.mkdir()
        part.write_bytes(content)
    convert = FakeConversion()
    folder = prepare_model(parts, tmp_path / "cache", convert, ignore)
    assert (folder / "first").read_bytes() == b"weights"
    assert sorted(path.name for path in folder.iterdir()) == ["first", "second"]
    assert prepare_model([gguf_file], tmp_path / "cache", convert, ignore) == folder
    assert convert.calls == 1
