"""Language models by name, ready to run, and checked to be what the method needs.

smollm2-135m            the embedded default, which needs no network
fake:v=1000,d=16        seeded random numbers, for tests and simulations (see fake_model)
path/to/model.gguf      converted once into the cache
package:NAME            the GGUF file of an installed package, converted likewise
path/to/folder          an ordinary model folder
openai-community/gpt2   anything else is looked for on the model hub
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bat.basis import Basis
from bat.errors import BatError, InvalidInputError
from bat.suggestions import did_you_mean
from workers import fake_model, pretrained
from workers.assets import DEMO_MODEL, EmbeddedAsset, cache_folder, find_packaged_gguf
from workers.conversion import prepare_model, report_on_stderr
from workers.fingerprints import tokenizer_fingerprint, weight_fingerprint
from workers.local_files import is_model_path
from workers.model_info import UNLIMITED_CONTEXT as UNLIMITED_CONTEXT
from workers.model_info import ModelInfo as ModelInfo
from workers.names import PACKAGED_MODEL, is_fake_name

if TYPE_CHECKING:  # torch and transformers are imported to load a model: a driver only asks what it is
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

EMBEDDED_MODELS: dict[str, EmbeddedAsset] = {"smollm2-135m": DEMO_MODEL}

# Ends a document in the training text of many models whose tokenizer names a chat token as the end.
_DOCUMENT_END = "<|endoftext|>"


@dataclass(frozen=True, slots=True, eq=False)
class LanguageModel:
    """A causal language model ready for inference, and the tokenizer that belongs to it."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    info: ModelInfo
    _bases: dict[int, Basis] = field(default_factory=dict, repr=False)

    def basis(self, constraints: int = 20) -> Basis:
        """The first singular vectors of the output matrix, kept in memory and in the cache folder."""
        if constraints not in self._bases:
            from workers.output_layer import get_output_matrix

            weight = get_output_matrix(self.model, self.info.name)
            # A fake model's basis takes no time to make and is not worth a file.
            cache = None if self.info.name.startswith(fake_model.PREFIX) else cache_folder()
            self._bases[constraints] = Basis.from_matrix(weight, constraints, cache)
        return self._bases[constraints]

    def announce(self) -> str:
        """One line that tells people what was loaded."""
        return str(self.info)


def load(
    name: str, device: str = "auto", dtype: str = "float32", revision: str | None = None
) -> LanguageModel:
    """Load the model of that name, ready for inference, or say in one sentence why it cannot be used.

    `device` is cpu, cuda, cuda:N, mps, or auto (cuda where there is one, else cpu); `dtype` is float32,
    bfloat16 or float16; `revision` is a branch, tag or commit, for models of the hub alone.
    """
    from workers.devices import resolve_device, resolve_dtype
    from workers.output_layer import check_output_layer, get_output_matrix

    device, number_type = resolve_device(device), resolve_dtype(dtype)
    recipe = fake_model.parse(name) if is_fake_name(name) else None
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    if recipe is not None:
        check_no_revision(name, revision)
        name = str(recipe)
        model, tokenizer = recipe.build(number_type)
    else:
        model, tokenizer, revision = _read(name, number_type, revision)

    weights = weight_fingerprint(model.state_dict())  # while they are in main memory
    model.eval().requires_grad_(False).to(device)
    check_output_layer(model, name)
    vocabulary_size, hidden_size = get_output_matrix(model, name).shape
    _check_tokenizer(tokenizer, vocabulary_size, name)
    info = ModelInfo(
        name=name,
        revision=revision,
        device=device,
        dtype=dtype,
        vocabulary_size=vocabulary_size,
        hidden_size=hidden_size,
        context_length=_context_length(model),
        tokenizer_fingerprint=tokenizer_fingerprint(tokenizer),
        weight_fingerprint=weights,
        end_tokens=_end_tokens(model, tokenizer, vocabulary_size),
    )
    if recipe is not None:
        recipe.misbehave(model)  # last, so that the pass that checked the output layer is not counted
    return LanguageModel(model, tokenizer, info)


def full_name(name: str) -> str:
    """The name that a model goes by once it is loaded: that of a fake one is written out in full."""
    return str(fake_model.parse(name)) if is_fake_name(name) else name


def _read(
    name: str, dtype: torch.dtype, revision: str | None
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, str | None]:
    """Read a model that is not fake into main memory; also return its revision as resolved."""
    source, commit = find_source(name, revision)
    model, tokenizer = pretrained.read_pretrained(source, dtype, commit)
    converted = commit is None and Path(source).is_relative_to(cache_folder())
    return model, tokenizer, Path(source).name if converted else commit


