"""Stages: what is done in which order."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import model_validator

from harness.config.errors import ConfigError, Problem
from harness.config.sections import DISTINCT, NOT_EMPTY, Enters, Label, Name, Section, Seeds, Split

Labels = Annotated[tuple[Label, ...], NOT_EMPTY, DISTINCT]


class Stage(Section):
    """One step of a sweep. What a stage needs of another, such as a best parameter, must come before it."""

    name: Annotated[Name, Enters.RUN]
    """What progress and reports call it."""

    kind: Literal["measure", "generate"] = "generate"
    """`measure` reads human text, from which all rejection rates follow; `generate` continues prefixes and
    scores the texts."""

    split: Split | None = None
    """For `generate`: which half of the corpus the prefixes are from; `test` by default."""

    methods: Labels | None = None
    """For `generate`: the methods to run, by name; all of them by default."""

    models: Labels | None = None
    """The models to run, by label or name; all of them by default."""

    seeds: Seeds | None = None
    """For `generate`: other seeds than those of `generation`."""

    @model_validator(mode="after")
    def _measures_without_methods(self) -> Stage:
        if self.kind == "measure":
            advice = {
                "split": "A measure stage takes no split. Set measurement.split.",
                "seeds": "A measure stage takes no seeds. Set measurement.seed.",
                "methods": "A measure stage takes no methods: one reading serves every rule. Leave them out.",
            }
            problems = [
                Problem((key,), sentence)
                for key, sentence in advice.items()
                if getattr(self, key) is not None
            ]
            if problems:
                raise ConfigError(problems)
        return self

    @property
    def text_split(self) -> Split:
        """The half that prefixes are taken from."""
        return self.split or "test"
