"""What texts are continued from: prefixes of a corpus, or prompts written as strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from bat.errors import InvalidInputError
from workers.corpora.documents import document_id
from workers.encoding import encode
from workers.model_info import ModelInfo
from workers.prefixes import Prefix

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Opening(Protocol):
    """What a text is continued from; `workers.prefixes.Prefix` is one."""

    @property
    def id(self) -> str: ...

    @property
    def token_ids(self) -> tuple[int, ...]: ...


def as_openings(tokenizer: PreTrainedTokenizerBase, prompts: Sequence[Opening | str]) -> list[Opening]:
    """The prompts as tokens. The id of a string is that of a document with its text, so its random numbers
    depend on the text alone."""
    if isinstance(prompts, str):
        raise InvalidInputError(f"prefixes must be a list of prompts; got one string. Write [{prompts!r}].")
    openings: list[Opening] = []
    for prompt in prompts:
        if isinstance(prompt, str):
            openings.append(Prefix(document_id(prompt), encode(tokenizer, prompt), ()))
        elif hasattr(prompt, "token_ids") and hasattr(prompt, "id"):
            openings.append(prompt)
        else:
            raise InvalidInputError(
                f"a prefix must be a string or a workers.prefixes.Prefix; got {type(prompt).__name__}."
            )
    return openings


def check_openings(info: ModelInfo, prefixes: Sequence[Opening]) -> None:
    """Raise unless a model can continue all of them."""
    for prefix in prefixes:
        length = len(prefix.token_ids)
        if length == 0:
            raise InvalidInputError(
                f"a prefix must have at least one token; prefix {prefix.id!r} is empty. "
                "Start with the end-of-text token to let the model begin."
            )
        if length >= info.context_length:
            raise InvalidInputError(
                f"a prefix must leave room in the context of {info.name}, {info.context_length} tokens; "
                f"prefix {prefix.id!r} has {length}. Shorten it."
            )
        outside = [token for token in prefix.token_ids if not 0 <= token < info.vocabulary_size]
        if outside:
            raise InvalidInputError(
                f"token ids must lie in [0, {info.vocabulary_size}) for {info.name}; prefix {prefix.id!r} "
                f"has {outside[0]}. Check that the prefixes were made with this model's tokenizer."
            )


def prompt_name(token_ids: Sequence[int]) -> str:
    """Return what stands for a prompt of another engine in the keys of random numbers: its token ids, without
    padding."""
    return " ".join(map(str, token_ids))
