"""Paths in a sweep are relative to its file.

A path that is only found in the working directory works too, with a warning: such a sweep runs from one
folder alone.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from harness.config.schema import SweepConfig
from harness.notes import Note
from workers.names import BUILT_IN_CORPORA, EMBEDDED_MODEL_NAMES, FAKE_MODEL

# Never a path, although a folder may have the same name.
_BUILT_IN = (*BUILT_IN_CORPORA, *EMBEDDED_MODEL_NAMES, FAKE_MODEL)


class SweepPathWarning(Note):
    """A path of a sweep was found in the working directory, and not beside the sweep's file."""


def resolve_paths(config: SweepConfig, sweep: Path) -> SweepConfig:
    """The sweep with its paths as they lead from the working directory."""
    if os.path.realpath(sweep.parent) == os.path.realpath("."):
        return config

    def resolve(key: str, name: str) -> str:
        if name in _BUILT_IN or ":" in name or name.startswith("~") or os.path.isabs(name):
            return name
        beside = sweep.parent / name
        if beside.exists():
            return str(beside)
        if os.path.exists(name):
            better = os.path.relpath(name, sweep.parent)
            sentence = (
                f"{key}: {name} is in the working directory, and not beside {sweep}. Paths in a sweep are "
                f"relative to its file: write {better}, so that the sweep runs from any folder."
            )
            warnings.warn(SweepPathWarning(sentence), stacklevel=2)
        return name

    corpus, features = config.corpus, config.features
    changes = {
        "corpus": corpus.model_copy(update={"name": resolve("corpus.name", corpus.name)}),
        "features": features.model_copy(update={"model": resolve("features.model", features.model)}),
        "models": tuple(
            model.model_copy(update={"name": resolve(f"models[{i}].name", model.name)})
            for i, model in enumerate(config.models)
        ),
        "imports": tuple(
            source.model_copy(update={"file": resolve(f"imports[{i}].file", source.file)})
            for i, source in enumerate(config.imports)
        ),
    }
    return config.model_copy(update={key: new for key, new in changes.items() if new != getattr(config, key)})
