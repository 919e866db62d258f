"""What requests are built from: a sweep's materials, and stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.jobs import HumanText, ImportedFile, ModelIdentity, PrefixEntry
from harness.planning.materials import Materials
from harness.store import Reader
from workers.requests import ModelRequest


@dataclass(frozen=True)
class SweepInputs:
    """See harness.jobs.Inputs."""

    materials: Materials
    results: Reader

    def model_request(self, model: ModelIdentity) -> ModelRequest:
        """The request that makes a worker load a model."""
        return self.materials.card_of(model).pinned_request

    def human_text(self, model: ModelIdentity) -> HumanText:
        """The text on which rejection rates are measured, in the tokens of a model."""
        return self.materials.human_text(self.materials.card_of(model))

    def imported_texts(
        self, file: ImportedFile, model: ModelIdentity, prefixes: Sequence[PrefixEntry]
    ) -> list[str]:
        """The texts of a file that continue these prefixes."""
        return self.materials.imported_texts(file, model, prefixes)
