"""A sweep as a whole. Each key is described once, below its definition, with its default and limits.

The sections that results depend on are in experiment.py, methods.py, imports.py and stages.py: they enter job
ids. `Resources` enters no identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import Field, model_validator

from bat.errors import InvalidInputError
from harness.config.checks import find_match, find_problems, get_reference
from harness.config.errors import ConfigError, suggest
from harness.config.experiment import Corpus, Features, Generation, Measurement, Model, Prefixes, Scoring
from harness.config.imports import Import
from harness.config.methods import Method
from harness.config.sections import NOT_EMPTY, Added, Enters, Name, Positive, Section
from harness.config.stages import Stage

__all__ = [
    "Corpus",
    "Features",
    "Generation",
    "Import",
    "Measurement",
    "Method",
    "Model",
    "Prefixes",
    "Resources",
    "Scoring",
    "Stage",
    "SweepConfig",
]

Part = TypeVar("Part")


class Resources(Section):
    """How the work is done. Nothing here enters an identity, so all of it can be changed before resuming.

    A worker on CPU uses `num_cpus` threads. A different number of threads, like different hardware, can
    change the last bits of results that are still to be computed.
    """

    enters: ClassVar[Enters] = Enters.NOTHING

    num_cpus: Positive = 1
    """CPU cores per worker."""

    num_gpus: Annotated[float, Field(ge=0)] = 0
    """GPUs per worker; a fraction lets workers share a GPU. With 0, workers run on CPU."""

    batches_in_flight: Literal["auto"] | Positive = "auto"
    """Batches of texts that a worker generates side by side: while the model runs one, the cores solve the
    programs of another. Each needs memory for its keys and values. auto: 2 on a GPU, 1 on CPU."""

    workers: Literal["auto"] | Positive = "auto"
    """Number of workers; auto: as many as the cluster has resources for."""

    lease_seconds: Annotated[float, Field(ge=1)] = 300
    """A driver that has not renewed its leases for this long loses its jobs to other drivers. Workers that
    die are noticed at once."""

    database_patience_seconds: Annotated[float, Field(ge=0)] = 300
    """How long a driver waits for a PostgreSQL server that cannot be reached, before it ends. It keeps the
    results that have arrived."""

    max_attempts: Positive = 3
    """How often a job is tried before it fails."""


class SweepConfig(Section):
    """A sweep: models, human text, methods, and the stages that combine them."""

    name: Annotated[Name, Enters.RUN]
    """Name of the runs of this sweep: letters and digits of any script, and `.`, `_`, `=` and `-`."""

    description: Annotated[str, Enters.NOTHING] = ""
    """What the sweep is for."""

    models: Annotated[tuple[Model, ...], NOT_EMPTY]
    """The models to measure and to generate text with."""

    corpus: Corpus
    """The source of human text."""

    prefixes: Prefixes = Prefixes()
    """The prefixes that models continue."""

    generation: Generation = Generation()
    """How models continue them."""

    measurement: Measurement = Measurement()
    """How rejection rates are measured."""

    features: Features = Features()
    """How texts become vectors."""

    scoring: Scoring = Scoring()
    """What is computed from texts and vectors."""

    methods: tuple[Method, ...] = ()
    """The rules to compare, each with the source of its parameter."""

    imports: Annotated[tuple[Import, ...], Added] = ()
    """Texts made elsewhere, scored and reported beside those of the methods."""

    stages: Annotated[tuple[Stage, ...], NOT_EMPTY]
    """The steps of the sweep, in order."""

    resources: Resources = Resources()
    """How the work is done."""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> SweepConfig:
        problems = list(find_problems(self))
        if problems:
            raise ConfigError(problems)
        return self

    def get_method(self, title: str) -> Method:
        """The method with that name."""
        return _get("method", {method.title: method for method in self.methods}, title)

    def rules(self) -> list[str]:
        """The names of its rules, each after that of the rule that it is matched to."""
        names = []
        for method in self.methods:
            match = find_match(method)
            names += [*([] if match is None else [get_reference(self, match).rule]), method.rule]
        return list(dict.fromkeys(names))

    def get_import(self, name: str) -> Import:
        """The import with that name."""
        return _get("import", {source.name: source for source in self.imports}, name)

    def get_model(self, title: str) -> Model:
        """The model with that label or, if it has none, that name."""
        return _get("model", {model.title: model for model in self.models}, title)

    def get_stage(self, name: str) -> Stage:
        """The stage with that name."""
        return _get("stage", {stage.name: stage for stage in self.stages}, name)

    def methods_of(self, stage: Stage) -> tuple[Method, ...]:
        """The methods that a stage runs, in its order; none for a measure stage."""
        if stage.kind == "measure":
            return ()
        return self.methods if stage.methods is None else tuple(map(self.get_method, stage.methods))

    def imports_of(self, stage: Stage, model: str) -> tuple[Import, ...]:
        """The imports that are compared with a model in a stage; none for a measure stage."""
        if stage.kind == "measure":
            return ()
        return tuple(source for source in self.imports if source.joins(stage.name, model))

    def seeds_of(self, stage: Stage) -> tuple[int, ...]:
        """The seeds that a stage runs; none for a measure stage."""
        if stage.kind == "measure":
            return ()
        return self.generation.seeds if stage.seeds is None else stage.seeds

    def models_of(self, stage: Stage) -> tuple[Model, ...]:
        """The models that a stage runs, in its order."""
        return self.models if stage.models is None else tuple(map(self.get_model, stage.models))


def _get(kind: str, parts: Mapping[str, Part], name: str) -> Part:
    if name not in parts:
        raise InvalidInputError(f"there is no {kind} {name!r} in this sweep.{suggest(name, parts)}")
    return parts[name]
