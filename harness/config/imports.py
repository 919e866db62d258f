"""Imports: texts made elsewhere, scored and reported beside those of the sweep's methods."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from harness.config.sections import Enters, MethodLabel, Section, Text
from harness.config.stages import Labels


class Import(Section):
    """Texts from a file that continue the prefixes of a stage, one row per prefix. They are cut to
    `generation.max_tokens` tokens and marked as imported."""

    name: Annotated[MethodLabel, Enters.RUN]
    """Name of the method that made them, for reports."""

    file: Text
    """A .jsonl, .jsonl.gz or .parquet file."""

    continuation: Text = "continuation"
    """The column with the texts. If a text begins with its prefix, the prefix is removed."""

    prefix: Text | None = None
    """The column with the text of each prefix; default: `prefix`."""

    prefix_id: Text | None = None
    """Instead of `prefix`: the column with the id that each prefix has in the database."""

    stages: Labels | None = None
    """The generate stages whose prefixes they continue; default: all."""

    models: Labels | None = None
    """The models to compare them with, whose tokenizers also cut them and count their tokens; default: all
    models of the stage."""

    @model_validator(mode="after")
    def _takes_one_prefix_column(self) -> Import:
        if self.prefix is not None and self.prefix_id is not None:
            raise ValueError("an import takes one of the keys prefix and prefix_id; got both")
        return self

    @property
    def prefix_column(self) -> str:
        """The column that identifies the prefix of each text."""
        return self.prefix_id or self.prefix or "prefix"

    def joins(self, stage: str, model: str) -> bool:
        """Whether the texts are compared with those of a model in a stage."""
        in_stage = self.stages is None or stage in self.stages
        return in_stage and (self.models is None or model in self.models)
