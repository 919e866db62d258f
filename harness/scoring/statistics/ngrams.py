"""The n-grams of many texts as small integers, and where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bat.arrays import IntArray
from harness.scoring.texts import TextSet

LARGEST_ORDER = 4


@dataclass(frozen=True, slots=True, eq=False)
class NGrams:
    """Every window of `order` tokens that lies within a text, in the order of the texts."""

    order: int
    ids: IntArray  # [w] equal where the windows are equal, in [0, distinct)
    texts: IntArray  # [w] which text the window is in
    distinct: int


def ngrams(token_ids: Sequence[IntArray], largest: int = LARGEST_ORDER) -> Iterator[NGrams]:
    """The n-grams of the texts for n = 1 to `largest`.

    An n-gram is known by the id of its first n - 1 tokens and its last token, so each order takes one sort
    of single integers, whatever n is.
    """
    texts = np.repeat(np.arange(len(token_ids)), [len(ids) for ids in token_ids])
    tokens, token_count = _numbered(flattened(token_ids))
    ids, distinct = tokens, token_count
    yield NGrams(1, ids, texts, distinct)
    starts = np.arange(len(tokens))  # where the windows begin
    for order in range(2, largest + 1):
        ends = starts + order - 1
        fits = ends < len(tokens)
        fits[fits] = texts[starts[fits]] == texts[ends[fits]]
        starts, ids = starts[fits], ids[fits]
        ids, distinct = _numbered(ids * token_count + tokens[starts + order - 1])
        yield NGrams(order, ids, texts[starts], distinct)


def flattened(token_ids: Sequence[IntArray]) -> IntArray:
    """All tokens in a row."""
    return np.concatenate([np.empty(0, dtype=np.int64), *token_ids]).astype(np.int64, copy=False)


def without_end(texts: TextSet) -> list[IntArray]:
    """The token ids without the end-of-text token that a model's text closes with when it came to its end.

    Human texts are cut out of documents and have none.
    """
    if texts.traces is None:
        return list(texts.token_ids)
    return [
        ids[:-1] if ended else ids for ids, ended in zip(texts.token_ids, texts.ended.tolist(), strict=True)
    ]


def _numbered(values: IntArray) -> tuple[IntArray, int]:
    """Number the values that occur, from 0; return the numbers and how many there are."""
    found, numbers = np.unique(values, return_inverse=True)
    return numbers.astype(np.int64, copy=False), len(found)
