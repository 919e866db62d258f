"""What jobs that give texts have in common: texts that a model writes here, and texts made elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from harness.jobs.base import JobKind, JobSpec
from harness.jobs.parts import ModelIdentity, PrefixRange
from harness.jobs.rows import GenerationRows

if TYPE_CHECKING:
    from workers.generation import Generation


class TextsJob(JobSpec["list[Generation]"]):
    """A shard of prefixes -> a text for each, in the tokens of a model. Subclasses have the fields."""

    kind = JobKind.GENERATE
    role = "texts"
    rows_type = GenerationRows
    # Those of scoring.statistics that its texts cannot have.
    lacks_statistics: ClassVar[frozenset[str]] = frozenset()

    model: ModelIdentity
    prefixes: PrefixRange

    @property
    @abstractmethod
    def draw(self) -> tuple[int, int] | None:
        """The seed, and which of its samples the texts are; None for texts that were not drawn here."""

    @property
    def prefix_set(self) -> str:
        return self.prefixes.set

    def rows(self, value: list[Generation]) -> GenerationRows:
        return GenerationRows.of(self.prefixes.set, value)
