"""The local files that a sweep reads, as they are now. A file is read only if its size or times changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.config.schema import SweepConfig
from harness.store import LocalInput
from workers.local_files import (
    corpus_revision,
    find_corpus_files,
    find_model_files,
    find_signature,
    is_corpus_path,
    is_model_path,
    model_revision,
)

Files = tuple[Path, ...]


@dataclass(frozen=True)
class _Named:
    """A file or folder that a sweep names."""

    key: str
    path: Path
    find_files: Callable[[Path], Files]
    revision: Callable[[Files], str]


def read_inputs(config: SweepConfig, known: Iterable[LocalInput]) -> tuple[LocalInput, ...]:
    """The local files of a sweep; `known` are those of earlier starts, the latest first.

    A file that is gone has the revision that it had at the latest start: results that are stored do not need
    it, and planning reports it otherwise. If it was never seen, it is left to planning.
    """
    earlier = list(known)
    signed = {(entry.path, entry.signature): entry.revision for entry in earlier if entry.signature}
    by_path = {entry.path: entry.revision for entry in reversed(earlier)}
    inputs = []
    for named in _named(config):
        path = str(named.path)
        if named.path.exists():
            files = named.find_files(named.path)
            signature = find_signature(files)
            revision = signed.get((path, signature)) or named.revision(files)
            inputs.append(LocalInput(named.key, path, revision, signature))
        elif path in by_path:
            inputs.append(LocalInput(named.key, path, by_path[path]))
    return tuple(inputs)


def _named(config: SweepConfig) -> Iterator[_Named]:
    if is_corpus_path(config.corpus.name):
        yield _corpus("corpus.name", config.corpus.name)
    names = {f"models.{number}.name": model.name for number, model in enumerate(config.models)}
    for key, name in {**names, "features.model": config.features.model}.items():
        if is_model_path(name):
            yield _Named(key, _absolute(name), find_model_files, model_revision)
    for number, source in enumerate(config.imports):
        yield _corpus(f"imports.{number}.file", source.file)


def _corpus(key: str, name: str) -> _Named:
    return _Named(key, _absolute(name), find_corpus_files, corpus_revision)


def _absolute(name: str) -> Path:
    return Path(name).expanduser().absolute()
