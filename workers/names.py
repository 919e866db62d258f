"""Names that sweeps use too, apart from what they stand for: whoever checks a sweep needs no torch."""

from __future__ import annotations

from typing import Literal, get_args

Split = Literal["test", "validation", "all"]
SPLITS: tuple[Split, ...] = get_args(Split)

# What one document of a .txt file is.
SplitOn = Literal["file", "paragraph", "line"]
SPLIT_ON: tuple[SplitOn, ...] = get_args(SplitOn)

Dtype = Literal["float32", "bfloat16", "float16"]
DTYPE_NAMES: tuple[Dtype, ...] = get_args(Dtype)

# What runs a model to generate text.
Engine = Literal["transformers", "vllm"]
# Options of vLLM that follow from other keys of a sweep, or that would keep rules from being applied.
FIXED_ENGINE_OPTIONS = (
    *("model", "revision", "dtype", "max_num_seqs", "generation_config"),
    *("worker_extension_cls", "logits_processors", "speculative_config"),
)

FAKE_MODEL = "fake"  # alone, or before its recipe: fake:v=1000,d=16
EMBEDDED_MODEL_NAMES = ("smollm2-135m",)
PACKAGED_MODEL = "package:"  # before the name of an installed package that carries a GGUF file
HUB_CORPUS = "datasets:"  # before the name of a dataset
BUILT_IN_CORPORA = ("openwebtext", "news", "movie-reviews")


def is_fake_name(name: str) -> bool:
    """Whether the name is that of a model of random numbers."""
    return name == FAKE_MODEL or name.startswith(f"{FAKE_MODEL}:")
