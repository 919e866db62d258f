"""Texts as vectors: what a causal language model holds in mind at a text's last token.

MAUVE compares two sets of texts by such vectors. They are what mauve-text 0.4 itself takes from a model
(``hidden_states[-1]`` of the base model at the last token that is no padding): the state behind the last
norm, which is also what the output layer turns into logits. Three things are done otherwise here:

* mauve-text drops empty texts, and with them the news that a method wrote nothing. Here every text has its
  row: an empty one is read as the token that begins a text (else the one that ends it).
* special tokens spelt out in a text are text, as everywhere in this project.
* texts are sorted by length before they are cut into batches, so that little padding is read.

Features are kept in the cache folder by content, one file for each set of texts: a shard that is asked for
again, in any order, gives the same bits without a forward pass.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bat.arrays import SingleArray
from bat.errors import BatError, InvalidInputError
from workers.assets import cache_folder
from workers.encoding import encode_openings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from workers.models import LanguageModel, ModelInfo

TokenIds = tuple[int, ...]

DEFAULT_MAX_TOKENS = 1024  # what mauve-text reads
CACHE_FOLDER = "features"

# Part of every key: raised whenever the same texts would give other features.
_FORMAT = 1


def featurize(
    language_model: LanguageModel,
    texts: Sequence[str] | Sequence[Sequence[int]],
    *,
    max_tokens: int = DEFAULT_MAX_TOKENS,
    batch_size: int = 16,
    layer: int = -1,
    cache: str | os.PathLike[str] | None = CACHE_FOLDER,
    progress: Callable[[int], None] | None = None,
) -> SingleArray:
    """Return a vector for each text, float32 [n, d]; a text is a string, or the token ids of one.

    Only a text's first ``max_tokens`` tokens are read. ``layer`` counts as ``hidden_states`` of transformers
    does: 0 is the embedding, -1 the state that the output layer is given. The vectors do not depend on the
    order of the texts; other texts beside them, or another ``batch_size``, change them by no more than
    rounding. ``cache`` is a folder, inside the project's cache folder unless absolute; None keeps nothing.
    ``progress`` is told how many texts are done.
    """
    info = language_model.info
    _check_request(info, max_tokens, batch_size)
    layer = _resolve_layer(language_model.model, layer)
    if len(texts) == 0:
        return np.empty((0, info.hidden_size), dtype=np.float32)
    token_ids = _token_ids(language_model, texts, max_tokens)
    # A set in one order, whatever the order of the texts: its batches, and so its bits, are always the same.
    copies = Counter(token_ids)
    distinct = sorted(copies, key=lambda ids: (len(ids), ids))
    settings = [
        *(_FORMAT, info.weight_fingerprint, info.tokenizer_fingerprint, info.dtype, max_tokens, layer),
        *(info.device.partition(":")[0], batch_size),  # these two change the last bits
    ]
    store = None if cache is None else _Store(cache_folder() / cache, _key(settings, distinct))

    features = None if store is None else store.find(len(distinct))
    if features is None:
        parts, done = [], 0
        for start in range(0, len(distinct), batch_size):
            batch = distinct[start : start + batch_size]
            parts.append(_read(language_model.model, batch, layer))
            done += sum(copies[ids] for ids in batch)
            if progress is not None:
                progress(done)
        features = np.concatenate(parts)
        _check_finite(features, info)
        if store is not None:
            store.keep(features)
    elif progress is not None:
        progress(len(token_ids))
    index_of = {ids: index for index, ids in enumerate(distinct)}
    return features[[index_of[ids] for ids in token_ids]]


def _read(model: PreTrainedModel, batch: Sequence[TokenIds], layer: int) -> SingleArray:
    """Return the state of each text at its last token, [batch, d]."""
    import torch

    # Padding stands on the right, where a causal model cannot see it from any token of the text.
    lengths = [len(ids) for ids in batch]
    token_ids = torch.zeros((len(batch), max(lengths)), dtype=torch.long)
    mask = torch.zeros_like(token_ids)
    for row, ids in enumerate(batch):
        token_ids[row, : len(ids)] = torch.tensor(ids)
        mask[row, : len(ids)] = 1
    # The base model ends where the output layer begins, so no logits are made.
    base: Any = model.base_model
    last = layer == _layers(model)
    with torch.inference_mode():
        output = base(
            input_ids=token_ids.to(model.device),
            attention_mask=mask.to(model.device),
            use_cache=False,
            output_hidden_states=not last,
        )
        states = output.last_hidden_state if last else output.hidden_states[layer]  # [batch, width, d]
        ends = torch.tensor(lengths, device=states.device) - 1
        chosen: SingleArray = (
            states[torch.arange(len(batch), device=states.device), ends].float().cpu().numpy()
        )
    return chosen


def _token_ids(
    language_model: LanguageModel, texts: Sequence[str] | Sequence[Sequence[int]], max_tokens: int
) -> list[TokenIds]:
    """Return what the model is given for each text: at least one token, at most ``max_tokens``."""
    tokenizer, info = language_model.tokenizer, language_model.info
    strings = [text for text in texts if isinstance(text, str)]
    if isinstance(texts, str) or len(strings) not in (0, len(texts)):
        raise InvalidInputError(
            "texts must be a list of strings or a list of token ids; got "
            f"{'one string' if isinstance(texts, str) else 'both kinds'}. Put a single text in a list."
        )
    token_ids: Sequence[Sequence[int]]
    token_ids = encode_openings(tokenizer, strings, max_tokens) if strings else texts  # type: ignore[assignment]
    beginning = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    cut: list[TokenIds] = []
    for index, ids in enumerate(token_ids):
        given = np.asarray(ids[:max_tokens])
        if given.size == 0:
            if not isinstance(beginning, int):
                raise InvalidInputError(
                    f"text {index} is empty, and the tokenizer of {info.name} has no token that begins or "
                    "ends a text to read instead. Leave empty texts out, and count them."
                )
            given = np.array([beginning])
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise InvalidInputError(f"token ids must be flat lists of integers; got {ids!r} as text {index}.")
        if given.min() < 0 or given.max() >= info.vocabulary_size:
            raise InvalidInputError(
                f"token ids must lie in [0, {info.vocabulary_size}), the vocabulary of {info.name}; text "
                f"{index} has {given.min()} to {given.max()}. Use the model's own tokenizer."
            )
        cut.append(tuple(given.tolist()))
    return cut


def _check_request(info: ModelInfo, max_tokens: int, batch_size: int) -> None:
    if max_tokens < 1 or batch_size < 1:
        raise InvalidInputError(
            f"max_tokens and batch_size must be at least 1; got max_tokens={max_tokens} and "
            f"batch_size={batch_size}."
        )
    if max_tokens > info.context_length:
        raise InvalidInputError(
            f"max_tokens must be at most {info.context_length}, the context of {info.name}; got {max_tokens}."
        )


def _check_finite(features: SingleArray, info: ModelInfo) -> None:
    broken = np.count_nonzero(~np.isfinite(features).all(axis=1))
    if broken:
        raise BatError(
            f"{info.name} gives states that are not finite in {info.dtype}, for {broken} of {len(features)} "
            "texts. Load it in float32 or bfloat16, or check its weights."
        )


def _layers(model: PreTrainedModel) -> int:
    return int(model.config.get_text_config().num_hidden_layers)


def _resolve_layer(model: PreTrainedModel, layer: int) -> int:
    """Return the layer counted from the embedding, which is 0."""
    count = _layers(model)
    if not -count - 1 <= layer <= count:
        raise InvalidInputError(
            f"layer must lie between {-count - 1} and {count} in this model; got {layer}. "
            "Use -1, the state that the output layer is given."
        )
    return layer % (count + 1)


def _key(settings: Sequence[object], texts: Sequence[TokenIds]) -> str:
    """Name a set of texts by the SHA-256 of each with all that its features depend on."""
    header = json.dumps(["features", *settings]).encode()
    whole = hashlib.sha256()
    for ids in texts:
        whole.update(hashlib.sha256(header + np.array(ids, dtype="<i8").tobytes()).digest())
    return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class _Store:
    """The cache file of one set of texts. Any number of processes may read and write it at once."""

    folder: Path
    key: str

    @property
    def path(self) -> Path:
        return self.folder / f"{self.key}.npz"

    def find(self, count: int) -> SingleArray | None:
        """Return the features kept, or None when there are none or the file is damaged."""
        try:
            # Opened here because numpy leaves a damaged file open. Zip checks each array's CRC.
            with open(self.path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                features, owner = stored["features"], str(stored["key"])
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        fits = owner == self.key and features.dtype == np.float32 and features.shape[:1] == (count,)
        return features if fits and features.ndim == 2 else None

    def keep(self, features: SingleArray) -> None:
        """Write beside the file and rename, so that no reader ever sees half a file."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                draft = Path(folder) / self.path.name
                np.savez(draft, allow_pickle=False, key=np.array(self.key), features=features)
                os.replace(draft, self.path)
        except OSError as error:
            warnings.warn(
                f"the features could not be kept in {self.folder}: {error}", RuntimeWarning, stacklevel=3
            )
