"""A sweep as a whole. What a key means, its default and its limits are written down once, under the key.

experiment.py, methods.py, imports.py, stages.py
                what results depend on: enters the ids of jobs
resources.py    how the work is done: enters no identity, may change before resuming
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import model_validator

from bat.errors import InvalidInputError
from harness.config.checks import find_problems
from harness.config.errors import ConfigError, suggest
from harness.config.experiment import Corpus, Features, Generation, Measurement, Model, Prefixes, Scoring
from harness.config.imports import Import
from harness.config.methods import Method
from harness.config.resources import Resources
from harness.config.sections import NOT_EMPTY, Added, Enters, Name, Section
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


class SweepConfig(Section):
    """A sweep: models, text, methods, and the stages in which they meet."""

    name: Annotated[Name, Enters.RUN]
    """What runs of this sweep are called."""

    description: Annotated[str, Enters.NOTHING] = ""
    """What it is for, for people."""

    models: Annotated[tuple[Model, ...], NOT_EMPTY]
    """The models that are measured and that write."""

    corpus: Corpus
    """Where human text comes from."""

    prefixes: Prefixes = Prefixes()
    """What models continue."""

    generation: Generation = Generation()
    """How they continue it."""

    measurement: Measurement = Measurement()
    """How rejection rates are measured."""

    features: Features = Features()
    """How texts become vectors."""

    scoring: Scoring = Scoring()
    """What is computed from texts and vectors."""

    methods: tuple[Method, ...] = ()
    """The rules to compare, each with where its parameter comes from."""

    imports: Annotated[tuple[Import, ...], Added] = ()
    """Texts made elsewhere, to be scored and reported beside those of the methods."""

    stages: Annotated[tuple[Stage, ...], NOT_EMPTY]
    """What is done, in order."""

    resources: Resources = Resources()
    """How the work is done."""

    @model_validator(mode="after")
    def _holds_together(self) -> SweepConfig:
        problems = list(find_problems(self))
        if problems:
            raise ConfigError(problems)
        return self

    def get_method(self, title: str) -> Method:
        """The method of that name."""
        return _get("method", {method.title: method for method in self.methods}, title)

    def get_import(self, name: str) -> Import:
        """The import of that name."""
        return _get("import", {each.name: each for each in self.imports}, name)

    def get_model(self, title: str) -> Model:
        """The model of that label, or else name."""
        return _get("model", {model.title: model for model in self.models}, title)

    def get_stage(self, name: str) -> Stage:
        """The stage of that name."""
        return _get("stage", {stage.name: stage for stage in self.stages}, name)

    def methods_of(self, stage: Stage) -> tuple[Method, ...]:
        """The methods that a stage runs, in its order; none for one that measures."""
        if stage.kind == "measure":
            return ()
        return self.methods if stage.methods is None else tuple(map(self.get_method, stage.methods))

    def imports_of(self, stage: Stage, model: str) -> tuple[Import, ...]:
        """The imports that a stage shows beside a model; none for one that measures."""
        if stage.kind == "measure":
            return ()
        return tuple(each for each in self.imports if each.joins(stage.name, model))

    def seeds_of(self, stage: Stage) -> tuple[int, ...]:
        """The seeds that a stage runs; none for one that measures."""
        if stage.kind == "measure":
            return ()
        return self.generation.seeds if stage.seeds is None else stage.seeds

    def models_of(self, stage: Stage) -> tuple[Model, ...]:
        """The models that a stage runs, in its order."""
        return self.models if stage.models is None else tuple(map(self.get_model, stage.models))


def _get(kind: str, known: Mapping[str, Part], name: str) -> Part:
    if name not in known:
        raise InvalidInputError(f"there is no {kind} {name!r} in this sweep.{suggest(name, known)}")
    return known[name]
