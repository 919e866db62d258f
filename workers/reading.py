"""A model reading human text: its logits before the tokens that are asked about.

Documents are read in batches that the input alone determines, shortest first, so that neighbours need little
padding and results do not depend on anything else.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bat.arrays import IntArray, SingleArray
from bat.errors import InvalidInputError
from workers.positions import Positions, TokenizedDocument, index_by_id

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from workers.models import LanguageModel, ModelInfo

DOCUMENTS_PER_BATCH = 8


class TokensRead(NamedTuple):
    """Tokens of human text with the model's logits before each of them."""

    documents: list[str]  # [n] ids
    positions: IntArray  # [n]
    tokens: IntArray  # [n]
    logits: SingleArray  # [n, v]


@dataclass(frozen=True, slots=True)
class _Reading:
    """A document's opening up to the last token asked about, and the positions asked about."""

    document: str
    token_ids: IntArray
    positions: IntArray


def read(
    language_model: LanguageModel,
    documents: Sequence[TokenizedDocument],
    positions: Positions,
    batch_size: int = DOCUMENTS_PER_BATCH,
) -> Iterator[TokensRead]:
    """Read the documents, yielding one batch of tokens after another.

    Documents without positions are passed over, and so are positions of other documents: shards may share
    one draw. What cannot be read raises before anything is.
    """
    readings = _readings(documents, positions)
    _check_fit(language_model.info, readings)
    return _batches(language_model.model, readings, batch_size)


def _batches(model: PreTrainedModel, readings: Sequence[_Reading], batch_size: int) -> Iterator[TokensRead]:
    for start in range(0, len(readings), batch_size):
        batch = readings[start : start + batch_size]
        yield TokensRead(
            [reading.document for reading in batch for _ in reading.positions],
            np.concatenate([reading.positions for reading in batch]),
            np.concatenate([reading.token_ids[reading.positions] for reading in batch]),
            _read_batch(model, batch),
        )


def _readings(documents: Sequence[TokenizedDocument], positions: Positions) -> list[_Reading]:
    """Pair documents with their positions, shortest first: neighbours then need little padding."""
    readings = []
    for name, document in index_by_id(documents).items():
        asked = np.unique(np.asarray(positions.get(name, ()), dtype=np.int64))
        if len(asked) == 0:
            continue
        if asked[0] < 1 or asked[-1] >= len(document.token_ids):
            raise InvalidInputError(
                f"positions must lie in [1, {len(document.token_ids)}) in document {name!r}, which has "
                f"{len(document.token_ids)} tokens; got {asked[0]} to {asked[-1]}."
            )
        readings.append(_Reading(name, document.token_ids[: asked[-1] + 1], asked))
    return sorted(readings, key=lambda reading: (len(reading.token_ids), reading.document))


def _check_fit(info: ModelInfo, readings: Sequence[_Reading]) -> None:
    for reading in readings:
        length, ids = len(reading.token_ids) - 1, reading.token_ids
        if length > info.context_length:
            raise InvalidInputError(
                f"{info.name} reads at most {info.context_length} tokens; document {reading.document!r} has "
                f"{length} before its last position. Draw positions with a smaller max_context."
            )
        if ids.min() < 0 or ids.max() >= info.vocabulary_size:
            raise InvalidInputError(
                f"token ids must lie in [0, {info.vocabulary_size}), the vocabulary of {info.name}; document "
                f"{reading.document!r} has {ids.min()} to {ids.max()}. Use the model's own tokenizer."
            )


def _read_batch(model: PreTrainedModel, batch: Sequence[_Reading]) -> SingleArray:
    """Return the logits before every token asked about, [positions of the batch, v]."""
    import torch

    # The logits for token t come out at t - 1, so no document's last token needs to go in. Padding stands on
    # the right, where a causal model cannot see it from any position that is read.
    width = len(batch[-1].token_ids) - 1
    token_ids = torch.zeros((len(batch), width), dtype=torch.long)
    mask = torch.zeros((len(batch), width), dtype=torch.long)
    for row, reading in enumerate(batch):
        length = len(reading.token_ids) - 1
        # A copy: arrays that arrive through Ray cannot be written to, which torch does not like.
        token_ids[row, :length] = torch.from_numpy(reading.token_ids[:-1].copy())
        mask[row, :length] = 1
    sources = np.concatenate([reading.positions - 1 for reading in batch])
    owners = np.repeat(np.arange(len(batch)), [len(reading.positions) for reading in batch])
    options: dict[str, torch.Tensor] = {}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        # Logits are made only where some document asks: at all positions they would fill gigabytes.
        kept, sources = np.unique(sources, return_inverse=True)
        options["logits_to_keep"] = torch.from_numpy(kept).to(model.device)
    with torch.inference_mode():
        logits = model(
            input_ids=token_ids.to(model.device),
            attention_mask=mask.to(model.device),
            use_cache=False,
            **options,
        ).logits  # [documents, kept, v]
        chosen: SingleArray = logits[owners, sources].float().cpu().numpy()
    return chosen
