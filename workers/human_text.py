"""Human text, and what a model thinks of it.

The human-text rejection rate of a rule is the share of next tokens in human text that the rule would have
refused. It needs, at many positions of many documents, the model's distribution and the token a person wrote
there.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from bat.errors import InvalidInputError
from workers.assets import NEWS_ARTICLES

# Question marks where quotes and dashes were lost, and characters that could not be decoded.
_BROKEN = re.compile(r'"\?|\w\?\w|\s\?|\ufffd')

# The paper conditions on prefixes of 35 tokens; shorter ones say little about a rule.
MIN_PREFIX_TOKENS = 35
MAX_PREFIX_TOKENS = 256

_DOCUMENTS_PER_BATCH = 8


class NextTokens(NamedTuple):
    """The model's logits at positions of human text, and the tokens people wrote there."""

    logits: npt.NDArray[np.float32]  # [count, v]
    tokens: npt.NDArray[np.int64]  # [count]


@dataclass(frozen=True)
class _Selection:
    """A document's opening tokens, and the positions in it whose tokens are asked about."""

    token_ids: list[int]
    positions: list[int]


def read_news_articles(archive: Path | None = None) -> list[str]:
    """Return the articles of the demo corpus that are whole, each once, in the order of their hashes.

    About a third of the articles have lost their quotes; they are left out, since a model's surprise at the
    damage would pass for surprise at the writing.
    """
    with zipfile.ZipFile(archive or NEWS_ARTICLES.get()) as opened:
        [name] = opened.namelist()
        rows = csv.DictReader(io.StringIO(opened.read(name).decode("utf-8"), newline=""))
        texts = {row["text"].strip() for row in rows}
    return sorted((text for text in texts if text and not _BROKEN.search(text)), key=_document_hash)


def human_next_tokens(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: Sequence[str],
    count: int,
    per_document: int,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> NextTokens:
    """Return the model's logits and the human token at `count` positions drawn from the texts.

    Up to `per_document` positions are drawn from each document, with 35 to 256 tokens before them. Which
    documents and positions depends only on the seed and the texts themselves, not on their order. `progress`
    is called after every batch with the number of positions finished so far.
    """
    if count < 1 or per_document < 1:
        raise InvalidInputError(
            f"count and per_document must be at least 1; got count={count} and per_document={per_document}"
        )
    selections = _select(tokenizer, texts, count, per_document, seed)
    tokens = np.array([s.token_ids[t] for s in selections for t in s.positions], dtype=np.int64)
    logits = np.empty((count, model.config.vocab_size), dtype=np.float32)
    done = 0
    for start in range(0, len(selections), _DOCUMENTS_PER_BATCH):
        for rows in _batch_logits(model, selections[start : start + _DOCUMENTS_PER_BATCH]):
            logits[done : done + len(rows)] = rows
            done += len(rows)
        if progress is not None:
            progress(done)
    return NextTokens(logits, tokens)


def _select(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], count: int, per_document: int, seed: int
) -> list[_Selection]:
    """Draw positions document by document until there are `count` of them."""
    selections: list[_Selection] = []
    wanted = count
    for text in sorted(set(texts), key=lambda text: _document_hash(text, seed)):
        token_ids = list(tokenizer(text, verbose=False).input_ids[: MAX_PREFIX_TOKENS + 1])
        possible = np.arange(MIN_PREFIX_TOKENS, len(token_ids))
        taken = min(per_document, len(possible), wanted)
        if taken == 0:
            continue
        # Keyed by the document, so that its positions do not depend on which documents came before it.
        generator = np.random.Generator(np.random.Philox(key=int(_document_hash(text, seed)[:32], 16)))
        positions = sorted(generator.choice(possible, size=taken, replace=False).tolist())
        selections.append(_Selection(token_ids[: positions[-1] + 1], positions))
        wanted -= taken
        if wanted == 0:
            return selections
    raise InvalidInputError(
        f"{count} positions were asked for, {per_document} at most from each document, but the {len(texts)} "
        f"texts offer only {count - wanted} with {MIN_PREFIX_TOKENS} tokens before them. "
        "Ask for fewer, or give more text."
    )


def _batch_logits(model: PreTrainedModel, batch: Sequence[_Selection]) -> list[npt.NDArray[np.float32]]:
    """Return, for each document of the batch, its logits [positions, v] at the positions asked about."""
    # The logits for token t come out at t - 1, so no document's last token needs to go in. Padding stands on
    # the right, where a causal model cannot see it from any position that is read.
    width = max(len(selection.token_ids) for selection in batch) - 1
    token_ids = torch.zeros((len(batch), width), dtype=torch.long)
    mask = torch.zeros((len(batch), width), dtype=torch.long)
    for row, selection in enumerate(batch):
        inputs = selection.token_ids[:-1]
        token_ids[row, : len(inputs)] = torch.tensor(inputs)
        mask[row, : len(inputs)] = 1
    # Logits are made only where some document asks about them: at all positions they would fill gigabytes.
    kept = sorted({t - 1 for selection in batch for t in selection.positions})
    column = {position: index for index, position in enumerate(kept)}
    with torch.inference_mode():
        logits = model(
            input_ids=token_ids.to(model.device),
            attention_mask=mask.to(model.device),
            logits_to_keep=torch.tensor(kept, device=model.device),
            use_cache=False,
        ).logits  # [documents, kept, v]
    return [
        logits[row, [column[t - 1] for t in selection.positions]].float().cpu().numpy()
        for row, selection in enumerate(batch)
    ]


def _document_hash(text: str, seed: int | None = None) -> str:
    prefix = "" if seed is None else f"{seed}:"
    return hashlib.sha256((prefix + text).encode("utf-8")).hexdigest()
