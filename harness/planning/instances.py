"""The jobs of a setting with a seed, from texts to scores, and of the human text it is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.config.expansion import BestOf, MethodInstance, Setting
from harness.jobs import (
    FeaturizeGenerated,
    FeaturizeHuman,
    FeaturizePrefixes,
    Generate,
    HumanLikelihood,
    ImportTexts,
    JobSpec,
    ScoreGenerated,
    ScoreHuman,
    TextsJob,
)
from harness.planning.materials import Materials, ModelCard
from workers.corpora import Split
from workers.prefixes import PrefixSet
from workers.rejection import default_parameters

AnyJob = JobSpec[Any]


@dataclass(frozen=True)
class HumanJobs:
    """Jobs about human text, which all settings of a model share."""

    prefix_set: PrefixSet
    features: tuple[FeaturizeHuman, ...]
    prefix_features: tuple[FeaturizePrefixes, ...]  # for coherence
    scores: tuple[AnyJob, ...]  # to compare the scores of generated texts with

    @property
    def jobs(self) -> tuple[AnyJob, ...]:
        """All jobs, in the order in which they should run."""
        return (*self.features, *self.prefix_features, *self.scores)


@dataclass(frozen=True)
class SettingJobs:
    """The other jobs of a setting."""

    generate: tuple[TextsJob, ...]
    featurize: tuple[FeaturizeGenerated, ...]
    score: ScoreGenerated

    @property
    def jobs(self) -> tuple[AnyJob, ...]:
        """All jobs, in the order in which they should run."""
        return (*self.generate, *self.featurize, self.score)


def human_jobs(materials: Materials, card: ModelCard, split: Split) -> HumanJobs:
    """Plan the jobs about the human continuations of the prefixes of one half."""
    config = materials.config
    prefix_set = materials.prefix_set(card, split)
    reader = materials.card(config.features).identity
    features = FeaturizeHuman.plan(config, reader, prefix_set)
    with_prefixes = "coherence" in config.scoring.statistics
    prefixes = FeaturizePrefixes.plan(config, reader, prefix_set) if with_prefixes else []
    # People do not sample, and their texts are not compared with themselves.
    statistics = set(config.scoring.statistics) - {"sampling", "support"}
    scores: list[AnyJob] = []
    if statistics:
        likelihood = (
            HumanLikelihood.plan(config, card.identity, prefix_set) if "perplexity" in statistics else []
        )
        score = ScoreHuman.plan(
            config, card.identity, prefix_set, likelihood, features if with_prefixes else (), prefixes
        )
        scores = [*likelihood, score]
    return HumanJobs(prefix_set, tuple(features), tuple(prefixes), tuple(scores))


def setting_jobs(
    materials: Materials, card: ModelCard, human: HumanJobs, instance: MethodInstance, setting: Setting
) -> SettingJobs:
    """Plan the jobs of an instance; `setting` is its setting with a known parameter."""
    config = materials.config
    reader = materials.card(config.features).identity
    generate: Sequence[TextsJob]
    if instance.seed is None:
        file = materials.imported_file(card, instance.split, config.get_import(instance.method))
        generate = ImportTexts.plan(config, card.identity, human.prefix_set, file)
    else:
        generate = Generate.plan(config, card.identity, human.prefix_set, setting, instance.seed)
    featurize = FeaturizeGenerated.plan(config, reader, generate)
    score = ScoreGenerated.plan(config, human.features, generate, featurize, human.prefix_features)
    return SettingJobs(tuple(generate), tuple(featurize), score)


def stand_in(instance: MethodInstance) -> Setting:
    """The setting with some valid parameter. Its jobs have the number and size of the real ones, but other
    ids."""
    setting = instance.setting
    match setting.parameter:
        case BestOf(candidates=(first, *_)) if first is not None:
            return setting.at(first)
    return setting.at(float(default_parameters(setting.rule)[0]))
