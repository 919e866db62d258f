"""A small model made of seeded random numbers, for tests and simulations; it needs no files.

``fake:v=1000,d=16,layers=1,seed=0,context=1024`` is a genuine transformers model with a genuine tokenizer,
so it takes every path a real one takes. It can also misbehave by order:

    slow=0.01     every forward pass takes this many seconds longer
    fail_at=3     the third forward pass after loading raises RuntimeError
    crash_at=5    the fifth forward pass after loading ends the process
    lost_at=5     the fifth forward pass after loading raises what torch raises when a device vanishes
    oom_above=8   a batch of more than 8 rows raises torch.OutOfMemoryError

Misbehaviour changes no result, so it is no part of the model's name or fingerprints.
"""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean

if TYPE_CHECKING:  # imported where a model is made, since names are parsed without
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

PREFIX = "fake:"
END_OF_TEXT = "<|endoftext|>"
# Larger ones take minutes to make, and gigabytes.
_MOST_TOKENS = 2**20
_MOST_WEIGHTS = 2**28
_END_TOKEN = 256  # after the 256 bytes, before the made-up words

# The mean entropy aimed at, in nats: about that of real models at human text.
_ENTROPY = 4.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a name that begins with ``fake:`` asks for; the fields are its keys."""

    v: int = 1000  # vocabulary
    d: int = 16  # hidden size
    layers: int = 1
    seed: int = 0
    context: int = 1024
    slow: float = 0.0
    fail_at: int | None = None
    crash_at: int | None = None
    oom_above: int | None = None
    lost_at: int | None = None

    def __str__(self) -> str:
        """Name the model by what its results depend on."""
        return f"{PREFIX}v={self.v},d={self.d},layers={self.layers},seed={self.seed},context={self.context}"

    @property
    def weights(self) -> int:
        """How many weights it has, but for its norms: two matrices of the vocabulary, and its layers."""
        return 2 * self.v * self.d + self.layers * 10 * self.d**2

    def build(self, dtype: torch.dtype) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
        """Make the model and its tokenizer; the same name always gives the same bits."""
        return _make_model(self, dtype), self.build_tokenizer()

    def build_tokenizer(self) -> PreTrainedTokenizerFast:
        """Make the tokenizer alone, which depends on the vocabulary only."""
        return _make_tokenizer(self.v)

    def misbehave(self, model: PreTrainedModel) -> None:
        """From the next forward pass of the model on, be slow and fail as asked."""
        orders = (self.fail_at, self.crash_at, self.lost_at, self.oom_above)
        if self.slow == 0.0 and all(order is None for order in orders):
            return
        import torch

        passes = 0

        def before_pass(_: torch.nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
            nonlocal passes
            passes += 1
            inputs = args[0] if args else named.get("input_ids")
            rows = len(named["inputs_embeds"] if inputs is None else inputs)
            time.sleep(self.slow)
            if passes == self.crash_at:
                os._exit(1)  # as a killed worker would: no clean-up, no message
            if passes == self.fail_at:
                raise RuntimeError(f"{self} fails at forward pass {passes}, as fail_at asks")
            if passes == self.lost_at:
                raise torch.AcceleratorError(
                    f"{self} loses its device at forward pass {passes}, as lost_at asks"
                )
            if self.oom_above is not None and rows > self.oom_above:
                raise torch.OutOfMemoryError(f"{self} has no memory for {rows} rows, as oom_above asks")

        # On the body, which reads for features too; the head is called only to generate.
        model.base_model.register_forward_pre_hook(before_pass, with_kwargs=True)


# The least value of each key. Two hidden numbers make the smallest pair that positions can rotate.
_LEAST: dict[str, int] = {
    "v": _END_TOKEN + 1,
    "d": 2,
    "layers": 1,
    "seed": 0,
    "context": 1,
    "slow": 0,
    "fail_at": 1,
    "crash_at": 1,
    "lost_at": 1,
    "oom_above": 0,
}


def parse(name: str) -> Recipe:
    """Read a name such as ``fake:v=1000,seed=7``; what it leaves out has its default."""
    given: dict[str, Any] = {}
    for part in filter(None, name.removeprefix("fake").removeprefix(":").split(",")):
        key, _, text = (piece.strip() for piece in part.partition("="))
        if key not in _LEAST:
            known = [field.name for field in fields(Recipe)]
            advice = did_you_mean(key, known, cutoff=0.5) or f" The keys are {', '.join(known)}."
            raise InvalidInputError(f"A fake model has no key {key!r}; got it in {name!r}.{advice}")
        if key in given:
            raise InvalidInputError(f"Each key of a fake model stands once; got {key} twice in {name!r}.")
        given[key] = _read_number(key, text, name)
    fake = Recipe(**given)
    if fake.v > _MOST_TOKENS or fake.weights > _MOST_WEIGHTS:
        raise InvalidInputError(
            f"a fake model must have at most {_MOST_TOKENS:,} tokens and {_MOST_WEIGHTS:,} weights; got "
            f"v={fake.v:,} and {fake.weights:,} weights in {name!r}. Use a smaller v, d or layers."
        )
    if fake.d % 2:
        raise InvalidInputError(f"d must be even; got {fake.d} in {name!r}. Use {fake.d + 1}.")
    return fake


def _read_number(key: str, text: str, name: str) -> int | float:
    least = _LEAST[key]
    kind: type[int] | type[float] = float if key == "slow" else int
    try:
        number = kind(text)
    except ValueError:
        number = math.nan
    if not least <= number < 2**63:
        noun = "a number of seconds" if kind is float else "an integer"
        raise InvalidInputError(
            f"{key} must be {noun} of at least {least}; got {text!r} in {name!r}. Try {key}={max(least, 1)}."
        )
    return number


def _make_model(fake: Recipe, dtype: torch.dtype) -> PreTrainedModel:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=fake.v,
        hidden_size=fake.d,
        intermediate_size=2 * fake.d,
        num_hidden_layers=fake.layers,
        num_attention_heads=2 if fake.d % 4 == 0 else 1,
        max_position_embeddings=fake.context,
        tie_word_embeddings=False,
        bos_token_id=_END_TOKEN,
        eos_token_id=_END_TOKEN,
        pad_token_id=_END_TOKEN,
    )
    with torch.random.fork_rng(devices=[]):  # transformers initialises from the global state
        model = LlamaForCausalLM(config)
    generator = np.random.Generator(np.random.Philox(key=fake.seed))
    for name, weight in sorted(model.named_parameters()):
        if weight.ndim == 1:
            continue  # norms stay at one
        # Embeddings of unit size and layers that keep it, so that every part has a say.
        spread = 1.0 if "embed_tokens" in name else 1 / math.sqrt(weight.shape[1])
        if name == "lm_head.weight":
            # The last norm makes logits normal with this factor's deviation s, whose softmax over v tokens
            # has an entropy near log v - s**2 / 2.
            spread *= math.sqrt(2 * max(math.log(fake.v) - _ENTROPY, 0.5))
        values = generator.standard_normal(tuple(weight.shape)) * spread
        weight.data.copy_(torch.from_numpy(values))
    converted: PreTrainedModel = model.eval().to(dtype)
    return converted


def _make_tokenizer(size: int) -> PreTrainedTokenizerFast:
    """A tokenizer of bytes, which can spell any text exactly, and made-up words, which only models write."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = [*_byte_characters(), END_OF_TEXT, *(_word(index) for index in range(size - _END_TOKEN - 1))]
    inner = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token=END_OF_TEXT,
        eos_token=END_OF_TEXT,
        pad_token=END_OF_TEXT,
        clean_up_tokenization_spaces=False,
    )


def _byte_characters() -> list[str]:
    """The characters that stand for the 256 bytes in byte-level vocabularies."""
    from tokenizers import pre_tokenizers

    return sorted(pre_tokenizers.ByteLevel.alphabet())


def _word(index: int) -> str:
    """A pronounceable word of its own for every index, with the space before it: " babe", " bifo", ..."""
    consonants, vowels = "bdfgklmnprstvz", "aeiou"
    syllables: list[str] = []
    while index or len(syllables) < 2:
        index, which = divmod(index, len(consonants) * len(vowels))
        syllables.append(consonants[which // len(vowels)] + vowels[which % len(vowels)])
    return "Ġ" + "".join(reversed(syllables))  # Ġ stands for the space
