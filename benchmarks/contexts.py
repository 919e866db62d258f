"""Real contexts: distributions of the demo model at human tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import bat
from bat.basis import Basis
from workers import models
from workers.assets import cache_folder
from workers.corpora import open_corpus
from workers.output_layer import get_output_matrix
from workers.positions import draw_from_corpus
from workers.reading import read

COUNT = 200
SEED = 0


@dataclass(frozen=True)
class Contexts:
    weight: npt.NDArray[np.float32]  # [v, d]
    probs: npt.NDArray[np.float64]  # [COUNT, v]
    tokens: npt.NDArray[np.int64]  # [COUNT]

    def basis(self, constraints: int) -> Basis:
        return Basis.from_matrix(self.weight, constraints, cache_dir=cache_folder())

    @property
    def own(self) -> npt.NDArray[np.float64]:
        """The probability of each human token."""
        return self.probs[np.arange(len(self.tokens)), self.tokens]


def load_contexts(limit: int = COUNT) -> Contexts:
    """Load the first ``limit`` contexts, computed once and cached, because the model is not timed."""
    path = cache_folder() / "benchmarks" / f"human-{COUNT}-{SEED}-2.npz"
    if not path.is_file():
        demo = models.load("smollm2-135m", device="cpu")
        drawn = draw_from_corpus(open_corpus("news", split="all"), demo.tokenizer, COUNT, seed=SEED)
        batches = list(read(demo, *drawn))
        logits = np.concatenate([batch.logits for batch in batches])
        tokens = np.concatenate([batch.tokens for batch in batches])
        weight = get_output_matrix(demo.model, "smollm2-135m").numpy()
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".partial.npz")
        np.savez(draft, weight=weight, logits=logits, tokens=tokens)
        draft.replace(path)
    with np.load(path) as stored:
        logits, tokens = stored["logits"][:limit], stored["tokens"][:limit]
        return Contexts(stored["weight"], bat.softmax(logits), tokens)
