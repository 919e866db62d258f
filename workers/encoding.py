"""From text to the token ids a model is given, and back.

Everything that runs a model over text goes through here, so that all agree on what stands before a text, on
what special tokens written out in a text mean (nothing: they are text), and on spaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedTokenizerBase

# English text has 4 to 5 characters a token. Texts with more are read again, twice as far.
_CHARACTERS_PER_TOKEN = 6
# Tokens this near to a cut are not trusted.
_MARGIN_CHARACTERS = 100
# A single space between two words: tokenizers begin a new token at it, or end one before it.
_BETWEEN_WORDS = re.compile(r"(?<=\w)(?= \w)")


def leading_ids(tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """Return what must stand before every text: the beginning-of-text token, if the tokenizer adds one.

    GPT-2 and SmolLM2 models were trained without one, Gemma and Llama models with one, and write nonsense
    without it. The tokenizer knows, and is asked. What else it adds, such as an end, is not wanted here.
    """
    beginning = tokenizer.bos_token_id
    added = tokenizer("").input_ids
    return (beginning,) if beginning is not None and added[:1] == [beginning] else ()


def encode(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[int, ...]:
    """Return the ids of a text, with what must stand before it (see `leading_ids`)."""
    [ids] = _encode(tokenizer, [text]).input_ids
    return (*leading_ids(tokenizer), *ids)


def encode_openings(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], tokens: int
) -> list[tuple[int, ...]]:
    """Return the ids of each text's first `tokens` tokens (or all it has), after what must stand before it.

    They are the ids that the whole text would begin with, but long texts are not read to their end.
    """
    leading = leading_ids(tokenizer)
    openings: dict[int, tuple[int, ...]] = {}
    characters = tokens * _CHARACTERS_PER_TOKEN + _MARGIN_CHARACTERS
    while waiting := [index for index in range(len(texts)) if index not in openings]:
        # Without offsets, which only fast tokenizers give, nothing says which tokens a cut could change.
        cuts = [_find_cut(texts[index], characters) if tokenizer.is_fast else None for index in waiting]
        encoded = _encode(tokenizer, [texts[index][:cut] for index, cut in zip(waiting, cuts, strict=True)])
        for row, (index, cut) in enumerate(zip(waiting, cuts, strict=True)):
            ids = encoded.input_ids[row][:tokens]
            if cut is None or _is_safe(encoded.offset_mapping[row], tokens, cut):
                openings[index] = (*leading, *ids)
        characters *= 2
    return [openings[index] for index in range(len(texts))]


def decode(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> str:
    """Return the text of token ids with every space as it stands, and without special tokens."""
    text = tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return cast(str, text)  # one sequence in, one text out


def decode_continuation(
    tokenizer: PreTrainedTokenizerBase, prefix: Sequence[int], continuation: Sequence[int]
) -> str:
    """Return the text that a continuation adds to a prefix.

    Tokens can hold parts of a character, and some tokenizers drop the space before a text's first word, so
    the continuation is decoded behind its prefix. A character that both share belongs to the continuation.
    """
    before = decode(tokenizer, prefix).rstrip("\ufffd")
    whole = decode(tokenizer, [*prefix, *continuation])
    return whole.removeprefix(before) if whole.startswith(before) else decode(tokenizer, continuation)


def _encode(tokenizer: PreTrainedTokenizerBase, texts: Sequence[str]) -> BatchEncoding:
    encoded: BatchEncoding = tokenizer(
        list(texts),
        add_special_tokens=False,
        split_special_tokens=True,
        return_attention_mask=False,
        return_offsets_mapping=tokenizer.is_fast,
        verbose=False,  # no warning that a text is longer than the model's context
    )
    return encoded


def _find_cut(text: str, characters: int) -> int | None:
    """Return the first position between two words from `characters` on, or None to take the whole text."""
    gap = _BETWEEN_WORDS.search(text, characters)
    return gap.start() if gap else None


def _is_safe(offsets: Sequence[tuple[int, int]], tokens: int, cut: int) -> bool:
    """Whether there are enough tokens that end well before the cut."""
    return len(offsets) >= tokens and all(end <= cut - _MARGIN_CHARACTERS for _, end in offsets[:tokens])
