"""Real contexts: the demo model's distributions at human next-tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import bat
from bat.basis import Basis
from workers.assets import cache_folder, load_demo_model
from workers.human_text import human_next_tokens, read_news_articles

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
    """The first ``limit``; computed once and kept in the cache: the model is not what is measured here."""
    path = cache_folder() / "benchmarks" / f"human-{COUNT}-{SEED}.npz"
    if not path.is_file():
        model, tokenizer = load_demo_model()
        found = human_next_tokens(
            model, tokenizer, read_news_articles(), count=COUNT, per_document=4, seed=SEED
        )
        weight = model.get_output_embeddings().weight.detach().numpy()
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".partial.npz")
        np.savez(draft, weight=weight, logits=found.logits, tokens=found.tokens)
        draft.replace(path)
    with np.load(path) as stored:
        logits, tokens = stored["logits"][:limit], stored["tokens"][:limit]
        return Contexts(stored["weight"], bat.softmax(logits), tokens)
