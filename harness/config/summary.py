"""The size of a sweep: texts, tokens, measured positions and programs."""

from __future__ import annotations

from dataclasses import dataclass

from harness.config.expansion import MethodInstance, expand, measurements
from harness.config.schema import SweepConfig


@dataclass(frozen=True, slots=True)
class StageSummary:
    """One stage. Tokens are an upper bound: texts can end early."""

    name: str
    kind: str
    split: str
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: tuple[str, ...]  # as text, each once
    texts: int
    max_tokens: int  # of all these texts together
    positions: int  # human tokens measured
    programs: int  # solved to measure them
    deferred: int  # settings x models whose parameter results will decide


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
        """Texts of all stages."""
        return sum(stage.texts for stage in self.stages)

    @property
    def max_tokens(self) -> int:
        """Tokens of all stages, at most."""
        return sum(stage.max_tokens for stage in self.stages)

    @property
    def positions(self) -> int:
        """Human tokens measured in all stages."""
        return sum(stage.positions for stage in self.stages)


def summarize(config: SweepConfig) -> SweepSummary:
    """Count the work of a sweep, without results."""
    instances = expand(config)
    stages = []
    for stage in config.stages:
        run = [instance for instance in instances if instance.stage == stage.name]
        measured = sum(instance.stage == stage.name for instance in measurements(config))
        generated = [instance for instance in run if not instance.setting.is_imported]
        texts = len(generated) * config.prefixes.count * config.generation.samples
        positions = measured * config.measurement.tokens
        stages.append(
            StageSummary(
                name=stage.name,
                kind=stage.kind,
                split=config.measurement.split if stage.kind == "measure" else stage.text_split,
                models=tuple(model.title for model in config.models_of(stage)),
                seeds=config.seeds_of(stage),
                settings=tuple(dict.fromkeys(map(_as_text, run))),
                texts=texts,
                max_tokens=texts * config.generation.max_tokens,
                positions=positions,
                programs=positions * sum(number > 0 for number in config.measurement.constraints),
                deferred=_deferred(run),
            )
        )
    models = tuple(model.title for model in config.models)
    return SweepSummary(config.name, config.description, config.corpus.name, models, tuple(stages))


def _as_text(instance: MethodInstance) -> str:
    setting = str(instance.setting)
    return f"{instance.method} ({setting})" if instance.setting.is_imported else setting


def _deferred(run: list[MethodInstance]) -> int:
    return len({(instance.model, instance.setting) for instance in run if not instance.setting.is_resolved})
