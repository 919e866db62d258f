"""Which positions of human text are asked about: a few tokens in each of many documents.

Tokens of one document are alike, so ten thousand tokens say more when they come from thousands of documents.
Everything random is looked up by (seed, document), never drawn in turn: a document's positions are the same
whichever documents stand beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bat.arguments import counted
from bat.arrays import IntArray
from bat.errors import InvalidInputError
from bat.random import Key, uniforms
from workers.corpora import Corpus
from workers.encoding import encode_openings, leading_ids

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# The paper conditions on prefixes of 35 tokens; shorter ones say little about a rule.
MIN_CONTEXT_TOKENS = 35
MAX_CONTEXT_TOKENS = 256

# Random numbers of a document: one to order it among the documents, one for each position in it.
_ORDER, _POSITIONS = 0, 1

# By document id, ascending positions: position t asks about token_ids[t], given the ids before it.
Positions = Mapping[str, npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class TokenizedDocument:
    """A document's id and its token ids, the first ``leading`` of which stand before the text."""

    id: str
    token_ids: IntArray  # [length]
    leading: int = 0

    def __post_init__(self) -> None:
        given = np.asarray(self.token_ids)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise InvalidInputError(
                f"token_ids must be a flat sequence of integers; got {given.dtype} of shape "
                f"{list(given.shape)} in document {self.id!r}."
            )
        object.__setattr__(self, "token_ids", given.astype(np.int64))


def spread_evenly(start: int, stop: int, count: int) -> IntArray:
    """At most ``count`` positions of [start, stop), evenly spread from the first to the last."""
    return np.unique(np.linspace(start, max(stop - 1, start), count).round().astype(np.int64))[: stop - start]


def draw_positions(
    documents: Sequence[TokenizedDocument],
    count: int | None = 10_000,
    per_document: int = 4,
    seed: int = 0,
    *,
    min_context: int = MIN_CONTEXT_TOKENS,
    max_context: int = MAX_CONTEXT_TOKENS,
    corpus: Corpus | None = None,
) -> dict[str, IntArray]:
    """Draw ``count`` positions in all, up to ``per_document`` from each document; every document's for None.

    A position has ``min_context`` to ``max_context`` tokens of text before it. Documents are taken in
    ``in_drawing_order``; the last one gives only as many of its positions as are still wanted. ``corpus`` is
    where they come from, for messages.
    """
    _check_request(count, per_document, min_context, max_context)
    by_id = index_by_id(documents)
    drawn: dict[str, IntArray] = {}
    left = count
    for name in in_drawing_order(by_id, seed):
        document = by_id[name]
        text_tokens = len(document.token_ids) - document.leading
        room = min(text_tokens - 1, max_context) - min_context + 1
        if room < 1:
            continue
        # Ranking one uniform number per position draws positions without repetition; a longer document
        # extends the row of numbers and moves none of them.
        draws = uniforms([_key(seed, name)], _POSITIONS, room)[0]
        chosen = np.argsort(draws, kind="stable")[:per_document][:left]
        drawn[name] = np.sort(chosen) + min_context + document.leading
        if left is not None:
            left -= len(chosen)
            if left == 0:
                break
    if left:
        offered = sum(map(len, drawn.values()))
        of = "" if corpus is None else f" of {corpus}"
        advice = "Ask for fewer, or give more text." if corpus is None else corpus.advice_for_more
        raise InvalidInputError(
            f"{count:,} positions were asked for, at most {per_document} from a document, but only "
            f"{offered:,} have {min_context} tokens before them in {counted(len(by_id), 'document')}{of}. "
            f"Take more from each document. {advice}"
        )
    return drawn


def draw_from_corpus(
    corpus: Corpus,
    tokenizer: PreTrainedTokenizerBase,
    count: int = 10_000,
    per_document: int = 4,
    seed: int = 0,
) -> tuple[list[TokenizedDocument], dict[str, IntArray]]:
    """Draw positions from a corpus; also return the documents they are in, tokenized.

    The draw is among the corpus's first documents, four times as many as must give positions, since some are
    too short and a corpus may be endless.
    """
    _check_request(count, per_document, MIN_CONTEXT_TOKENS, MAX_CONTEXT_TOKENS)
    enough = 4 * -(-count // per_document)
    pairs = [(document.id, document.text) for document in itertools.islice(corpus.documents(), enough)]
    documents = tokenize_documents(tokenizer, pairs)
    positions = draw_positions(documents, count, per_document, seed, corpus=corpus)
    return [document for document in documents if document.id in positions], positions


def in_drawing_order(names: Iterable[str], seed: int = 0) -> list[str]:
    """Return document ids in the order in which positions are drawn from them."""
    distinct = sorted(set(names))
    numbers = uniforms([_key(seed, name) for name in distinct], _ORDER, 1)[:, 0]
    return [distinct[index] for index in np.argsort(numbers, kind="stable")]


def tokenize_documents(
    tokenizer: PreTrainedTokenizerBase,
    texts: Iterable[tuple[str, str]],
    max_context: int = MAX_CONTEXT_TOKENS,
) -> list[TokenizedDocument]:
    """Tokenize the openings of (id, text) pairs, as far as positions may be drawn from them."""
    pairs = list(texts)
    openings = encode_openings(tokenizer, [text for _, text in pairs], max_context + 1)
    leading = len(leading_ids(tokenizer))
    return [
        TokenizedDocument(name, np.array(ids, dtype=np.int64), leading)
        for (name, _), ids in zip(pairs, openings, strict=True)
    ]


def index_by_id(documents: Iterable[TokenizedDocument]) -> dict[str, TokenizedDocument]:
    """Return the documents by id, each of which may occur once."""
    by_id: dict[str, TokenizedDocument] = {}
    for document in documents:
        if document.id in by_id:
            raise InvalidInputError(
                f"documents must have ids of their own; got {document.id!r} twice. Drop duplicates first."
            )
        by_id[document.id] = document
    return by_id


def _key(seed: int, name: str) -> Key:
    return Key(seed, "positions", name, 0)


def _check_request(count: int | None, per_document: int, min_context: int, max_context: int) -> None:
    if (count is not None and count < 1) or per_document < 1:
        raise InvalidInputError(
            f"count and per_document must be at least 1; got count={count} and per_document={per_document}."
        )
    if not 1 <= min_context <= max_context:
        raise InvalidInputError(
            f"min_context must lie between 1 and max_context; got min_context={min_context} and "
            f"max_context={max_context}."
        )
