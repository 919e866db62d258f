"""What goes into a store and comes out of it: plain, frozen records. Results: `Rows` in harness.jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from harness.jobs import JobKind, JobSpec, SpecJson, parse_job, sha256_of


class JobState(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    LEASED = "leased"
    DONE = "done"
    FAILED = "failed"  # all attempts are used up, or a retry cannot help


class AttemptOutcome(StrEnum):
    """How an attempt ended."""

    RUNNING = "running"  # not yet
    DONE = "done"
    FAILED = "failed"
    LOST = "lost"  # the lease expired, or its owner is known to be dead
    RELEASED = "released"  # given back untried


@dataclass(frozen=True, slots=True)
class LocalInput:
    """A local file or folder that a sweep reads."""

    key: str  # in the sweep, such as corpus.name or models.0.name
    path: str
    revision: str  # of its content
    signature: str | None = None  # of its sizes and times; None if these do not tell whether it changed

    @property
    def noun(self) -> str:
        """What it is in the sweep."""
        section = self.key.partition(".")[0]
        nouns = {"models": "model", "features": "model of the features", "imports": "file of imported texts"}
        return nouns.get(section, section)


@dataclass(frozen=True, slots=True)
class Run:
    """A sweep that was started."""

    id: int
    name: str
    config: Mapping[str, Any]
    versions: Mapping[str, Any]
    created_at: datetime
    started_at: datetime
    tags: tuple[str, ...] = ()
    inputs: tuple[LocalInput, ...] = ()  # none in runs of versions that did not record them

    @property
    def label(self) -> str:
        """A name that no other run of the database has, and that commands accept."""
        return f"{self.name}#{self.id}"

    @property
    def configuration_hash(self) -> str:
        """The SHA-256 of the configuration, the same on every machine."""
        return sha256_of(self.config)

    @property
    def revision(self) -> str | None:
        """The revisions of the local files, with their keys if there are several; None if there are none."""
        if len(self.inputs) == 1:
            return self.inputs[0].revision
        return ", ".join(f"{entry.key} {entry.revision}" for entry in self.inputs) or None


@dataclass(frozen=True, slots=True)
class Deletion:
    """What goes when a run is deleted."""

    jobs: int  # that no other run uses
    done: int  # of them
    texts: int  # that they wrote
    shared: int  # jobs that other runs use, which stay


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job and its state."""

    id: str
    kind: JobKind
    spec: SpecJson
    state: JobState
    attempt: int
    failures: int
    losses: int
    owner: str | None
    adjustment: Mapping[str, Any] | None
    finished_at: datetime | None

    def parse(self) -> JobSpec[Any]:
        """The typed specification of the job."""
        return parse_job(self.kind, self.spec)


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of the jobs of one kind. `blocked` are the waiting jobs that need a failed job."""

    kind: JobKind
    waiting: int
    blocked: int
    leased: int
    done: int
    failed: int

    @property
    def total(self) -> int:
        return self.waiting + self.leased + self.done + self.failed

    @property
    def open(self) -> int:
        """Jobs that can still be done without intervention."""
        return self.waiting - self.blocked + self.leased


class JobGroup(NamedTuple):
    """What jobs that take about the same time have in common."""

    kind: JobKind
    model: str | None = None
    constraints: int | None = None  # of a basis-aware rule that generates

    def __str__(self) -> str:
        return self.kind.value if self.constraints is None else f"{self.kind.value}, c={self.constraints}"

    def order(self) -> tuple[int, str, int]:
        """A key to sort by: kinds in the order in which they are run."""
        return list(JobKind).index(self.kind), self.model or "", self.constraints or 0


@dataclass(frozen=True, slots=True)
class Rate:
    """How many jobs of one group were done in the last seconds, and the mean seconds of an attempt."""

    kind: JobKind
    model: str | None
    constraints: int | None
    done: int
    jobs_per_second: float
    seconds_per_attempt: float

    @property
    def group(self) -> JobGroup:
        return JobGroup(self.kind, self.model, self.constraints)


@dataclass(frozen=True, slots=True)
class FailedJob:
    """A failed job, with the error of its latest attempt."""

    id: str
    kind: JobKind
    spec: SpecJson
    attempts: int
    failures: int
    losses: int
    owner: str | None  # of the latest attempt
    error: str | None
    blocks: int  # jobs that wait for it, directly or not


@dataclass(frozen=True, slots=True)
class LeaseOwner:
    """A driver that holds leases, since when, and when the first of them expires unless it is renewed."""

    owner: str
    leases: int
    oldest_started_at: datetime
    first_expires_at: datetime
    expired: bool


@dataclass(frozen=True, slots=True)
class DriverPresence:
    """A driver that has not reported its end."""

    owner: str
    doing: str
    started_at: datetime
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class WorkerActivity:
    """The job that a worker is running, and how its attempts of the last seconds ended."""

    worker: str  # its machine and process
    owner: str  # its driver
    kind: JobKind | None  # of the running job; None when the worker is idle or gone
    since: datetime | None  # when it started that job
    behind: int  # further jobs in its queue
    done: int
    failed: int  # errors and losses


@dataclass(frozen=True, slots=True)
class Resolution:
    """An unresolved parameter of a configuration, and the value it was resolved to."""

    parameter: str  # which one, such as "methods[2].parameter for gpt2"
    asked: Any  # JSON: what the configuration asks for
    how: str
    value: Any  # JSON
    job_ids: tuple[str, ...]  # the jobs whose results decided it
    detail: Any | None = None  # JSON; the numbers behind it, see harness.planning.resolve


class InstanceKind(StrEnum):
    """What an instance is about."""

    MEASURE = "measure"  # human text that a model measures
    HUMAN = "human"  # how people continued the prefixes of a stage
    GENERATE = "generate"  # how a setting continues them, with one seed


class InstanceState(StrEnum):
    """Whether the parameter of an instance is known."""

    KNOWN = "known"  # or it has none
    OPEN = "open"  # results will decide it
    UNRESOLVABLE = "unresolvable"  # the results are complete and do not determine it


@dataclass(frozen=True, slots=True)
class Instance:
    """One thing that a stage of a run does for one model, and the jobs that do it.

    A stage that generates has one for each setting and seed, and one for what people wrote; a stage that
    measures has one. Its name is unique in the run.
    """

    name: str
    position: int  # in the order of the sweep
    kind: InstanceKind
    stage: str
    stage_position: int
    split: str
    model: str  # its title in the sweep
    method: str | None = None  # its title in the sweep
    seed: int | None = None
    asked: Any | None = None  # JSON: the setting as the sweep has it
    rule: str | None = None
    parameter: float | None = None
    constraints: int | None = None
    temperature: float | None = None  # None at 1
    temperature_order: str | None = None
    state: InstanceState = InstanceState.KNOWN
    problem: str | None = None  # why the parameter cannot be resolved
    resolution: str | None = None  # name of the resolution of the parameter, resolved or not
    prefix_set: str | None = None
    jobs: Sequence[tuple[str, str]] = ()  # (role, id)

    def job_ids(self, role: str) -> tuple[str, ...]:
        """The jobs of one role, in the order in which they were planned."""
        return tuple(job_id for of_role, job_id in self.jobs if of_role == role)


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """A continuation without its trace."""

    job_id: str
    item: int
    prefix_id: str
    text: str
    stop_reason: str
    token_count: int


@dataclass(frozen=True, slots=True)
class StoredPrefixSet:
    """A set of prefixes without its texts."""

    id: str
    corpus: str
    revision: str
    split: str
    prefixes: int


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The result of an SQL query. `rows` can be read once, while the query is open."""

    columns: tuple[str, ...]
    rows: Iterator[tuple[Any, ...]]
