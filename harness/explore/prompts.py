"""From a prompt to the token ids of a model, and from tokens to visible text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bat.errors import InvalidInputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from workers.models import LanguageModel

# Separates documents in the training text of GPT-2 and many other models.
_DOCUMENT_END = "<|endoftext|>"
# Tokens of context that decide what text a token adds.
_TOKENS_BEFORE = 8


def encode_prompt(
    language_model: LanguageModel, prompt: str, *, document_start: bool = True
) -> tuple[int, ...]:
    """Return the ids of a prompt, including what the tokenizer puts before every text.

    If that is nothing, as for GPT-2, ``document_start`` adds the token that separates documents, as in the
    paper. Predictions after a single word are unusual without it.
    """
    from workers.encoding import encode, leading_ids

    tokenizer, info = language_model.tokenizer, language_model.info
    ids = encode(tokenizer, prompt)
    if document_start and not leading_ids(tokenizer):
        separator = tokenizer.get_vocab().get(_DOCUMENT_END)
        candidates = [separator, tokenizer.bos_token_id, tokenizer.eos_token_id]
        ids = (*[token for token in candidates if isinstance(token, int)][:1], *ids)
    if not ids:
        raise InvalidInputError(
            "the prompt must have at least one token; got an empty prompt. "
            "Write a word, or leave out --no-document-start."
        )
    if len(ids) > info.context_length:
        raise InvalidInputError(
            f"the prompt must fit into the {info.context_length} tokens that {info.name} reads; got "
            f"{len(ids)} tokens. Shorten it."
        )
    return ids


def token_text(tokenizer: PreTrainedTokenizerBase, before: Sequence[int], token: int) -> str:
    """Return the text that a token adds after the tokens before it.

    A special token gives its name. Bytes that are not a complete character are kept as lone surrogates (the
    error handler surrogateescape); ``visible`` shows them as bytes.
    """
    from workers.encoding import decode_continuation

    name = tokenizer.convert_ids_to_tokens(token) if token < len(tokenizer) else None
    if not isinstance(name, str):
        return f"<unused {token}>"  # some output matrices have more rows than there are tokens
    if token in tokenizer.all_special_ids:
        return name
    text = decode_continuation(tokenizer, before[-_TOKENS_BEFORE:], [token])
    if "\ufffd" not in text:
        return text
    alphabet = _byte_alphabet()
    if set(name) <= alphabet.keys():
        return bytes(alphabet[letter] for letter in name).decode("utf-8", "surrogateescape")
    return name  # other tokenizers write bytes as <0xE2>


def visible(text: str) -> str:
    """Return text with spaces as ␣, and unprintable characters as escapes."""
    return "".join(map(_visible, text))


def _visible(letter: str) -> str:
    if letter == " ":
        return "␣"
    if "\udc80" <= letter <= "\udcff":
        return f"\\x{ord(letter) - 0xDC00:02x}"
    if letter == "\\" or not letter.isprintable():
        return letter.encode("unicode_escape").decode()
    return letter


def _byte_alphabet() -> dict[str, int]:
    """The characters that represent the 256 bytes in byte-level vocabularies."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]  # represent themselves
    others = sorted(set(range(0x100)) - set(printable))
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + index): byte for index, byte in enumerate(others)
    }
