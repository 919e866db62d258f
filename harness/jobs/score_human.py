"""Score human text, in the tokens of a model, to compare the scores of generated text with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.jobs.base import register
from harness.jobs.measure_human_text import HumanLikelihood
from harness.jobs.parts import CorpusIdentity, Inputs, ModelIdentity
from harness.jobs.score import Score, logarithms, scoring_options

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from harness.scoring.request import ScoreRequest
    from workers.prefixes import PrefixSet


@dataclass(frozen=True)
class HumanTexts:
    """The human continuations of a set of prefixes."""

    human: str  # the set


@register
@dataclass(frozen=True)
class ScoreHuman(Score):
    """The human continuations of a set of prefixes, with their likelihood under a model."""

    role = "human scores"
    marker = ("texts", "human")
    model_task = "supplied the tokens for scores of human text"

    model: ModelIdentity
    corpus: CorpusIdentity
    texts: HumanTexts
    max_tokens: int  # shorter texts ended by themselves
    likelihood: tuple[str, ...]  # jobs
    plugins: Mapping[str, Mapping[str, str]] | None = None  # provenance of statistics that are not built in

    @classmethod
    def plan(
        cls,
        config: SweepConfig,
        model: ModelIdentity,
        prefix_set: PrefixSet,
        likelihood: Sequence[HumanLikelihood],
    ) -> ScoreHuman:
        """The job for a model and a set of prefixes."""
        return cls(
            **scoring_options(config),
            model=model,
            corpus=CorpusIdentity.of(prefix_set.corpus, prefix_set.revision, prefix_set.split),
            texts=HumanTexts(prefix_set.human_fingerprint),
            max_tokens=config.generation.max_tokens,
            likelihood=tuple(job.id for job in likelihood),
        )

    @property
    def needs(self) -> tuple[str, ...]:
        return self.likelihood

    @property
    def prefix_set(self) -> str:
        return self.texts.human

    def describe(self) -> str:
        return f"scored what people wrote: {', '.join(self.score_names)}"

    def request(self, inputs: Inputs, batch_size: int | None = None) -> ScoreRequest:
        from harness.scoring.texts import TextSet, TokenLikelihood

        entries = inputs.results.prefixes(self.texts.human)
        text_of, log_probs = np.empty(0, dtype=np.int64), np.empty(0)
        if self.likelihood:
            measured = inputs.results.measurement(self.likelihood)
            index_of = {entry.id: index for index, entry in enumerate(entries)}
            text_of = np.array([index_of[name] for name in measured.document.tolist()], dtype=np.int64)
            log_probs = logarithms(measured.probability)
        texts = TextSet(
            prefixes=len(entries),
            prefix_index=np.arange(len(entries)),
            token_ids=tuple(np.array(entry.continuation_ids, dtype=np.int64) for entry in entries),
            ended=np.array([len(entry.continuation_ids) < self.max_tokens for entry in entries]),
            likelihood=TokenLikelihood(text_of, log_probs),
        )
        return self.score_request(texts, None)
