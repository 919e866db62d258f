"""What every kind of job answers. Planner, driver, store, status and report ask nothing else of a job.

A `JobSpec` is a frozen dataclass: its fields are everything that the result depends on, and enough to do the
work. The queue knows a job only as a `Job`: an id, JSON, the ids of the jobs it needs, and a few labels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from harness.jobs.identity import SpecJson, job_id
from harness.jobs.parts import CorpusIdentity, ModelIdentity
from harness.jobs.records import from_json, to_json
from harness.jobs.rows import PrefixEntry, Rows

if TYPE_CHECKING:  # these bring in torch, which planning and questions to a store do without
    from harness.config.schema import SweepConfig
    from harness.jobs.import_texts import ImportedFile
    from workers.generation import Generation
    from workers.measurement_record import Measurement
    from workers.positions import Positions, TokenizedDocument
    from workers.prefixes import Prefix
    from workers.requests import ModelRequest, Request

Value = TypeVar("Value")


class JobKind(StrEnum):
    """What a job does, in the order in which the work of a sweep is done."""

    MEASURE = "measure"
    GENERATE = "generate"
    FEATURIZE = "featurize"
    SCORE = "score"


@dataclass(frozen=True, slots=True)
class JobLabels:
    """What a job is about in a word each, for columns that people sort by; None where it says nothing."""

    model: str | None = None
    corpus: str | None = None
    method: str | None = None  # the sampling rule
    parameter: float | None = None
    constraints: int | None = None  # constraints of a basis-aware rule


@dataclass(frozen=True)
class Job:
    """One unit of work, as the queue knows it. `needs` are the ids of jobs whose results it reads."""

    kind: JobKind
    spec: SpecJson
    needs: tuple[str, ...] = ()
    labels: JobLabels = field(default=JobLabels(), compare=False)

    @cached_property
    def id(self) -> str:
        """64 hexadecimal digits."""
        return job_id(self.kind.value, self.spec)


class JobSpec(ABC, Generic[Value]):
    """A job of one kind. `Value` is what a worker answers."""

    kind: ClassVar[JobKind]
    role: ClassVar[str]  # what its result is to the setting or the human text that it belongs to
    marker: ClassVar[tuple[str, ...]] = ()  # the path in its JSON that no other spec of its JobKind has
    rows_type: ClassVar[type[Rows]]
    unit_name: ClassVar[str]  # what its work is counted in
    model_task: ClassVar[str] = ""  # what its model did, for provenance

    @classmethod
    def parse(cls, spec: SpecJson) -> Self:
        """The specification that was stored as JSON."""
        return from_json(cls, spec)

    @cached_property
    def job(self) -> Job:
        """The job as the queue knows it."""
        return Job(self.kind, to_json(self), self.needs, self.labels)

    @property
    def id(self) -> str:
        """The job's id."""
        return self.job.id

    # What it is about. A kind that has a model, a corpus or a batch size has a field of that name.

    @property
    def needs(self) -> tuple[str, ...]:
        """Ids of the jobs whose results it reads."""
        return ()

    @property
    def model_identity(self) -> ModelIdentity | None:
        """The model that does it; None for work that needs none."""
        return getattr(self, "model", None)

    @property
    def corpus_identity(self) -> CorpusIdentity | None:
        """The human text that it reads, if it reads any of a corpus."""
        return getattr(self, "corpus", None)

    @property
    def origin(self) -> str | None:
        """The file that its texts were read from, if they were made elsewhere."""
        return None

    @property
    def prefix_set(self) -> str | None:
        """The set of prefixes that its texts continue, if it names one."""
        return None

    @property
    def labels(self) -> JobLabels:
        """Columns of the queue."""
        model, corpus = self.model_identity, self.corpus_identity
        return JobLabels(
            model=None if model is None else model.label, corpus=None if corpus is None else corpus.label
        )

    @abstractmethod
    def describe(self) -> str:
        """What it does, in a few words for people."""

    # How much work it is.

    @property
    @abstractmethod
    def units(self) -> int:
        """Its size, in units that take about equally long."""

    @property
    def programs(self) -> float:
        """How many linear programs it is expected to solve."""
        return 0.0

    @property
    def pace(self) -> str:
        """What sets its units apart from those of other jobs of its kind on the same model."""
        return ""

    @property
    def planned_batch_size(self) -> int | None:
        """How many texts are in memory at once; None where that cannot be changed."""
        return getattr(self, "batch_size", None)

    @abstractmethod
    def time_unit(self, trial: Trial) -> float:
        """Do a little of the same work and return the seconds a unit takes."""

    # How it is done.

    @abstractmethod
    def request(self, inputs: Inputs, batch_size: int | None = None) -> Request[Value]:
        """What a worker is asked; `batch_size` replaces the planned one where memory ran out."""

    @abstractmethod
    def rows(self, value: Value) -> Rows:
        """What is stored of a worker's answer."""


@dataclass(frozen=True)
class HumanText:
    """Documents to be measured, and the positions in them."""

    documents: tuple[TokenizedDocument, ...]
    positions: Positions
    corpus: CorpusIdentity


class Results(Protocol):
    """Results of other jobs, by id; a store has them."""

    def prefixes(self, prefix_set_id: str, start: int = 0, stop: int | None = None) -> list[PrefixEntry]: ...

    def parsed_jobs(self, job_ids: Iterable[str]) -> Mapping[str, JobSpec[Any]]: ...

    def texts_by_prefix(self, job_id: str) -> Mapping[str, str]: ...

    def generations(self, job_ids: Sequence[str]) -> Iterator[tuple[str, Generation]]: ...

    def features(self, job_ids: Sequence[str]) -> npt.NDArray[np.float32]: ...

    def measurement(self, job_ids: Sequence[str]) -> Measurement: ...


class Inputs(Protocol):
    """What requests are made from: a sweep's models, human text and imports, and results of other jobs."""

    @property
    def results(self) -> Results: ...

    def model_request(self, model: ModelIdentity) -> ModelRequest: ...

    def human_text(self, model: ModelIdentity) -> HumanText: ...

    def imported_texts(
        self, file: ImportedFile, model: ModelIdentity, prefixes: Sequence[PrefixEntry]
    ) -> list[str]: ...


class Trial(Protocol):
    """A place to time a little work: a sweep's materials and a worker."""

    @property
    def config(self) -> SweepConfig: ...

    def model_request(self, model: ModelIdentity) -> ModelRequest: ...

    def human_text(self, model: ModelIdentity) -> HumanText: ...

    def prefixes(self, model: ModelIdentity | None = None) -> tuple[Prefix, ...]:
        """Prefixes in the tokens of a model; of the sweep's first one by default."""

    def human_texts(self, count: int) -> list[str]:
        """Some prefixes with how people went on, as text."""

    def seconds(self, request: Request[Any], *, warm_up: Request[Any] | None = None) -> float:
        """How long a worker takes; `warm_up` is done before, untimed, to load and compile."""

    def once(self, name: str, model: ModelIdentity, measure: Callable[[], float]) -> float:
        """A measured time that several paces of one model share."""

    @property
    def feature_width(self) -> int:
        """How many numbers a feature vector has."""
