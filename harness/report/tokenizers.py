"""The text of single tokens, from a model's tokenizer without its weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bat.errors import BatError, InvalidInputError
from workers.local_files import is_model_path
from workers.names import is_fake_name

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

# Enough context to determine the text that a token adds.
_TOKENS_BEFORE = 8
_NO_CHARACTER = "\ufffd"


def token_texts(
    model_name: str, context_ids: Sequence[int], token_ids: Sequence[int], revision: str | None = None
) -> list[str]:
    """Return the text that each token adds to the context and the tokens before it.

    A character that several tokens share belongs to the last of them, and those before it add nothing, so
    that the texts add up to the whole text. Special tokens, which a text does not show, give their names.
    ``revision`` is a commit of the hub; models that are local files have one version only.
    """
    tokenizer = load_tokenizer(model_name, revision)
    for token in (*context_ids, *token_ids):
        if token < 0:
            raise InvalidInputError(f"token ids must be at least 0; got {token} for {model_name!r}.")
    return _texts(tokenizer, list(context_ids), list(token_ids))


@lru_cache(maxsize=8)
def load_tokenizer(model_name: str, revision: str | None = None) -> PreTrainedTokenizerBase:
    """Return the tokenizer of a model by the model's name; it is cached in this process."""
    import torch

    from workers import fake_model, models

    if is_fake_name(model_name):
        return fake_model.parse(model_name).build(torch.float32)[1]
    if models.is_local(model_name):
        return _read(model_name, _local_folder(model_name))
    try:
        return _read(model_name, model_name, revision)
    except InvalidInputError:
        return _read(model_name, model_name, revision, local_files_only=False)


def _local_folder(model_name: str) -> str:
    from workers import models

    if is_model_path(model_name) and (folder := Path(model_name).expanduser()).is_dir():
        return str(folder)  # a tokenizer may stand there without a model
    try:
        return models.find_source(model_name, None)[0]
    except BatError as error:
        raise _unavailable(model_name, str(error).rstrip(".")) from error


def _read(
    model_name: str, source: str, revision: str | None = None, *, local_files_only: bool = True
) -> PreTrainedTokenizerBase:
    from transformers import AutoTokenizer

    from workers.pretrained import first_sentence, quietly

    arguments: dict[str, Any] = {
        "pretrained_model_name_or_path": source,
        "revision": revision,
        "local_files_only": local_files_only,
        "trust_remote_code": False,
    }
    try:
        with quietly():
            tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(**arguments)
    except Exception as error:
        raise _unavailable(model_name, first_sentence(error)) from error
    return tokenizer


def _unavailable(model_name: str, reason: str) -> InvalidInputError:
    return InvalidInputError(
        f"the tokenizer of {model_name!r} must be available to split texts into tokens; it cannot be loaded: "
        f"{reason}. Check the name, or connect to the hub once to download it."
    )


def _texts(tokenizer: PreTrainedTokenizerBase, context: list[int], tokens: list[int]) -> list[str]:
    from workers.encoding import decode

    special = set(tokenizer.all_special_ids)
    texts: list[str] = []
    before = context[-_TOKENS_BEFORE:]  # tokens whose text is complete
    waiting: list[int] = []  # tokens of a character that is not complete yet
    for index, token in enumerate(tokens):
        waiting.append(token)
        text_before = decode(tokenizer, before)
        text = decode(tokenizer, [*before, *waiting]).removeprefix(text_before.rstrip(_NO_CHARACTER))
        last = index + 1 == len(tokens)
        if token >= len(tokenizer):
            texts.append(f"<unused {token}>")
        elif token in special:
            texts.append(str(tokenizer.convert_ids_to_tokens(token)))
        elif text.endswith(_NO_CHARACTER) and not last:
            texts.append("")
            continue
        else:
            texts.append(text)
        before, waiting = [*before, *waiting][-_TOKENS_BEFORE:], []
    return texts
