"""Texts made elsewhere: prefixes that a file has ready, and texts that continue them, in a model's tokens.

All texts pass through the tokenizer as our own do: they are cut to as many tokens, and their text is that of
their tokens. So what a tokenizer cannot write differs nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bat.arguments import counted
from bat.errors import InvalidInputError
from bat.random import Key
from workers.corpora import Corpus, DocumentCounts, document_id, split_of
from workers.corpora.tables import Row, check_unique, read_table
from workers.encoding import decode_continuation, encode, encode_openings, leading_ids
from workers.generation_record import Generation, StopReason
from workers.prefixes import Prefix, PrefixSet
from workers.requests import ModelTask, Worker
from workers.traces import Trace

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def without_prefix(prefix: str, text: str) -> str:
    """The text behind its prefix, where it begins with it, but for spaces; else the text as it is."""
    if text.startswith(prefix):
        return text[len(prefix) :]
    letters = "".join(prefix.split())
    pattern = r"\s*".join(map(re.escape, letters))
    begins = re.match(rf"\s*{pattern}", text) if letters else None
    return text[begins.end() :] if begins else text


def encode_continuations(
    tokenizer: PreTrainedTokenizerBase,
    prefixes: Sequence[tuple[int, ...]],
    prefix_texts: Sequence[str],
    texts: Sequence[str],
    max_tokens: int,
) -> list[tuple[int, ...]]:
    """The ids that each text adds to its prefix, `max_tokens` at most."""
    longest = max(map(len, prefixes), default=0) + max_tokens
    wholes = [prefix + text for prefix, text in zip(prefix_texts, texts, strict=True)]
    leading = len(leading_ids(tokenizer))
    texts_as_ids = []
    for before, whole, text in zip(prefixes, encode_openings(tokenizer, wholes, longest), texts, strict=True):
        ids = whole[len(before) :]
        if whole[: len(before)] != before:
            # The last token of the prefix and the first of the text would be one.
            ids = encode_openings(tokenizer, [text], max_tokens)[0][leading:]
        texts_as_ids.append(ids[:max_tokens])
    return texts_as_ids


def given_prefixes(
    corpus: Corpus,
    file: str,
    columns: tuple[str, str],
    tokenizer: PreTrainedTokenizerBase,
    n: int,
    continuation_tokens: int,
    min_continuation_tokens: int,
) -> PrefixSet:
    """The first `n` rows of a file whose columns hold a prefix and how the person continued it.

    A row's id is the hash of prefix and continuation. Rows come in the order of their ids, as documents do,
    and belong to the halves of a corpus by them.
    """
    rows = [Row(row.where, (row.texts[0], without_prefix(*row.texts))) for row in read_table(file, columns)]
    check_unique(rows, lambda row: " ".join(row.texts[0].split()), "prefix")
    for row in rows:
        if not row.texts[1].strip():
            raise InvalidInputError(
                f"column {columns[1]!r} must hold more than the prefix; it does not in {row.where}. Remove "
                "the row."
            )
    by_id = {document_id("".join(row.texts)): row.texts for row in rows}
    chosen = {each: by_id[each] for each in sorted(by_id) if corpus.split in ("all", split_of(each))}
    openings = [encode(tokenizer, prefix) for prefix, _ in chosen.values()]
    endings = encode_continuations(
        tokenizer,
        openings,
        [prefix for prefix, _ in chosen.values()],
        [text for _, text in chosen.values()],
        max(continuation_tokens, min_continuation_tokens),
    )
    prefixes = [
        Prefix(each, opening, ending[:continuation_tokens])
        for each, opening, ending in zip(chosen, openings, endings, strict=True)
        if len(ending) >= min_continuation_tokens
    ]
    if len(prefixes) < n:
        raise InvalidInputError(
            f"{counted(n, 'prefix', 'prefixes')} were asked for, but {corpus} has only {len(prefixes)}: of "
            f"{counted(len(rows), 'row')}, {len(rows) - len(chosen)} in the other split and "
            f"{len(chosen) - len(prefixes)} with fewer than {min_continuation_tokens} human tokens. "
            f"{corpus.advice_for_more}"
        )
    counts = DocumentCounts(read=len(rows), other_split=len(rows) - len(chosen), kept=len(chosen))
    return PrefixSet(
        tuple(prefixes[:n]), corpus.name, corpus.revision, corpus.split, counts, len(chosen) - len(prefixes)
    )


@dataclass(frozen=True)
class TokenizeRequest(ModelTask[list[Generation]]):
    """Take texts made elsewhere apart into the tokens of a model."""

    prefixes: tuple[Prefix, ...]
    prefix_texts: tuple[str, ...]
    texts: tuple[str, ...]
    max_tokens: int

    def run(self, worker: Worker) -> list[Generation]:
        tokenizer = worker.load(self.model).tokenizer
        ids = encode_continuations(
            tokenizer,
            [prefix.token_ids for prefix in self.prefixes],
            self.prefix_texts,
            self.texts,
            self.max_tokens,
        )
        return [
            _as_generation(tokenizer, prefix, continuation, self.max_tokens)
            for prefix, continuation in zip(self.prefixes, ids, strict=True)
        ]


def _as_generation(
    tokenizer: PreTrainedTokenizerBase, prefix: Prefix, ids: tuple[int, ...], max_tokens: int
) -> Generation:
    """A text whose tokens nobody here has sampled: it has no probabilities, and no events."""
    unknown = np.full(len(ids), np.nan, np.float32)
    none = np.zeros(len(ids), np.int32)
    return Generation(
        prefix_id=prefix.id,
        key=Key(0, "", prefix.id, 0),
        text=decode_continuation(tokenizer, prefix.token_ids, ids),
        # As for human text, which has no end-of-text token either.
        stop_reason=StopReason.END if len(ids) < max_tokens else StopReason.LENGTH,
        trace=Trace(
            token_ids=np.array(ids, np.int32),
            probabilities=unknown,
            thresholds=unknown,
            acceptance=none.astype(np.uint8),
            rejections=none,
            undecided=none,
            programs=none,
            pivots=none,
            passes=none,
            rejected_tokens=np.empty(0, np.int32),
        ),
        solver_seconds=0.0,
    )
