"""What a sweep comes to, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from harness.config.expansion import MethodInstance, expand, measurements
from harness.config.schema import SweepConfig


@dataclass(frozen=True, slots=True)
class StageSummary:
    """One stage. Tokens are an upper bound: texts may end early."""

    name: str
    kind: str
    split: str
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: tuple[str, ...]  # in words, without repetition
    texts: int
    max_tokens: int  # in all of these texts
    positions: int  # human tokens measured
    programs: int  # solved for them
    deferred: int  # settings x models whose parameter is found on the way


@dataclass(frozen=True, slots=True)
class SweepSummary:
    """A sweep and its stages."""

    name: str
    description: str
    corpus: str
    models: tuple[str, ...]
    stages: tuple[StageSummary, ...]

    @property
    def texts(self) -> int:
        """Texts in all."""
        return sum(stage.texts for stage in self.stages)

    @property
    def max_tokens(self) -> int:
        """Tokens in all, at most."""
        return sum(stage.max_tokens for stage in self.stages)

    @property
    def positions(self) -> int:
        """Human tokens measured in all."""
        return sum(stage.positions for stage in self.stages)


def summarize(config: SweepConfig) -> SweepSummary:
    """Count what a sweep will do, before anything is known of its results."""
    instances = expand(config)
    stages = []
    for stage in config.stages:
        run = [instance for instance in instances if instance.stage == stage.name]
        measured = sum(instance.stage == stage.name for instance in measurements(config))
        written = [instance for instance in run if not instance.setting.is_imported]
        texts = len(written) * config.prefixes.count * config.generation.samples
        positions = measured * config.measurement.tokens
        stages.append(
            StageSummary(
                name=stage.name,
                kind=stage.kind,
                split=config.measurement.split if stage.kind == "measure" else stage.text_split,
                models=tuple(model.title for model in config.models_of(stage)),
                seeds=config.seeds_of(stage),
                settings=tuple(dict.fromkeys(map(_in_words, run))),
                texts=texts,
                max_tokens=texts * config.generation.max_tokens,
                positions=positions,
                programs=positions * sum(size > 0 for size in config.measurement.basis_sizes),
                deferred=_deferred(run),
            )
        )
    models = tuple(model.title for model in config.models)
    return SweepSummary(config.name, config.description, config.corpus.name, models, tuple(stages))


def _in_words(instance: MethodInstance) -> str:
    setting = str(instance.setting)
    return f"{instance.method} ({setting})" if instance.setting.is_imported else setting


def _deferred(run: list[MethodInstance]) -> int:
    return len({(one.model, one.setting) for one in run if not one.setting.is_resolved})
