"""How much of the texts a compression program can do without."""

from __future__ import annotations

import gzip

import numpy as np

from bat.threads import map_in_threads, usable_threads
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Statistic, Whole
from harness.scoring.texts import TextSet


def compression(texts: TextSet, resampling: Resampling) -> list[Statistic]:
    """`compression-ratio`: bytes of all texts, joined by spaces, over gzip's (Shaib et al. 2024)."""
    if texts.strings is None:
        return []
    strings = np.array([text.encode("utf-8", "replace") for text in texts.strings], dtype=object)
    kept = resampling.left_out()[:, texts.prefix_index] > 0  # [blocks, m]
    samples = [strings, *(strings[of_block] for of_block in kept)]
    value, *left_out = map_in_threads(
        lambda sample: compression_ratio(sample.tolist()), samples, usable_threads(None)
    )
    return [Whole("compression-ratio", value, np.array(left_out))]


def compression_ratio(texts: list[bytes]) -> float:
    """Bytes before over bytes after compression; not defined (NaN) without any."""
    joined = b" ".join(texts)
    return len(joined) / len(gzip.compress(joined, mtime=0)) if any(texts) else float("nan")
