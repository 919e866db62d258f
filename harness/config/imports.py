"""Imports: texts made elsewhere, which are scored and reported beside our own."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from harness.config.sections import Enters, Label, Section, Text
from harness.config.stages import Labels


class Import(Section):
    """Texts of a file that continue the prefixes of a stage, a row for each prefix. They are cut to
    `generation.max_tokens` tokens, and shown as imported."""

    name: Annotated[Label, Enters.RUN]
    """What reports call the method that made them."""

    file: Text
    """A .jsonl, .jsonl.gz or .parquet file."""

    continuation: Text = "continuation"
    """The column with the texts. Where a text begins with its prefix, the prefix is removed."""

    prefix: Text | None = None
    """The column with the prefixes, as text; `prefix` by default."""

    prefix_id: Text | None = None
    """Instead of `prefix`: the column with the prefixes' ids, as in the database."""

    stages: Labels | None = None
    """The generate stages whose prefixes they continue; all of them by default."""

    models: Labels | None = None
    """The models beside which they are shown, and whose tokens they are cut and counted in; all of the
    stage's by default."""

    @model_validator(mode="after")
    def _names_one_column(self) -> Import:
        if self.prefix is not None and self.prefix_id is not None:
            raise ValueError("an import takes one of the keys prefix and prefix_id; got both")
        return self

    @property
    def prefix_column(self) -> str:
        """The column that tells which prefix a text continues."""
        return self.prefix_id or self.prefix or "prefix"

    def joins(self, stage: str, model: str) -> bool:
        """Whether the texts belong into a stage, beside a model."""
        in_stage = self.stages is None or stage in self.stages
        return in_stage and (self.models is None or model in self.models)
