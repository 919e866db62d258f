"""What a model is, without its weights: what planning needs, remembered from one start to the next.

The fingerprint of a model takes all of its weights: seconds for a small model, minutes for a large one. So a
card is kept in the cache folder for the files as they are (paths, sizes, times), or for a commit of the hub.
That of a fake model is kept for the code that makes it: otherwise it would be the only thing for which a
driver imports torch.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from workers import fake_model, models, pretrained
from workers.assets import cache_folder
from workers.fingerprints import tokenizer_fingerprint
from workers.local_files import find_model_files, find_signature
from workers.model_info import ModelInfo
from workers.names import is_fake_name

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Card: TypeAlias = "tuple[ModelInfo, PreTrainedTokenizerBase]"
ReadTokenizer: TypeAlias = "Callable[[str], PreTrainedTokenizerBase]"

_tokenizers: dict[str, PreTrainedTokenizerBase] = {}  # by fingerprint


def load_card(name: str, dtype: str = "float32", revision: str | None = None) -> Card:
    """Return what a model is and its tokenizer, reading its weights only if these files were never read.

    The model is checked when its weights are read; errors are those of `workers.models.load`.
    """
    read_tokenizer: ReadTokenizer
    if is_fake_name(name):
        models.check_no_revision(name, revision)
        recipe = fake_model.parse(name)
        files: str | None = hashlib.sha256(Path(fake_model.__file__).read_bytes()).hexdigest()
        known_as, read_tokenizer = str(recipe), lambda _: recipe.build_tokenizer()
    else:
        source, commit = models.find_source(name, revision)
        files = commit or find_signature(find_model_files(Path(source)))
        known_as, read_tokenizer = name, partial(_read_tokenizer, source, commit)
    if files is None:  # they changed a moment ago, and may change again
        return _from_weights(name, dtype, revision)
    remembered = _card_file(known_as, dtype, files)
    try:
        values = json.loads(remembered.read_text(encoding="utf-8"))
        info = ModelInfo(**{**values, "end_tokens": tuple(values["end_tokens"])})
    except (OSError, ValueError, TypeError, KeyError):  # not there, or of no use
        card = _from_weights(name, dtype, revision)
        _remember(remembered, card[0])
        return card
    return info, _shared_tokenizer(info.tokenizer_fingerprint, read_tokenizer)


def _shared_tokenizer(fingerprint: str, read: ReadTokenizer) -> PreTrainedTokenizerBase:
    """Read a tokenizer once in a process.

    The threads of the tokenizers library keep memory of every tokenizer they have encoded with, long after it
    is gone: some 0.5 MiB each, without end in a process that plans sweep after sweep.
    """
    if fingerprint not in _tokenizers:
        _tokenizers[fingerprint] = read(fingerprint)
    return _tokenizers[fingerprint]


def _read_tokenizer(source: str, commit: str | None, fingerprint: str) -> PreTrainedTokenizerBase:
    """Read the tokenizer of this fingerprint, if possible without what chooses its class, which takes torch.

    Most tokenizers are all in their tokenizer.json; the fingerprint shows whether this one is.
    """
    with contextlib.suppress(Exception):  # what is wrong with it, the other way says in words
        tokenizer = pretrained.read_tokenizer_file(source, commit)
        if tokenizer_fingerprint(tokenizer) == fingerprint:
            return tokenizer
    return pretrained.read_tokenizer(source, commit)


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
