"""What every kind of job implements. Planner, driver, store, status and report use nothing else of a job.

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

if TYPE_CHECKING:  # these import torch, which planning and queries do not need
    from harness.config.schema import SweepConfig
    from harness.jobs.import_texts import ImportedFile
    from workers.generation import Generation
    from workers.measurement_record import Measurement
    from workers.positions import Positions, TokenizedDocument
    from workers.prefixes import Prefix
    from workers.requests import ModelRequest, Request

Value = TypeVar("Value")


class JobKind(StrEnum):
    """What a job does, in the order of the work of a sweep."""

    MEASURE = "measure"
    GENERATE = "generate"
    FEATURIZE = "featurize"
    SCORE = "score"


@dataclass(frozen=True, slots=True)
class JobLabels:
    """What a job is about, as columns to sort by; None where a column does not apply."""

    model: str | None = None
    corpus: str | None = None
    method: str | None = None  # the sampling rule
    parameter: float | None = None
    constraints: int | None = None  # of a basis-aware rule
    temperature: float | None = None  # None at 1
    temperature_order: str | None = None


@dataclass(frozen=True)
class Job:
    """A unit of work, as the queue knows it. `needs` are the ids of jobs whose results it reads."""

    kind: JobKind
    spec: SpecJson
    needs: tuple[str, ...] = ()
    labels: JobLabels = field(default=JobLabels(), compare=False)
    id: str = ""  # 64 hexadecimal digits, computed unless they are known

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", job_id(self.kind.value, self.spec))


class JobSpec(ABC, Generic[Value]):
    """A job of one kind. `Value` is the type of a worker's answer."""

    kind: ClassVar[JobKind]
    role: ClassVar[str]  # of its result, for the setting or the human text that it belongs to
    marker: ClassVar[tuple[str, ...]] = ()  # a path in its JSON that no other spec of its JobKind has
    rows_type: ClassVar[type[Rows]]
    unit_name: ClassVar[str]  # the unit of its work
    model_task: ClassVar[str] = ""  # what its model did, for provenance

    @classmethod
    def parse(cls, spec: SpecJson) -> Self:
        """The specification from its stored JSON."""
        return from_json(cls, spec)

    @property
    def job(self) -> Job:
        """The job as the queue knows it: made anew each time, because a plan may have very many."""
        return Job(self.kind, to_json(self), self.needs, self.labels, self.id)

    @cached_property
    def id(self) -> str:
        """The job's id."""
        return job_id(self.kind.value, to_json(self))

    # What it is about. A kind that has a model, a corpus or a batch size has a field of that name.

    @property
    def needs(self) -> tuple[str, ...]:
        """Ids of the jobs whose results it reads."""
        return ()

    @property
    def model_identity(self) -> ModelIdentity | None:
        """The model that does the work; None for work without a model."""
        return getattr(self, "model", None)

    @property
    def corpus_identity(self) -> CorpusIdentity | None:
        """The corpus that it reads, if any."""
        return getattr(self, "corpus", None)

    @property
    def origin(self) -> str | None:
        """The file that its texts were read from, if they were made elsewhere."""
        return None

    @property
    def prefix_set(self) -> str | None:
        """The set of prefixes that its texts continue, if its specification has one."""
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
        """What it does, in a few words."""

    # How much work it is.

    @property
    @abstractmethod
    def units(self) -> int:
        """Its size, in units that take about equally long."""

    @property
    def programs(self) -> float:
        """Expected number of linear programs."""
        return 0.0

    @property
    def pace(self) -> str:
        """What distinguishes its units from those of other jobs of its kind with the same model."""
        return ""

    @property
    def planned_batch_size(self) -> int | None:
        """How many texts are in memory at once; None if that cannot be changed."""
        return getattr(self, "batch_size", None)

    @abstractmethod
    def time_unit(self, trial: Trial) -> float:
        """Time a small sample of the work, and return the seconds per unit."""

    # How it is done.

    @abstractmethod
    def request(self, inputs: Inputs, batch_size: int | None = None) -> Request[Value]:
        """The request to a worker; `batch_size` replaces the planned one after memory ran out."""

    @abstractmethod
    def rows(self, value: Value) -> Rows:
        """What is stored of a worker's answer."""


@dataclass(frozen=True)
class HumanText:
    """Documents to measure, and the positions in them."""

    documents: tuple[TokenizedDocument, ...]
    positions: Positions
    corpus: CorpusIdentity


class Results(Protocol):
    """Results of other jobs by id, from a store."""

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
    """What a kind of job is timed with: a sweep's materials and a worker."""

    @property
    def config(self) -> SweepConfig: ...

    def model_request(self, model: ModelIdentity) -> ModelRequest: ...

    def human_text(self, model: ModelIdentity) -> HumanText: ...

    def prefixes(self, model: ModelIdentity | None = None) -> tuple[Prefix, ...]:
        """Prefixes in the tokens of a model; default: the first model of the sweep."""

    def human_texts(self, count: int) -> list[str]:
        """Texts of prefixes with their human continuations."""

    def seconds(self, request: Request[Any], *, warm_up: Request[Any] | None = None) -> float:
        """How long a worker takes; `warm_up` runs before, untimed, to load and compile."""

    def once(self, name: str, model: ModelIdentity, measure: Callable[[], float]) -> float:
        """A time that is measured once for all paces of a model."""

    @property
    def feature_width(self) -> int:
        """The dimension of feature vectors."""
