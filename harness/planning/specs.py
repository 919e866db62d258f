"""The specification of each kind of job: everything that its result depends on, and enough to do it.

Texts and documents are named by the hash of their content, models by the fingerprints of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import bat
from harness.config.expansion import Resolved, Setting
from harness.config.schema import SweepConfig
from harness.jobs import Job, JobKind
from harness.planning.materials import HumanText, ModelCard
from workers.positions import MAX_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS
from workers.prefixes import PrefixSet
from workers.reading import DOCUMENTS_PER_BATCH

# Of each human text so many tokens, evenly spread, are asked about for its perplexity. Every token would
# store a million rows for 5,000 texts, and tell little more: what varies is the texts.
LIKELIHOOD_TOKENS = 16


def measure_jobs(config: SweepConfig, card: ModelCard, text: HumanText) -> list[Job]:
    """Measure human text, a shard of documents at a time."""
    wanted = config.measurement
    return [
        Job(
            JobKind.MEASURE,
            {
                "model": card.identity,
                "corpus": text.corpus,
                "documents": [document.id for document in text.documents[start:stop]],
                "positions": {
                    "tokens": wanted.tokens,
                    "per_document": wanted.per_document,
                    "seed": wanted.seed,
                    "min_context": MIN_CONTEXT_TOKENS,
                    "max_context": MAX_CONTEXT_TOKENS,
                },
                "basis_sizes": sorted(wanted.basis_sizes),
                "tolerance": wanted.tolerance,
                "batch_size": DOCUMENTS_PER_BATCH,
            },
        )
        for start, stop in shards(len(text.documents), wanted.shard_size)
    ]


def generate_jobs(
    config: SweepConfig, card: ModelCard, prefix_set: PrefixSet, setting: Setting, seed: int
) -> list[Job]:
    """Continue prefixes under one setting, a shard at a time, as often as there are samples."""
    assert isinstance(setting.parameter, Resolved)
    rule = bat.get_rule(setting.rule, setting.parameter.value)
    wanted = config.generation
    shared: dict[str, Any] = {
        "model": card.identity,
        "rule": rule.name,
        "parameter": rule.parameter,
        "max_tokens": wanted.max_tokens,
        "batch_size": wanted.batch_size,
        "seed": seed,
    }
    if rule.basis_aware:  # what plain rules have no use for must not tell their jobs apart
        shared |= {
            "constraints": setting.constraints,
            "max_tries": wanted.max_tries,
            "fallback": wanted.fallback,
            "solver": wanted.solver,
        }
    return [
        Job(
            JobKind.GENERATE,
            {
                **shared,
                "prefixes": {"set": prefix_set.human_fingerprint, "start": start, "stop": stop},
                "sample": sample,
            },
        )
        for sample in range(wanted.samples)
        for start, stop in shards(len(prefix_set.prefixes), config.prefixes.shard_size)
    ]


def featurize_generated(config: SweepConfig, card: ModelCard, made: Sequence[Job]) -> list[Job]:
    """Turn what generate jobs wrote into vectors."""
    return [
        _featurize(config, card, {"generated": job.id, "start": start, "stop": stop}, (job.id,))
        for job in made
        for start, stop in shards(
            job.spec["prefixes"]["stop"] - job.spec["prefixes"]["start"], config.features.shard_size
        )
    ]


def featurize_human(config: SweepConfig, card: ModelCard, prefix_set: PrefixSet) -> list[Job]:
    """Turn what people wrote into vectors."""
    named = prefix_set.human_fingerprint
    return [
        _featurize(config, card, {"human": named, "start": start, "stop": stop})
        for start, stop in shards(len(prefix_set.prefixes), config.features.shard_size)
    ]


def likelihood_jobs(config: SweepConfig, card: ModelCard, prefix_set: PrefixSet) -> list[Job]:
    """Ask the model about some tokens of what people wrote after each prefix, for their perplexity."""
    corpus = {"name": prefix_set.corpus, "revision": prefix_set.revision, "split": prefix_set.split}
    named = prefix_set.human_fingerprint
    return [
        Job(
            JobKind.MEASURE,
            {
                "model": card.identity,
                "corpus": corpus,
                "prefixes": {"set": named, "start": start, "stop": stop},
                "tokens_per_text": LIKELIHOOD_TOKENS,
                "batch_size": DOCUMENTS_PER_BATCH,
            },
        )
        for start, stop in shards(len(prefix_set.prefixes), config.prefixes.shard_size)
    ]


def score_job(
    config: SweepConfig, human: Sequence[Job], generate: Sequence[Job], featurize: Sequence[Job]
) -> Job:
    """Score what generate jobs wrote, by itself and against what people wrote."""
    mauve = config.scoring.mauve.model_dump(mode="json")
    spec = {
        "human": [job.id for job in human],
        "generated": [job.id for job in featurize],
        "texts": {"generated": [job.id for job in generate]},
        "mauve": {**mauve, "kmeans_seeds": list(config.scoring.mauve.kmeans_seeds)},
        **_statistics(config),
    }
    return Job(JobKind.SCORE, spec, _needs(human, generate, featurize))


def human_score_job(
    config: SweepConfig, card: ModelCard, prefix_set: PrefixSet, likelihood: Sequence[Job]
) -> Job:
    """Score what people wrote, in the tokens of a model: what the scores of texts are held against."""
    corpus = {"name": prefix_set.corpus, "revision": prefix_set.revision, "split": prefix_set.split}
    spec = {
        "model": card.identity,
        "corpus": corpus,
        "texts": {"human": prefix_set.human_fingerprint},
        "max_tokens": config.generation.max_tokens,  # a text that is shorter came to its own end
        "likelihood": [job.id for job in likelihood],
        **_statistics(config),
    }
    return Job(JobKind.SCORE, spec, _needs(likelihood))


def _statistics(config: SweepConfig) -> dict[str, Any]:
    scoring = config.scoring
    return {
        "statistics": sorted(scoring.statistics),
        "resamples": scoring.resamples,
        "resample_seed": scoring.resample_seed,
    }


def _needs(*kinds: Sequence[Job]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(job.id for jobs in kinds for job in jobs))


def shards(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most `size` that cover `count` places."""
    for start in range(0, count, size):
        yield start, min(count, start + size)


def _featurize(
    config: SweepConfig, card: ModelCard, texts: dict[str, Any], needs: tuple[str, ...] = ()
) -> Job:
    wanted = config.features
    spec = {
        "model": card.identity,
        "texts": texts,
        "include_prefix": wanted.include_prefix,
        "max_tokens": wanted.max_tokens,
        "batch_size": wanted.batch_size,
    }
    return Job(JobKind.FEATURIZE, spec, needs)
