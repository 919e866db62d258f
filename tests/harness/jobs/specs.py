"""One specification of each kind of job, small and like real ones; any field can be replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.jobs import (
    CorpusIdentity,
    FeaturizeGenerated,
    FeaturizeHuman,
    FeaturizePrefixes,
    Generate,
    HumanLikelihood,
    ImportedFile,
    ImportTexts,
    JobSpec,
    MeasureHumanText,
    ModelIdentity,
    PrefixRange,
    ScoreGenerated,
    ScoreHuman,
)
from harness.jobs.featurize import GeneratedTextRange, HumanTextRange, PrefixTextRange
from harness.jobs.measure_human_text import DrawnPositions
from harness.jobs.score_generated import GeneratedTexts
from harness.jobs.score_human import HumanTexts

MODEL = ModelIdentity("gpt2", None, "float32", "w" * 16, "t" * 16)
READER = ModelIdentity("gpt2-large", None, "float32", "v" * 16, "t" * 16)
CORPUS = CorpusIdentity("news", "r7", "test")
SCORING: dict[str, Any] = {"statistics": ("length", "zipf"), "resamples": 50, "resample_seed": 0}


def measure(**changes: Any) -> MeasureHumanText:
    spec = MeasureHumanText(
        model=MODEL,
        corpus=CORPUS,
        documents=("d1", "d2"),
        positions=DrawnPositions(12, 3, 0, 35, 256),
        constraints=(4, 20),
        tolerance=1e-6,
        batch_size=8,
    )
    return replace(spec, **changes)


def likelihood(**changes: Any) -> HumanLikelihood:
    spec = HumanLikelihood(MODEL, CORPUS, PrefixRange("set", 0, 4), tokens_per_text=16, batch_size=8)
    return replace(spec, **changes)


def generate(rule: str = "eta", parameter: float | None = 0.002, **changes: Any) -> Generate:
    aware = {"constraints": 20, "max_tries": 10, "fallback": "greedy", "solver": "certified"}
    spec = Generate(
        model=MODEL,
        rule=rule,
        parameter=parameter,
        max_tokens=6,
        batch_size=2,
        seed=3,
        prefixes=PrefixRange("set", 0, 4),
        sample=0,
        **(aware if rule.startswith("ba-") else {}),  # type: ignore[arg-type]
    )
    return replace(spec, **changes)


def import_texts(**changes: Any) -> ImportTexts:
    file = ImportedFile("pairs.jsonl", "f" * 64, continuation="topp", prefix="prefix")
    return replace(ImportTexts(MODEL, file, 6, PrefixRange("set", 0, 4)), **changes)


def featurize_human(**changes: Any) -> FeaturizeHuman:
    spec = FeaturizeHuman(READER, True, 64, 16, HumanTextRange("set", 0, 4))
    return replace(spec, **changes)


def featurize_generated(writer: Generate | None = None, **changes: Any) -> FeaturizeGenerated:
    spec = FeaturizeGenerated(READER, True, 64, 16, GeneratedTextRange((writer or generate()).id, 0, 4))
    return replace(spec, **changes)


def featurize_prefixes(**changes: Any) -> FeaturizePrefixes:
    return replace(FeaturizePrefixes(READER, True, 64, 16, PrefixTextRange("set", 0, 4)), **changes)


def score_generated(writer: Generate | None = None, **changes: Any) -> ScoreGenerated:
    spec = ScoreGenerated(
        **SCORING,
        human=(featurize_human().id,),
        generated=(featurize_generated(writer).id,),
        texts=GeneratedTexts(((writer or generate()).id,)),
        mauve={"buckets": "auto", "kmeans_seeds": [25, 26]},
    )
    return replace(spec, **changes)


def score_human(**changes: Any) -> ScoreHuman:
    texts, likelihoods = HumanTexts("set"), (likelihood().id,)
    spec = ScoreHuman(
        **SCORING, model=MODEL, corpus=CORPUS, texts=texts, max_tokens=6, likelihood=likelihoods
    )
    return replace(spec, **changes)


def one_of_each() -> list[JobSpec[Any]]:
    return [
        measure(),
        likelihood(),
        generate(),
        import_texts(),
        featurize_human(),
        featurize_generated(),
        featurize_prefixes(),
        score_generated(),
        score_human(),
    ]
