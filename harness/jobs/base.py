"""What a job is: what every kind implements, its JSON and its id.

A `JobSpec` is a frozen dataclass: its fields are everything that the result depends on, and enough to do the
work. The queue knows a job only as a `Job`: an id, JSON, the ids of the jobs it needs, and a few labels.
Planner, driver, store, status and report use nothing else of a job.

The id is the SHA-256 of the specification as canonical JSON. What does not change results (the number of
workers, the address of the database, timeouts) is left out. So sweeps that share jobs share results, and a
sweep that is run again reuses existing results.

In the JSON, every field becomes a key with its own name, or with the older name that `StoredAs` gives. A
field whose default is None is left out while it is None; a field without a default is always written, even if
it is None. Ids are hashes of this JSON, so a field that is added later must default to None.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import math
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

from bat.errors import InvalidInputError

if TYPE_CHECKING:  # these import torch, which planning and queries do not need
    from harness.jobs.parts import CorpusIdentity, Inputs, ModelIdentity, Trial
    from workers.requests import Request

Value = TypeVar("Value")
Record = TypeVar("Record")
Kind = TypeVar("Kind", bound="JobSpec[Any]")

# Part of every id: increased when the same specification gives a different result or record of it.
RESULT_VERSION = 2

# The name of a corpus or model that is a local file. Its content identifies it; its path, which is beside
# the name as a title for people, is not part of any id.
LOCAL = "local"

# JSON: null, booleans, integers, finite floats, strings, lists and mappings with strings for keys.
SpecJson = Mapping[str, Any]


class JobKind(StrEnum):
    """What a job does, in the order of the work of a sweep. Several kinds (`KINDS`) may do the same."""

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
    labels: JobLabels = dataclasses.field(default=JobLabels(), compare=False)
    id: str = ""  # 64 hexadecimal digits, computed unless they are known

    def __post_init__(self) -> None:
        if not self.id:
            object.__setattr__(self, "id", job_id(self.kind.value, self.spec))


class Rows:
    """What is stored of the result of a job; each kind has its own."""

    __slots__ = ()


class JobSpec(ABC, Generic[Value]):
    """A job of one kind. `Value` is the type of a worker's answer."""

    kind: ClassVar[JobKind]
    role: ClassVar[str]  # of its result, for the setting or the human text that it belongs to
    marker: ClassVar[tuple[str, ...]] = ()  # see `register`
    rows_type: ClassVar[type[Rows]]
    unit_name: ClassVar[str]  # the unit of its work
    model_task: ClassVar[str] = ""  # what its model did, for provenance
    runs_model: ClassVar[bool] = True  # whether a worker loads its model, if it has one

    @classmethod
    def parse(cls, spec: SpecJson) -> Self:
        """The specification from its stored JSON."""
        return from_json(cls, spec)

    @property
    def job(self) -> Job:
        """The job as the queue knows it: made anew each time, because a plan may have very many."""
        return Job(self.kind, to_json(self), self.needs, self.labels, self.id)

    @functools.cached_property
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
        """The model that it is about, if any: that does the work, or whose tokens it counts."""
        return getattr(self, "model", None)

    @property
    def working_model(self) -> ModelIdentity | None:
        """The model that does the work; None for work without a model."""
        return self.model_identity if self.runs_model else None

    @property
    def corpus_identity(self) -> CorpusIdentity | None:
        """The corpus that it reads, if any."""
        return getattr(self, "corpus", None)

    @property
    def origin(self) -> str | None:
        """The file that its texts were read from, if they were made elsewhere."""
        return None

    @property
    def reproducibility(self) -> str | None:
        """What is not promised of its result if it is done again, if anything, for provenance."""
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


KINDS: list[type[JobSpec[Any]]] = []  # every kind of job, as `register` collected them


def register(kind: type[Kind]) -> type[Kind]:
    """Add a kind of job to `KINDS`, by which stored jobs are read. Decorates the finished dataclass.

    The database stores a job with one of the four values of `JobKind`. The `marker` of a kind says which of
    its JSON is the kind's own: it is a path of keys that JSON of the kind always has, and no other kind of
    that `JobKind` ever. One of them may have no marker: JSON without any marker is its own.
    """
    if kind.marker and not _can_have(kind, kind.marker):
        raise TypeError(f"{kind.__name__} must have its marker, {'.'.join(kind.marker)}, among its fields.")
    for other in KINDS:
        if other.kind is not kind.kind:
            continue
        if kind.marker == other.marker or _can_have(kind, other.marker) or _can_have(other, kind.marker):
            raise TypeError(
                f"JSON of {kind.__name__} must be told apart from that of {other.__name__}, which is a "
                f"{kind.kind} job too: neither may have the marker of the other."
            )
        if kind.rows_type is not other.rows_type:
            raise TypeError(
                f"results of all {kind.kind} jobs are {other.rows_type.__name__}; {kind.__name__} has "
                f"{kind.rows_type.__name__}. A new JobKind, with tables for its rows, needs a migration."
            )
    KINDS.append(kind)
    return kind


