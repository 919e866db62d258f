"""What texts are continued from: prefixes of a corpus, or prompts written as strings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from bat.errors import InvalidInputError
from workers.corpora.documents import document_id
from workers.encoding import encode
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
