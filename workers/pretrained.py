"""The loaders of transformers and the hub, kept quiet, with errors that are one sentence.

Nothing here ever runs code that comes with a model: ``trust_remote_code`` is never set. The libraries take
seconds to import, so each function imports what it needs.
"""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bat.errors import InvalidInputError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

_LONGEST_REASON = 240  # characters of a library's own message that are passed on


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep bars, notices and warnings of the libraries from mixing with our own output."""
    from huggingface_hub.utils import logging as hub_logging
    from transformers.utils import logging as transformers_logging

    bars = transformers_logging.is_progress_bar_enabled()
    transformers_level = transformers_logging.get_verbosity()
    hub_level = hub_logging.get_verbosity()
    transformers_logging.disable_progress_bar()  # the hub's bars too
    transformers_logging.set_verbosity(logging.ERROR)
    hub_logging.set_verbosity(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        hub_logging.set_verbosity(hub_level)
        transformers_logging.set_verbosity(transformers_level)
        if bars:
            transformers_logging.enable_progress_bar()


def first_sentence(error: BaseException) -> str:
    """Return the first line of a library's message, cut to a readable length, without its full stop."""
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line.rstrip(".") if len(line) <= _LONGEST_REASON else line[:_LONGEST_REASON] + " ..."


def fetch_commit(name: str, revision: str | None) -> str:
    """Return the commit of a hub model that a revision (a branch, a tag, a commit) stands for now.

    Raises the errors of the hub's own library; `describe_hub_error` puts them into words.
    """
    from huggingface_hub import hf_hub_download

    with quietly():
        config_file = hf_hub_download(name, "config.json", revision=revision)
    # The cache keeps each file under its commit: .../snapshots/<commit>/config.json.
    return config_file.replace("\\", "/").split("/")[-2]


def describe_hub_error(error: Exception, revision: str | None) -> str:
    """Say in half a sentence why the hub's library did not give a model."""
    from huggingface_hub import errors as hub_errors

    match error:
        case hub_errors.HFValidationError():
            return "it is not a name a hub model can have"
        case hub_errors.GatedRepoError():
            return "the hub gives it only to those who accepted its terms"
        case hub_errors.RepositoryNotFoundError():
            return "the hub has no such model, or keeps it private"
        case hub_errors.RevisionNotFoundError():
            return f"the hub has this model, but no revision {revision!r} of it"
        case hub_errors.LocalEntryNotFoundError():
            return "the hub could not be reached, and no earlier download was found"
        case hub_errors.EntryNotFoundError():
            return "the hub's copy has no config.json"
    return f"the hub answered: {first_sentence(error)}"


def read_pretrained(
    source: str, dtype: torch.dtype, commit: str | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Read a model and its tokenizer from a folder, or from the hub at a commit, into main memory."""
    location = _location(source, commit)
    with quietly():
        config = _read_config(source, location)
        try:
            model = read_weights(source, **location, config=config, dtype=dtype)
        except InvalidInputError:
            raise
        except Exception as error:
            raise InvalidInputError(
                f"The weights of {source!r} could not be loaded: {first_sentence(error)}. "
                "Give a folder that save_pretrained wrote, or another model."
            ) from error
    return model, read_tokenizer(source, commit)


def read_tokenizer(source: str, commit: str | None = None) -> PreTrainedTokenizerBase:
    """Read a tokenizer alone from a folder, or from the hub at a commit."""
    from transformers import AutoTokenizer

    with quietly():
        try:
            tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(**_location(source, commit))
        except Exception as error:
            raise InvalidInputError(
                f"The tokenizer of {source!r} could not be loaded: {first_sentence(error)}. "
                "Put the tokenizer's files beside the weights."
            ) from error
    return tokenizer


def read_tokenizer_file(source: str, commit: str | None = None) -> PreTrainedTokenizerBase:
    """Read a tokenizer by its tokenizer.json alone, whatever class its model has one of.

    Raises the errors of transformers.
    """
    from transformers import PreTrainedTokenizerFast

    with quietly():
        tokenizer: PreTrainedTokenizerBase = PreTrainedTokenizerFast.from_pretrained(
            **_location(source, commit)
        )
    return tokenizer


def _location(source: str, commit: str | None) -> dict[str, Any]:
    return {
        "pretrained_model_name_or_path": source,
        "revision": commit,
        "local_files_only": commit is None,
        "trust_remote_code": False,
    }


def read_weights(source: str, **settings: Any) -> PreTrainedModel:
    """Call the loader of transformers with these settings, and raise unless it found every weight."""
    from transformers import AutoModelForCausalLM

    read: Any = AutoModelForCausalLM.from_pretrained(**settings, output_loading_info=True)
    model: PreTrainedModel = read[0]
    report: dict[str, Any] = read[1]
    # transformers fills what a checkpoint lacks with random numbers, and would only have warned.
    missing = sorted({*report["missing_keys"], *map(str, report["mismatched_keys"])})
    if missing:
        raise InvalidInputError(
            f"The files of {source!r} must hold every weight of the model, but lack {len(missing)} of them, "
            f"such as {missing[0]}. Give those of a complete language model."
        )
    return model


def _read_config(source: str, location: dict[str, Any]) -> PreTrainedConfig:
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig

    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(**location)
    except Exception as error:
        if "trust_remote_code" in str(error):
            raise InvalidInputError(
                f"The model {source!r} needs code that comes with it, which is never run here. "
                "Choose a model that transformers itself knows."
            ) from error
        raise InvalidInputError(
            f"The configuration of {source!r} could not be read: {first_sentence(error)}. "
            "Give a folder that save_pretrained wrote, or another model."
        ) from error
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise InvalidInputError(
            f"The model {source!r} must be a causal language model, but it is of type {config.model_type!r}, "
            "for which transformers has no causal language model. Choose one that predicts next tokens, "
            "such as gpt2."
        )
    return config