def find_source(name: str, revision: str | None) -> tuple[str, str | None]:
    """Where a model that is not fake is read from: a folder, or a name on the hub with a commit."""
    if is_local(name):
        check_no_revision(name, revision)
        return str(_model_folder(name)), None
    return name, _fetch_commit(name, revision)


def is_local(name: str) -> bool:
    """Whether the name is that of a model in a file, a folder or a package."""
    return name in EMBEDDED_MODELS or name.startswith(PACKAGED_MODEL) or is_model_path(name)


def check_no_revision(name: str, revision: str | None) -> None:
    """Raise if a revision is asked of a model that has none."""
    if revision is not None:
        raise InvalidInputError(
            f"A revision can be asked of hub models only; got {revision!r} for {name!r}. Leave it out."
        )


def _model_folder(name: str) -> Path:
    """Return the folder of a model that is local, converting its GGUF file first if need be."""
    if name in EMBEDDED_MODELS:
        return prepare_model([EMBEDDED_MODELS[name].get()], cache_folder())
    if name.startswith(PACKAGED_MODEL):
        return _convert(name, find_packaged_gguf(name.removeprefix(PACKAGED_MODEL)))
    path = Path(name).expanduser()
    if path.suffix.lower() == ".gguf":
        if not path.is_file():
            raise InvalidInputError(f"There is no GGUF file {str(path)!r}. Check the spelling.")
        return _convert(str(path), [path])
    if not path.is_dir():
        problem = "is a file of another kind" if path.exists() else "does not exist"
        raise InvalidInputError(
            f"A model's path must name a model folder or a .gguf file, but {name!r} {problem}. "
            "Check the spelling."
        )
    if not (path / "config.json").is_file():
        raise InvalidInputError(
            f"A model folder must hold a config.json, but {name!r} does not. "
            "Give the folder that save_pretrained wrote."
        )
    return path


def _convert(shown: str, gguf_parts: Sequence[Path]) -> Path:
    try:
        return prepare_model(gguf_parts, cache_folder())
    except BatError:
        raise
    except Exception as error:  # the readers of GGUF raise whatever a damaged file leads them to
        raise InvalidInputError(
            f"The GGUF file {shown!r} could not be converted: {pretrained.first_sentence(error)}. "
            "Check that it is whole and of an architecture that transformers reads."
        ) from error


def _fetch_commit(name: str, revision: str | None) -> str:
    report_on_stderr(f"Looking for {name} on the model hub; the first time, it is downloaded ...")
    try:
        return pretrained.fetch_commit(name, revision)
    except Exception as error:
        guess = did_you_mean(name.lower(), EMBEDDED_MODELS)
        raise InvalidInputError(
            f"The model {name!r} is not an embedded model, a file or a folder, and loading it from the hub "
            "failed: "
            f"{pretrained.describe_hub_error(error, revision)}.{guess} Check the spelling, give a model "
            "folder, set HF_TOKEN for a private or gated model, or HF_HUB_OFFLINE=1 to use earlier downloads "
            "alone."
        ) from error


def _check_tokenizer(tokenizer: PreTrainedTokenizerBase, vocabulary_size: int, name: str) -> None:
    special = {token for token, added in tokenizer.added_tokens_decoder.items() if added.special}
    plain = set(tokenizer.get_vocab().values()) - special
    if not plain:
        raise InvalidInputError(
            f"The tokenizer of {name!r} must have tokens for text, but has none. "
            "Put the tokenizer's files beside the weights."
        )
    # A special token may lie beyond the matrix, as the image token of Gemma 3's text models does: only a text
    # that spells it out could lead to it.
    if max(plain) >= vocabulary_size:
        raise InvalidInputError(
            f"The tokenizer of {name!r} must fit the output matrix, which has {vocabulary_size} rows, but it "
            f"has token ids up to {max(plain)}. Give the tokenizer the model was trained with."
        )


def _context_length(model: PreTrainedModel) -> int:
    config = model.config.get_text_config()
    for key in ("max_position_embeddings", "max_seq_len"):
        length = getattr(config, key, None)
        if isinstance(length, int) and length > 0:
            return length
    return UNLIMITED_CONTEXT


def _end_tokens(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, vocabulary_size: int
) -> tuple[int, ...]:
    tokens: set[object] = {tokenizer.eos_token_id, tokenizer.get_vocab().get(_DOCUMENT_END)}
    for settings in (model.config, model.config.get_text_config(), model.generation_config):
        named = getattr(settings, "eos_token_id", None)
        tokens.update(named if isinstance(named, list | tuple) else [named])
    return tuple(sorted(token for token in tokens if isinstance(token, int) and 0 <= token < vocabulary_size))
