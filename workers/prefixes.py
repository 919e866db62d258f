"""Prefixes: the openings of human documents, which models are asked to continue, and how people went on."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from bat.arguments import counted, require_integers
from bat.errors import InvalidInputError
from workers.corpora import Corpus, Document, DocumentCounts, DocumentReader, Split
from workers.encoding import encode_openings, leading_ids

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# "We generate completions for 5000 35-token prefixes taken from the Open Web Text" (the paper, section 5).
PAPER_PREFIXES = 5000
PAPER_PREFIX_TOKENS = 35

# The paper does not say how long its completions are; 256 tokens is this project's choice.
CONTINUATION_TOKENS = 256

# With 35 before them this asks for documents of 128 tokens, the least that OpenWebText itself kept. Shorter
# ones would put many texts that end early beside completions that go on.
MIN_CONTINUATION_TOKENS = 93

_DOCUMENTS_PER_BATCH = 64


@dataclass(frozen=True, slots=True)
class Prefix:
    """A document's opening and how it went on, as token ids.

    The id is the document's; it keys random numbers and rows of results. `token_ids` are ready for the
    model: where the tokenizer asks for a beginning-of-text token, it stands first, beyond the count.
    """

    id: str
    token_ids: tuple[int, ...]
    continuation_ids: tuple[int, ...]


@dataclass(frozen=True)
class PrefixSet:
    """Prefixes of one corpus, and what was passed over to find them.

    `counts` and `too_short` tell of the texts up to the last prefix; of a corpus that is not streamed all are
    read, but only those up to the last prefix are measured.
    """

    prefixes: tuple[Prefix, ...]
    corpus: str
    revision: str
    split: Split
    counts: DocumentCounts
    too_short: int

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what a model is given: the ids and token ids, in order."""
        return _digest([prefix.id, prefix.token_ids] for prefix in self.prefixes)

    @cached_property
    def human_fingerprint(self) -> str:
        """SHA-256 of what people wrote: the ids, token ids and continuations, in order."""
        return _digest([prefix.id, prefix.token_ids, prefix.continuation_ids] for prefix in self.prefixes)


def prefixes(
    corpus: Corpus,
    tokenizer: PreTrainedTokenizerBase,
    n: int = PAPER_PREFIXES,
    tokens: int = PAPER_PREFIX_TOKENS,
    continuation_tokens: int = CONTINUATION_TOKENS,
    min_continuation_tokens: int = MIN_CONTINUATION_TOKENS,
    progress: Callable[[int], None] | None = None,
    documents_per_batch: int = _DOCUMENTS_PER_BATCH,
) -> PrefixSet:
    """Return the first `n` documents of a corpus as prefixes of `tokens` tokens with their continuations.

    A document needs `min_continuation_tokens` more than its prefix, or is skipped and counted. Up to
    `continuation_tokens` of how it went on are kept; how many does not change which documents are chosen.
    `progress` is called with the number found so far. The batch changes nothing but speed.
    """
    require_integers(
        n=(n, 1),
        tokens=(tokens, 1),
        continuation_tokens=(continuation_tokens, 0),
        min_continuation_tokens=(min_continuation_tokens, 0),
        documents_per_batch=(documents_per_batch, 1),
    )
    least = tokens + min_continuation_tokens
    tokens_needed = max(least, tokens + continuation_tokens)
    start = len(leading_ids(tokenizer))
    end = start + tokens
    prefixes: list[Prefix] = []
    too_short = 0
    reader = corpus.documents()
    for document, counts, ids in _encoded(reader, tokenizer, tokens_needed, documents_per_batch):
        if len(ids) - start < least:
            too_short += 1
            continue
        prefixes.append(Prefix(document.id, ids[:end], ids[end : end + continuation_tokens]))
        if progress is not None:
            progress(len(prefixes))
        if len(prefixes) == n:
            return PrefixSet(tuple(prefixes), corpus.name, corpus.revision, corpus.split, counts, too_short)
    raise _too_few(corpus, reader.counts, n, len(prefixes), f"{too_short} shorter than {least} tokens")


def _too_few(corpus: Corpus, counts: DocumentCounts, n: int, found: int, short: str) -> InvalidInputError:
    return InvalidInputError(
        f"{counted(n, 'prefix', 'prefixes')} were asked for, but {corpus} has only {found}: of "
        f"{counted(counts.read, 'text')}, {counts.empty} empty, {counts.broken} broken, {counts.duplicates} "
        f"duplicates, {counts.other_split} in the other split and {short}. {corpus.advice_for_more}"
    )


def _encoded(
    reader: DocumentReader, tokenizer: PreTrainedTokenizerBase, tokens: int, per_batch: int
) -> Iterator[tuple[Document, DocumentCounts, tuple[int, ...]]]:
    """Yield each document with the counts at its time and the ids of its first tokens.

    The counts are taken before the rest of the batch is read, so that reading ahead does not show in them.
    """
    arriving = ((document, reader.counts) for document in reader)
    while batch := list(itertools.islice(arriving, per_batch)):
        openings = encode_openings(tokenizer, [document.text for document, _ in batch], tokens)
        for (document, counts), ids in zip(batch, openings, strict=True):
            yield document, counts, ids


def _digest(rows: Iterable[list[object]]) -> str:
    return hashlib.sha256(json.dumps(list(rows), separators=(",", ":")).encode()).hexdigest()
