"""Names that sweeps use too, apart from what they stand for: whoever checks a sweep needs no torch."""

from __future__ import annotations

from typing import Literal, get_args

Split = Literal["test", "validation", "all"]
SPLITS: tuple[Split, ...] = get_args(Split)

# What one document of a .txt file is.
SplitOn = Literal["file", "paragraph", "line"]
SPLIT_ON: tuple[SplitOn, ...] = get_args(SplitOn)

# Models and corpora that are never a path, although a folder may have the same name.
BUILT_IN_NAMES = frozenset({"smollm2-135m", "news", "movie-reviews", "openwebtext"})

Dtype = Literal["float32", "bfloat16", "float16"]
DTYPE_NAMES: tuple[Dtype, ...] = get_args(Dtype)
