"""Score generated text: MAUVE against human text, and statistics of the texts themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.jobs.base import register
from harness.jobs.featurize import FeaturizeGenerated, FeaturizeHuman
from harness.jobs.parts import Inputs, Results, TextsJob
from harness.jobs.score import Score, logarithms, scoring_options

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from harness.scoring.request import ScoreRequest
    from harness.scoring.texts import TextSet


@dataclass(frozen=True)
class GeneratedTexts:
    """The texts of generate jobs."""

    generated: tuple[str, ...]  # the jobs


@register
@dataclass(frozen=True)
class ScoreGenerated(Score):
    """The texts of a setting with a seed, and their features compared with those of human text."""

    role = "scores"
    marker = ("texts", "generated")

    human: tuple[str, ...]  # featurize jobs
    generated: tuple[str, ...]  # featurize jobs
    texts: GeneratedTexts
    mauve: Mapping[str, Any]
    plugins: Mapping[str, Mapping[str, str]] | None = None  # provenance of statistics that are not built in

    @classmethod
    def plan(
        cls,
        config: SweepConfig,
        human: Sequence[FeaturizeHuman],
        generate: Sequence[TextsJob],
        featurize: Sequence[FeaturizeGenerated],
    ) -> ScoreGenerated:
        """The job of a setting with a seed."""
        mauve = config.scoring.mauve
        options = scoring_options(config)
        unavailable = generate[0].lacks_statistics
        options["statistics"] = tuple(name for name in options["statistics"] if name not in unavailable)
        return cls(
            **options,
            human=tuple(job.id for job in human),
            generated=tuple(job.id for job in featurize),
            texts=GeneratedTexts(tuple(job.id for job in generate)),
            mauve={**mauve.model_dump(mode="json"), "kmeans_seeds": list(mauve.kmeans_seeds)},
        )

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.human, *self.texts.generated, *self.generated)))

    @property
    def mauve_options(self) -> Mapping[str, Any]:
        return self.mauve

    def describe(self) -> str:
        return f"scored what a model wrote: {', '.join(self.score_names)}"

    def request(self, inputs: Inputs, batch_size: int | None = None) -> ScoreRequest:
        from harness.scoring.scorer import FeaturePair

        results = inputs.results
        features = FeaturePair(results.features(self.human), results.features(self.generated))
        return self.score_request(_read_texts(results, self.texts.generated), features)


def _read_texts(results: Results, job_ids: Sequence[str]) -> TextSet:
    from harness.scoring.texts import TextSet, TokenLikelihood
    from workers.generation_record import StopReason

    prefix_set = results.parsed_jobs(job_ids[:1])[job_ids[0]].prefix_set
    assert prefix_set is not None
    index_of = {entry.id: index for index, entry in enumerate(results.prefixes(prefix_set))}
    generations = [generation for _, generation in results.generations(job_ids)]
    lengths = [len(generation.trace) for generation in generations]
    probabilities = [generation.trace.probabilities.astype(np.float64) for generation in generations]
    return TextSet(
        prefixes=len(index_of),
        prefix_index=np.array([index_of[generation.prefix_id] for generation in generations]),
        token_ids=tuple(generation.token_ids.astype(np.int64) for generation in generations),
        ended=np.array([generation.stop_reason is StopReason.END for generation in generations]),
        likelihood=TokenLikelihood(
            np.repeat(np.arange(len(generations)), lengths), logarithms(np.concatenate(probabilities))
        ),
        traces=tuple(generation.trace for generation in generations),
    )
