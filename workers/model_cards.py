"""What a model is, without its weights: what planning needs, remembered from one start to the next.

The fingerprint of a model takes all of its weights: seconds for a small model, minutes for a large one. So a
card is kept in the cache folder for the files as they are (paths, sizes, times), or for a commit of the hub.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from transformers import PreTrainedTokenizerBase

from workers import models, pretrained
from workers.assets import cache_folder
from workers.local_files import find_model_files, find_signature
from workers.models import ModelInfo

Card = tuple[ModelInfo, PreTrainedTokenizerBase]


def load_card(name: str, dtype: str = "float32", revision: str | None = None) -> Card:
    """Return what a model is and its tokenizer, reading its weights only if these files were never read.

    The model is checked when its weights are read; errors are those of `workers.models.load`.
    """
    if models.is_fake(name):  # made in no time
        return _from_weights(name, dtype, revision)
    source, commit = models.find_source(name, revision)
    files = commit or find_signature(find_model_files(Path(source)))
    if files is None:  # they changed a moment ago, and may change again
        return _from_weights(name, dtype, revision)
    remembered = _card_file(name, dtype, files)
    try:
        values = json.loads(remembered.read_text(encoding="utf-8"))
        info = ModelInfo(**{**values, "end_tokens": tuple(values["end_tokens"])})
    except (OSError, ValueError, TypeError, KeyError):  # not there, or of no use
        card = _from_weights(name, dtype, revision)
        _remember(remembered, card[0])
        return card
    return info, pretrained.read_tokenizer(source, commit)


def _from_weights(name: str, dtype: str, revision: str | None) -> Card:
    loaded = models.load(name, "cpu", dtype, revision)
    return loaded.info, loaded.tokenizer


def _card_file(name: str, dtype: str, files: str) -> Path:
    # Another version of a library may name or read weights otherwise, which changes their fingerprint.
    depends_on = [name, dtype, files, version("transformers"), version("torch"), version("tokenizers")]
    key = hashlib.sha256(json.dumps(depends_on).encode()).hexdigest()[:32]
    return cache_folder() / "cards" / f"{key}.json"


def _remember(file: Path, info: ModelInfo) -> None:
    """Write the card, whole or not at all. A cache that cannot be written costs time, no more."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(prefix=f"{file.stem}.partial-", dir=file.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(asdict(info), stream)
        Path(partial).replace(file)
