"""Stages: the steps of a sweep."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import model_validator

from harness.config.errors import ConfigError, Problem
from harness.config.sections import DISTINCT, NOT_EMPTY, Enters, Label, Name, Section, Seeds, Split

Labels = Annotated[tuple[Label, ...], NOT_EMPTY, DISTINCT]


class Stage(Section):
    """A step of a sweep. It must come after the stages whose results it needs."""

    name: Annotated[Name, Enters.RUN]
    """Name used in progress messages and reports."""

    kind: Literal["measure", "generate"] = "generate"
    """`measure` reads human text to compute rejection rates; `generate` continues prefixes and scores the
    texts."""

    split: Split | None = None
    """For `generate`: the half of the corpus that prefixes come from; default: `test`."""

    methods: Labels | None = None
    """For `generate`: names of the methods to run; default: all."""

    models: Labels | None = None
    """Labels or names of the models to run; default: all."""

    seeds: Seeds | None = None
    """For `generate`: seeds to use instead of `generation.seeds`."""

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
        """The half that prefixes come from."""
        return self.split or "test"
