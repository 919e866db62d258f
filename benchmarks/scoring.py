"""Scores: MAUVE with intervals against mauve-text alone, and features against forward passes alone.

Runs in a separate process with all cores, because the other sections use one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.record import Figure, best_in_turns, figures_of, write_figures
from harness.config.experiment import Mauve
from harness.scoring.clustering import FeatureArray
from harness.scoring.mauve_score import ClusterScore, cluster_scores
from harness.scoring.resampling import Resampling
from harness.scoring.statistics.support import support
from harness.scoring.texts import Features, TextSet, TokenLikelihood
from workers import models
from workers.corpora import open_corpus
from workers.encoding import encode_openings
from workers.features import DEFAULT_MAX_TOKENS, featurize
from workers.models import LanguageModel
from workers.prefixes import prefixes

VECTORS = 5000  # on each side, as in the paper
WIDTH = 384
CENTRES = 50
SETTINGS = Mauve().model_dump()
RESAMPLES = 1000
# Scores of ours that mauve-text computes, too, under its names.
PUBLISHED = {"mauve": "mauve", "mauve-star": "mauve_star", "frontier-integral": "frontier_integral"}

TEXTS = 64
TOKENS = range(60, 91)  # lengths of the texts: about 75
BATCH = 16


def measure() -> Iterator[Figure]:
    """Run this module in a separate process, and yield its figures as they arrive."""
    return figures_of("benchmarks.scoring")


def _figures() -> Iterator[Figure]:
    yield from _features(models.load("smollm2-135m", device="cpu"))
    yield from _mauve()
    yield from _support()


def _mauve() -> Iterator[Figure]:
    import mauve  # imports faiss and scikit-learn, which takes seconds

    human, generated = _vectors()
    prefix_index = np.arange(VECTORS)
    resampling = Resampling(VECTORS, RESAMPLES)
    ours: list[ClusterScore] = []
    theirs: list[Any] = []

    def run_ours() -> None:
        ours[:] = cluster_scores(human, generated, prefix_index, prefix_index, SETTINGS, resampling)

    def run_theirs() -> None:
        theirs[:] = [
            mauve.compute_mauve(p_features=human, q_features=generated, seed=seed, verbose=False)
            for seed in SETTINGS["kmeans_seeds"]
        ]

    our_seconds, their_seconds = best_in_turns([run_ours, run_theirs], repeats=2)
    seeds = len(SETTINGS["kmeans_seeds"])
    group = f"MAUVE, {VECTORS:,} and {VECTORS:,} vectors of {WIDTH}, {seeds} k-means seeds"
    yield Figure(group, "mauve-text, no intervals", their_seconds, "s")
    note = f"{len(ours)} scores; MAUVE {theirs[0].mauve:.3f}"
    yield Figure(group, f"ours, {RESAMPLES:,} reweightings", our_seconds, "s", note)
    ratio = our_seconds / their_seconds
    yield Figure(group, "ours / mauve-text", ratio, "x the time", "", "<= 1.3x the time", ratio <= 1.3)
    by_name = {score.name: score.values for score in ours}
    for name, attribute in PUBLISHED.items():
        expected = [getattr(result, attribute) for result in theirs]
        difference = float(np.abs(np.subtract(by_name[name], expected)).max())
        yield Figure(group, f"largest difference of {name}", difference, "", "", "0", difference == 0)


def _support() -> Iterator[Figure]:
    human, generated = _vectors()
    texts = TextSet(
        prefixes=VECTORS,
        prefix_index=np.arange(VECTORS),
        token_ids=(np.empty(0, np.int64),) * VECTORS,
        ended=np.zeros(VECTORS, np.bool_),
        likelihood=TokenLikelihood(np.empty(0, np.int64), np.empty(0)),
        features=Features(generated, human),
    )
    began = time.perf_counter()
    support(texts, Resampling(VECTORS, RESAMPLES))
    group = f"precision and recall, {VECTORS:,} and {VECTORS:,} vectors of {WIDTH}"
    yield Figure(group, "with 20 blocks left out", time.perf_counter() - began, "s")


def _vectors() -> tuple[FeatureArray, FeatureArray]:
    """Two samples of nearly the same mixture of normal distributions."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(CENTRES, WIDTH))

    def draw(shift: float) -> FeatureArray:
        noise = 0.5 * random.normal(size=(VECTORS, WIDTH))
        return (centres[random.integers(CENTRES, size=VECTORS)] + noise + shift).astype(np.float32)

    return draw(0.0), draw(0.05)


def _features(demo: LanguageModel) -> Iterator[Figure]:
    texts = _texts(demo)
    batches = _padded(encode_openings(demo.tokenizer, texts, DEFAULT_MAX_TOKENS))

    def ours() -> None:
        featurize(demo, texts, batch_size=BATCH, cache=None)

    _read(demo, batches[:1])  # warm up
    bare, whole = best_in_turns([lambda: _read(demo, batches), ours], repeats=3)
    tokens = sum(int(mask.sum()) for _, mask in batches)
    group = f"features, {TEXTS} texts of about {tokens / TEXTS:.0f} tokens, batch {BATCH}"
    yield Figure(group, "forward passes alone", tokens / bare, "tokens/s")
    yield Figure(group, "featurize, nothing cached", tokens / whole, "tokens/s")
    ratio = bare / whole
    yield Figure(group, "featurize / forward alone", ratio, "x", "", ">= 0.9x", ratio >= 0.9)


def _texts(demo: LanguageModel) -> list[str]:
    texts = []
    for index, prefix in enumerate(prefixes(open_corpus("news"), demo.tokenizer, n=TEXTS).prefixes):
        ids = [*prefix.token_ids, *prefix.continuation_ids]
        texts.append(str(demo.tokenizer.decode(ids[: TOKENS[index % len(TOKENS)]])))
    return texts


def _padded(token_ids: Sequence[Sequence[int]]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The batches that `featurize` reads, and their masks: sorted by length, padded on the right."""
    rows = sorted(map(tuple, token_ids), key=lambda ids: (len(ids), ids))
    batches = []
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        padded = torch.zeros((len(batch), max(map(len, batch))), dtype=torch.long)
        mask = torch.zeros_like(padded)
        for row, ids in enumerate(batch):
            padded[row, : len(ids)] = torch.tensor(ids)
            mask[row, : len(ids)] = 1
        batches.append((padded, mask))
    return batches


@torch.inference_mode()
def _read(demo: LanguageModel, batches: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """The model alone, up to its last hidden states."""
    base: Any = demo.model.base_model
    for token_ids, mask in batches:
        base(input_ids=token_ids, attention_mask=mask, use_cache=False)


if __name__ == "__main__":
    write_figures(_figures())
