"""The bases of the model that vLLM runs, from the cache folder whenever possible.

vLLM does not show its weights to a logits processor, and may hold them in pieces or in another format. So a
basis comes from the model's files, read with transformers, which also checks that the method applies to the
model at all. That is done once: a note in the cache folder says which basis belongs to these files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

import numpy as np
from filelock import FileLock

from bat.basis import Basis
from bat.errors import BatError
from workers import models
from workers.assets import cache_folder
from workers.local_files import find_model_files, find_signature


class ModelBases:
    """Finds the basis of a model by its number of constraints; each is prepared at its first use.

    What cannot be prepared is not tried again: every token of every text would read the whole model.
    """

    def __init__(self, name: str, revision: str | None, dtype: str, vocabulary_size: int) -> None:
        self.name, self.revision, self.dtype = name, revision, dtype
        self.vocabulary_size = vocabulary_size
        self._known: dict[int, Basis | BatError] = {}

    def __call__(self, constraints: int) -> Basis:
        """The basis, from memory, from the cache or from the model's files; BatError if it has none."""
        if constraints not in self._known:
            try:
                self._known[constraints] = self._find(constraints)
            except BatError as error:
                self._known[constraints] = error
        known = self._known[constraints]
        if isinstance(known, BatError):
            raise known.with_traceback(None)
        return known

    def _find(self, constraints: int) -> Basis:
        if constraints == 0:  # what plain rules take: it depends on no weight
            return Basis(np.ones((1, self.vocabulary_size)), 0, np.empty(0), "")
        source, commit = models.find_source(self.name, self.revision)
        files = commit or find_signature(find_model_files(Path(source)))
        if files is None:  # they changed a moment ago, and may change again
            return self._prepare(source, commit, constraints)
        note = _note_file(source, files, self.dtype, constraints)
        with _only_one_process(note):  # several would read the same files at the same time
            with contextlib.suppress(OSError):
                fingerprint = note.read_text(encoding="ascii")
                cached = Basis.find_cached(fingerprint, constraints, self.vocabulary_size, cache_folder())
                if cached is not None:
                    return cached
            basis = self._prepare(source, commit, constraints)
            with contextlib.suppress(OSError):  # a cache that cannot be written costs time, no more
                note.write_text(basis.fingerprint, encoding="ascii")
        return basis

    def _prepare(self, source: str, commit: str | None, constraints: int) -> Basis:
        """Read the whole model into main memory, for as long as this takes."""
        return models.load(source, "cpu", self.dtype, commit).basis(constraints)


def _note_file(source: str, files: str, dtype: str, constraints: int) -> Path:
    depends_on = json.dumps([source, files, dtype, constraints]).encode()
    return cache_folder() / "bases" / f"{hashlib.sha256(depends_on).hexdigest()[:32]}.txt"


@contextlib.contextmanager
def _only_one_process(file: Path):  # type: ignore[no-untyped-def]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file.with_suffix(".lock"))
        lock.acquire()
    except OSError:
        yield
        return
    try:
        yield
    finally:
        lock.release()