def _can_have(record: Any, path: tuple[str, ...]) -> bool:
    """Whether JSON of a record can have something at a path. Nothing is at no path."""
    for key in path:
        if not dataclasses.is_dataclass(record) or key not in _fields_by_key(cast(Any, record)):
            return False
        record = _without_none(_fields_by_key(cast(Any, record))[key][1])
    return bool(path)


def rows_type_of(kind: JobKind) -> type[Rows]:
    """What the results of such jobs are stored as."""
    return next(spec.rows_type for spec in KINDS if spec.kind is kind)


def parse_job(kind: JobKind, spec: SpecJson) -> JobSpec[Any]:
    """The typed specification of a stored job."""
    candidates = [candidate for candidate in KINDS if candidate.kind is kind]
    marked = [candidate for candidate in candidates if candidate.marker and _has(spec, candidate.marker)]
    for candidate in marked or (candidate for candidate in candidates if not candidate.marker):
        return candidate.parse(spec)
    raise InvalidInputError(
        f"a {kind} job with the keys {', '.join(sorted(spec))} is of no kind that this version knows. "
        "A newer bat-harness may have written it: use that."
    )


def _has(spec: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(spec, Mapping) or key not in spec:
            return False
        spec = spec[key]
    return True


def job_id(kind: str, spec: SpecJson) -> str:
    """64 hexadecimal digits."""
    return sha256_of({"version": RESULT_VERSION, "kind": kind, "spec": _without_paths(spec)})


def _without_paths(value: Any) -> Any:
    match value:
        case Mapping():
            left_out = ("title",) if value.get("name") == LOCAL else ()
            return {key: _without_paths(entry) for key, entry in value.items() if key not in left_out}
        case list() | tuple():
            return [_without_paths(entry) for entry in value]
    return value


def sha256_of(value: Any) -> str:
    """The SHA-256 of a JSON value, in hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """Canonical JSON: sorted keys, no spaces, shortest floats, ASCII.

    Equal numbers are written alike (1.0 as 1), so a parameter from YAML, a command line or a database gives
    the same id.
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case float():
            if not math.isfinite(value):
                raise InvalidInputError(f"a job's specification holds finite numbers only; got {value}.")
            return int(value) if value.is_integer() and abs(value) < 2**53 else value
        case Mapping():
            if not all(isinstance(key, str) for key in value):
                raise InvalidInputError(f"a job's specification has strings for keys only; got {value!r}.")
            return {key: _plain(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_plain(entry) for entry in value]
    raise InvalidInputError(
        f"a job's specification holds JSON values only; got {type(value).__name__} ({value!r})."
    )


@dataclass(frozen=True, slots=True)
class StoredAs:
    """Annotates a field that was renamed: its key in the JSON stays what it was, and so do the ids."""

    key: str


def to_json(record: Any) -> dict[str, Any]:
    """The record as JSON values."""
    written = {}
    for key, (field, _) in _fields_by_key(cast(Any, type(record))).items():
        value = getattr(record, field.name)
        if value is None and field.default is None:
            continue
        written[key] = _to_json_value(value)
    return written


def _to_json_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_json(value)
    if isinstance(value, tuple):
        return [_to_json_value(entry) for entry in value]
    return value


def from_json(record: type[Record], data: Mapping[str, Any]) -> Record:
    """The record from its JSON; InvalidInputError if a key is missing or unknown."""
    fields = _fields_by_key(cast(Any, record))
    unknown = sorted(data.keys() - fields.keys())
    if unknown:
        raise InvalidInputError(
            f"{record.__name__} has no field {unknown[0]!r}. A newer bat-harness may have written it: "
            "use that one."
        )
    values = {}
    for key, value in data.items():
        field, kind = fields[key]
        values[field.name] = _from_json_value(kind, value)
    try:
        return record(**values)
    except TypeError as error:
        raise InvalidInputError(f"a stored {record.__name__} is not complete: {error}.") from error


def _from_json_value(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    kind = _without_none(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return from_json(kind, value)
    if typing.get_origin(kind) is tuple:
        return tuple(value)
    return value


def _without_none(kind: Any) -> Any:
    """The type of a field that may be None."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        (kind,) = (option for option in typing.get_args(kind) if option is not types.NoneType)
    return kind


@functools.cache
def _fields_by_key(record: Any) -> dict[str, tuple[dataclasses.Field[Any], Any]]:
    """The field with each key, and its type."""
    hints = typing.get_type_hints(record, include_extras=True)
    fields = {}
    for field in dataclasses.fields(record):
        key, kind = field.name, hints[field.name]
        if typing.get_origin(kind) is typing.Annotated:
            kind, stored = typing.get_args(kind)
            key = stored.key
        fields[key] = (field, kind)
    return fields
