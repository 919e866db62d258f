"""The jobs of one setting with one seed, from texts to their scores."""

from __future__ import annotations

from dataclasses import dataclass

from harness.config.expansion import BestOf, MethodInstance, Setting
from harness.jobs import Job
from harness.planning import specs
from harness.planning.materials import Materials, ModelCard
from workers.prefixes import PrefixSet
from workers.rejection import default_parameters


@dataclass(frozen=True)
class InstanceJobs:
    """What a setting needs done. What is about human text is the same for all settings of a model."""

    prefix_set: PrefixSet
    generate: tuple[Job, ...]
    human_features: tuple[Job, ...]
    featurize: tuple[Job, ...]
    score: Job
    human_scores: tuple[Job, ...]  # what the scores are held against

    @property
    def own(self) -> tuple[Job, ...]:
        """Those that no other setting has."""
        return (*self.generate, *self.featurize, self.score)

    @property
    def shared(self) -> tuple[Job, ...]:
        return (*self.human_features, *self.human_scores)

    @property
    def in_order(self) -> tuple[Job, ...]:
        """All, in the order in which they should be done."""
        return (*self.generate, *self.human_features, *self.featurize, self.score, *self.human_scores)


def instance_jobs(
    materials: Materials, card: ModelCard, instance: MethodInstance, setting: Setting
) -> InstanceJobs:
    """Name the jobs of an instance, at a setting whose parameter is known."""
    config = materials.config
    prefix_set = materials.prefix_set(card, instance.split)
    reader = materials.card(config.features)
    human = specs.featurize_human(config, reader, prefix_set)
    generate = specs.generate_jobs(config, card, prefix_set, setting, instance.seed)
    featurize = specs.featurize_generated(config, reader, generate)
    return InstanceJobs(
        prefix_set=prefix_set,
        generate=tuple(generate),
        human_features=tuple(human),
        featurize=tuple(featurize),
        score=specs.score_job(config, human, generate, featurize),
        human_scores=tuple(_human_scores(materials, card, prefix_set)),
    )


def _human_scores(materials: Materials, card: ModelCard, prefix_set: PrefixSet) -> list[Job]:
    """What tells the statistics of human text, to hold those of generated text against."""
    config = materials.config
    wanted = config.scoring.statistics
    if not set(wanted) - {"sampling"}:  # people do not sample
        return []
    likelihood = specs.likelihood_jobs(config, card, prefix_set) if "perplexity" in wanted else []
    return [*likelihood, specs.human_score_job(config, card, prefix_set, likelihood)]


def stand_in(setting: Setting) -> Setting:
    """The setting at some parameter that its rule takes: its jobs are as many and as large as the real ones
    will be, and have other ids."""
    match setting.parameter:
        case BestOf(candidates=(first, *_)) if first is not None:
            return setting.at(first)
    return setting.at(float(default_parameters(setting.rule)[0]))
