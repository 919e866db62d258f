"""Local files that results depend on: which names stand for one, and what identifies their content.

Whoever starts a sweep asks this every time, so nothing here needs torch, and a file is read only if its size
or times have changed.
"""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path

from bat.errors import InvalidInputError
from workers.names import BUILT_IN_CORPORA, EMBEDDED_MODEL_NAMES, HUB_CORPUS, PACKAGED_MODEL, is_fake_name

CORPUS_SUFFIXES = (".jsonl", ".jsonl.gz", ".parquet", ".txt", ".txt.gz")

# What the loaders of models and tokenizers read. A folder of training has more: logs, states of optimizers.
_MODEL_SUFFIXES = (".safetensors", ".bin", ".json", ".model", ".txt", ".jinja", ".tiktoken")
_OF_TRAINING = ("trainer_state.json", "training_args.bin", "optimizer.bin", "scheduler.bin")

# Some file systems keep times to two seconds. A file that was changed that recently could change again
# without its size or times showing it.
_SECONDS_TO_SETTLE = 2.0


def is_corpus_path(name: str) -> bool:
    """Whether the name of a corpus stands for a local file or folder."""
    if name in BUILT_IN_CORPORA or name.startswith(HUB_CORPUS):
        return False
    path = Path(name).expanduser()
    return bool(name) and (path.exists() or len(path.parts) > 1 or name.lower().endswith(CORPUS_SUFFIXES))


def is_model_path(name: str) -> bool:
    """Whether the name of a model can only mean a file or folder: it is one, or no hub model is spelt so."""
    if name in EMBEDDED_MODEL_NAMES or is_fake_name(name) or name.startswith(PACKAGED_MODEL):
        return False
    spelt = name.startswith((".", "/", "~")) or name.lower().endswith(".gguf")
    return spelt or Path(name).exists()


def corpus_suffix(path: Path) -> str:
    """The suffix that says how to read a file of a corpus, or nothing."""
    name = path.name.lower()
    return max((suffix for suffix in CORPUS_SUFFIXES if name.endswith(suffix)), key=len, default="")


def find_corpus_files(path: Path) -> tuple[Path, ...]:
    """The file, or every readable file in a folder and below."""
    path = path.absolute()  # another process may stand in another folder
    if path.is_dir():
        paths = tuple(sorted(file for file in path.rglob("*") if file.is_file() and corpus_suffix(file)))
        if not paths:
            suffixes = ", ".join(CORPUS_SUFFIXES)
            raise InvalidInputError(
                f"a corpus folder must hold files ending in {suffixes}; there are none in {path}."
            )
        return paths
    if not path.is_file():
        raise InvalidInputError(f"corpus file {path} must exist, but there is no such file or folder.")
    if not corpus_suffix(path):
        raise InvalidInputError(f"a corpus file must end in {', '.join(CORPUS_SUFFIXES)}; got {path}.")
    return (path,)


def find_model_files(path: Path) -> tuple[Path, ...]:
    """A .gguf file, or the files of a model folder that its loaders read."""
    path = path.absolute()
    if not path.is_dir():
        return (path,)
    return tuple(
        sorted(
            file
            for file in path.iterdir()
            if file.is_file() and file.name.endswith(_MODEL_SUFFIXES) and file.name not in _OF_TRAINING
        )
    )


def corpus_revision(paths: Iterable[Path]) -> str:
    """What identifies the content of a corpus. Names and folders of its files are no part of it."""
    return _revision(sorted(digest_of(path) for path in paths))


def model_revision(paths: Iterable[Path]) -> str:
    """What identifies the content of a model folder, whose files are told apart by their names."""
    files = list(paths)
    if len(files) == 1:
        return _revision([digest_of(files[0])])
    return _revision(sorted(f"{file.name} {digest_of(file)}" for file in files))


def _revision(lines: list[str]) -> str:
    together = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"sha256:{together[:16]}"


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits; a process reads a file once."""
    state = _state(path)
    return _read_digest(path) if _is_unsettled(state[1]) else _known_digest(path, *state)


@functools.lru_cache(maxsize=65_536)
def _known_digest(path: Path, *state: int) -> str:
    return _read_digest(path)


def _read_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def find_signature(paths: Iterable[Path]) -> str | None:
    """What stays equal while files are not touched: their paths, sizes and times. Reads no file.

    None if one of them changed so recently that it could change again unnoticed.
    """
    states = [(str(path), *_state(path)) for path in paths]
    if any(_is_unsettled(modified) for _, _, modified, _ in states):
        return None
    return hashlib.sha256(json.dumps(states).encode()).hexdigest()[:32]


def _is_unsettled(modified_ns: int) -> bool:
    return modified_ns / 1e9 > time.time() - _SECONDS_TO_SETTLE


def _state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    # The time of the last change of the entry, too: restoring an older time of modification changes it.
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns
