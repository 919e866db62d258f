"""Tables of the queue: runs, the jobs they share, what jobs need, attempts, resolved parameters."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Float, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from harness.jobs import JobKind
from harness.store.records import AttemptOutcome, InstanceKind, InstanceState, JobState
from harness.store.tables.base import ID_LENGTH, Base, Json, Key, UtcTime, one_of, utc_now


class RunRow(Base):
    """A sweep that somebody started: a name and a configuration. Started again, it is the same run."""

    __tablename__ = "runs"

    id: Mapped[int] = mapped_column(Key, primary_key=True, doc="number of the run in this database")
    identity: Mapped[str] = mapped_column(
        String(ID_LENGTH), unique=True, doc="SHA-256 of the name and the configuration"
    )
    name: Mapped[str] = mapped_column(Text, index=True, doc="what people call it")
    config: Mapped[Any] = mapped_column(Json, doc="the whole configuration")
    versions: Mapped[Any] = mapped_column(Json, doc="versions of the libraries at the latest start")
    created_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="first start")
    started_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="latest start")


class JobRow(Base):
    """A unit of work that fails, is retried and is resumed alone. Its id says everything about its result."""

    __tablename__ = "jobs"

    key: Mapped[int] = mapped_column(
        Key, primary_key=True, doc="number of the job in this database, which other tables refer to"
    )
    id: Mapped[str] = mapped_column(
        String(ID_LENGTH), unique=True, doc="SHA-256 of the kind and the specification, the same everywhere"
    )
    kind: Mapped[str] = mapped_column(String(16), doc="measure, generate, featurize or score")
    spec: Mapped[Any] = mapped_column(Json, doc="everything the result depends on")
    model: Mapped[str | None] = mapped_column(Text, doc="the model in the specification")
    corpus: Mapped[str | None] = mapped_column(Text, doc="the corpus in the specification")
    method: Mapped[str | None] = mapped_column(Text, doc="the sampling rule in the specification")
    parameter: Mapped[float | None] = mapped_column(Float(53), doc="the rule's parameter")
    constraints: Mapped[int | None] = mapped_column(doc="constraints of a basis-aware rule")
    state: Mapped[str] = mapped_column(
        String(8), default=JobState.WAITING.value, doc="waiting, leased, done or failed (set aside)"
    )
    priority: Mapped[int] = mapped_column(default=0, doc="smaller comes first")
    attempt: Mapped[int] = mapped_column(default=0, doc="number of the latest attempt; 0 before the first")
    failures: Mapped[int] = mapped_column(default=0, doc="attempts that ended in an error")
    losses: Mapped[int] = mapped_column(default=0, doc="attempts whose lease ran out")
    owner: Mapped[str | None] = mapped_column(Text, doc="who holds the lease")
    lease_expires_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="when the lease runs out")
    not_before: Mapped[datetime | None] = mapped_column(UtcTime, doc="a job that failed waits until then")
    adjustment: Mapped[Any | None] = mapped_column(
        Json, doc="what is done otherwise than planned, such as smaller batches where memory ran out"
    )
    created_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was planned")
    finished_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="when it became done or failed")

    __table_args__ = (
        one_of("kind", JobKind),
        one_of("state", JobState),
        CheckConstraint(
            "(state = 'leased') = (owner IS NOT NULL AND lease_expires_at IS NOT NULL)", name="lease"
        ),
        # What claim reads: jobs that wait, in their order, of all models and of one.
        Index("ix_jobs_state_priority", "state", "priority", "key"),
        Index("ix_jobs_state_model", "state", "model", "priority", "key"),
    )


class RunJobRow(Base):
    """Which jobs a run asks for. Two runs may share a job."""

    __tablename__ = "run_jobs"

    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), primary_key=True, doc="the run")
    job_key: Mapped[int] = mapped_column(
        Key, ForeignKey("jobs.key"), primary_key=True, index=True, doc="a job it asks for"
    )
    stage: Mapped[int | None] = mapped_column(doc="position of the first stage of the run that asks for it")

    __table_args__ = ({"sqlite_with_rowid": False},)


class InstanceRow(Base):
    """One thing that a stage of a run does for one model: measure human text, score it, or run a setting
    with a seed."""

    __tablename__ = "instances"

    id: Mapped[int] = mapped_column(Key, primary_key=True, doc="number of the row")
    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), doc="the run")
    name: Mapped[str] = mapped_column(Text, doc="what it is, in words")
    position: Mapped[int] = mapped_column(doc="position in the sweep, from 0")
    kind: Mapped[str] = mapped_column(
        String(8), doc="measure (human text), human (continuations by people) or generate (a setting)"
    )
    stage: Mapped[str] = mapped_column(Text, doc="name of the stage")
    stage_position: Mapped[int] = mapped_column(doc="position of the stage in the sweep, from 0")
    split: Mapped[str] = mapped_column(Text, doc="the half of the corpus")
    model: Mapped[str] = mapped_column(Text, doc="what the sweep calls the model")
    method: Mapped[str | None] = mapped_column(Text, doc="what the sweep calls the method")
    seed: Mapped[int | None] = mapped_column(BigInteger, doc="seed of the random numbers")
    asked: Mapped[Any | None] = mapped_column(Json, doc="the setting as the sweep has it")
    rule: Mapped[str | None] = mapped_column(Text, doc="the sampling rule")
    parameter: Mapped[float | None] = mapped_column(Float(53), doc="its parameter, once it is known")
    constraints: Mapped[int | None] = mapped_column(doc="constraints of a basis-aware rule")
    state: Mapped[str] = mapped_column(
        String(16), doc="known, open (results will decide the parameter) or unresolvable (they do not)"
    )
    problem: Mapped[str | None] = mapped_column(Text, doc="why the parameter cannot be resolved")
    resolution: Mapped[str | None] = mapped_column(Text, doc="what resolves the parameter, in resolutions")
    prefix_set: Mapped[str | None] = mapped_column(String(ID_LENGTH), doc="id of the prefixes")

    __table_args__ = (
        UniqueConstraint("run_id", "name"),
        one_of("kind", InstanceKind),
        one_of("state", InstanceState),
    )


class InstanceJobRow(Base):
    """The role of a job in a run: which instance it works for, and what its result is to it."""

    __tablename__ = "instance_jobs"

    instance_id: Mapped[int] = mapped_column(
        Key, ForeignKey("instances.id"), primary_key=True, doc="the instance"
    )
    job_key: Mapped[int] = mapped_column(
        Key, ForeignKey("jobs.key"), primary_key=True, index=True, doc="a job that works for it"
    )
    role: Mapped[str] = mapped_column(
        Text,
        doc="measurement, human likelihood, texts, features, human features, scores or human scores",
    )

    __table_args__ = ({"sqlite_with_rowid": False},)


class JobNeedRow(Base):
    """Whose results a job reads: it may start when all of these are done."""

    __tablename__ = "job_needs"

    job_key: Mapped[int] = mapped_column(Key, ForeignKey("jobs.key"), primary_key=True, doc="the job")
    needed_key: Mapped[int] = mapped_column(
        Key, ForeignKey("jobs.key"), primary_key=True, index=True, doc="a job whose result it reads"
    )

    __table_args__ = ({"sqlite_with_rowid": False},)


class AttemptRow(Base):
    """One try at a job. The number is its fencing token: what comes late from an older one is dropped."""

    __tablename__ = "attempts"

    job_key: Mapped[int] = mapped_column(Key, ForeignKey("jobs.key"), primary_key=True, doc="the job")
    number: Mapped[int] = mapped_column(primary_key=True, doc="1 for the first")
    owner: Mapped[str] = mapped_column(Text, doc="who held the lease")
    outcome: Mapped[str] = mapped_column(
        String(8),
        default=AttemptOutcome.RUNNING.value,
        doc="running, done, failed, lost (the lease ran out) or released (given back untried)",
    )
    error: Mapped[str | None] = mapped_column(Text, doc="what went wrong")
    started_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was claimed")
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="when the outcome was known")
    worker: Mapped[str | None] = mapped_column(Text, doc="who was to do it: machine and process of a worker")

    __table_args__ = (
        one_of("outcome", AttemptOutcome),
        # What progress reads: attempts that ended a moment ago.
        Index("ix_attempts_ended_at", "ended_at"),
    )


class DriverRow(Base):
    """A process that drives a run. It is heard of every few seconds while it is there."""

    __tablename__ = "drivers"

    owner: Mapped[str] = mapped_column(Text, primary_key=True, doc="its name, as leases have it")
    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), doc="the run")
    doing: Mapped[str] = mapped_column(Text, doc="what it is at: planning, starting workers, working...")
    started_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it began")
    seen_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was last heard of")
    ended_at: Mapped[datetime | None] = mapped_column(
        UtcTime, doc="when it ended; one that was killed could not say so"
    )


class ResolutionRow(Base):
    """A parameter that a run's configuration left open, and what it was set to."""

    __tablename__ = "resolutions"

    id: Mapped[int] = mapped_column(Key, primary_key=True, doc="number of the row")
    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), doc="the run")
    parameter: Mapped[str] = mapped_column(Text, doc="which parameter of the configuration")
    asked: Mapped[Any] = mapped_column(Json, doc="what the configuration asks for")
    how: Mapped[str] = mapped_column(Text, doc="how it was resolved, in words")
    value: Mapped[Any] = mapped_column(Json, doc="what it was set to")
    created_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when")
    detail: Mapped[Any | None] = mapped_column(
        Json, doc="the numbers behind it: the ends of its 95% interval, what is refused at it"
    )

    __table_args__ = (UniqueConstraint("run_id", "parameter"),)


class ResolutionJobRow(Base):
    """The jobs whose results decided a resolution."""

    __tablename__ = "resolution_jobs"

    resolution_id: Mapped[int] = mapped_column(
        Key, ForeignKey("resolutions.id"), primary_key=True, doc="the resolution"
    )
    job_key: Mapped[int] = mapped_column(
        Key, ForeignKey("jobs.key"), primary_key=True, doc="a job that decided"
    )

    __table_args__ = ({"sqlite_with_rowid": False},)
