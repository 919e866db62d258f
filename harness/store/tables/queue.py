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
    """A sweep that was started: a name, a configuration, and the content of the local files it reads.
    Starting it again continues the same run."""

    __tablename__ = "runs"

    id: Mapped[int] = mapped_column(Key, primary_key=True, doc="number of the run in this database")
    identity: Mapped[str] = mapped_column(
        String(ID_LENGTH),
        unique=True,
        doc="SHA-256 of the name and the configuration, with the revisions of local files for their paths",
    )
    name: Mapped[str] = mapped_column(Text, index=True, doc="name of the run")
    config: Mapped[Any] = mapped_column(Json, doc="the whole configuration")
    versions: Mapped[Any] = mapped_column(Json, doc="versions of the libraries at the latest start")
    created_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="first start")
    started_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="latest start")


class RunInputRow(Base):
    """A local file or folder that a run reads: a corpus, a model, or texts made elsewhere."""

    __tablename__ = "run_inputs"

    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), primary_key=True, doc="the run")
    key: Mapped[str] = mapped_column(Text, primary_key=True, doc="its key in the sweep, such as corpus.name")
    path: Mapped[str] = mapped_column(Text, doc="where it was at the latest start")
    revision: Mapped[str] = mapped_column(Text, doc="digest of its content; another one is another run")
    signature: Mapped[str | None] = mapped_column(
        Text, doc="digest of its sizes and times, to notice changes without reading it"
    )

    __table_args__ = ({"sqlite_with_rowid": False},)


class RunTagRow(Base):
    """A tag that people gave to a run."""

    __tablename__ = "run_tags"

    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), primary_key=True, doc="the run")
    tag: Mapped[str] = mapped_column(Text, primary_key=True, doc="the tag")

    __table_args__ = ({"sqlite_with_rowid": False},)


class JobRow(Base):
    """A unit of work that fails, is retried and is resumed on its own. Its id determines its result."""

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
        String(8), default=JobState.WAITING.value, doc="waiting, leased, done or failed"
    )
    priority: Mapped[int] = mapped_column(default=0, doc="smaller runs first")
    attempt: Mapped[int] = mapped_column(default=0, doc="number of the latest attempt; 0 before the first")
    failures: Mapped[int] = mapped_column(default=0, doc="attempts that ended in an error")
    losses: Mapped[int] = mapped_column(
        default=0, doc="attempts that a worker had begun when their lease was lost"
    )
    owner: Mapped[str | None] = mapped_column(Text, doc="driver that holds the lease")
    lease_expires_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="when the lease expires")
    not_before: Mapped[datetime | None] = mapped_column(
        UtcTime, doc="after an error, the job waits until then"
    )
    adjustment: Mapped[Any | None] = mapped_column(
        Json, doc="what differs from the plan, such as smaller batches after running out of memory"
    )
    created_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was planned")
    finished_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="when it became done or failed")
    temperature: Mapped[float | None] = mapped_column(Float(53), doc="the temperature; NULL for 1")
    temperature_order: Mapped[str | None] = mapped_column(
        String(8), doc="first (before the rule) or last (after it); NULL at temperature 1"
    )

    __table_args__ = (
        one_of("kind", JobKind),
        one_of("state", JobState),
        CheckConstraint(
            "(state = 'leased') = (owner IS NOT NULL AND lease_expires_at IS NOT NULL)", name="lease"
        ),
        # For claim, which reads waiting jobs in their order, of all models or of one.
        Index("ix_jobs_state_priority", "state", "priority", "key"),
        Index("ix_jobs_state_model", "state", "model", "priority", "key"),
    )


class RunJobRow(Base):
    """The jobs of a run. Two runs may share a job."""

    __tablename__ = "run_jobs"

    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), primary_key=True, doc="the run")
    job_key: Mapped[int] = mapped_column(
        Key, ForeignKey("jobs.key"), primary_key=True, index=True, doc="a job of the run"
    )
    stage: Mapped[int | None] = mapped_column(doc="position of the first stage of the run that uses it")

    __table_args__ = ({"sqlite_with_rowid": False},)


class InstanceRow(Base):
    """One thing that a stage of a run does for one model: measure human text, score it, or run a setting
    with a seed."""

    __tablename__ = "instances"

    id: Mapped[int] = mapped_column(Key, primary_key=True, doc="number of the row")
    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), doc="the run")
    name: Mapped[str] = mapped_column(Text, doc="description, unique in the run")
    position: Mapped[int] = mapped_column(doc="position in the sweep, from 0")
    kind: Mapped[str] = mapped_column(
        String(8), doc="measure (human text), human (continuations by people) or generate (a setting)"
    )
    stage: Mapped[str] = mapped_column(Text, doc="name of the stage")
    stage_position: Mapped[int] = mapped_column(doc="position of the stage in the sweep, from 0")
    split: Mapped[str] = mapped_column(Text, doc="the half of the corpus")
    model: Mapped[str] = mapped_column(Text, doc="name of the model in the sweep")
    method: Mapped[str | None] = mapped_column(Text, doc="name of the method in the sweep")
    seed: Mapped[int | None] = mapped_column(BigInteger, doc="seed of the random numbers")
    asked: Mapped[Any | None] = mapped_column(Json, doc="the setting as the sweep has it")
    rule: Mapped[str | None] = mapped_column(Text, doc="the sampling rule")
    parameter: Mapped[float | None] = mapped_column(Float(53), doc="its parameter, once it is known")
    constraints: Mapped[int | None] = mapped_column(doc="constraints of a basis-aware rule")
    state: Mapped[str] = mapped_column(
        String(16), doc="known, open (results will decide the parameter) or unresolvable (they do not)"
    )
    problem: Mapped[str | None] = mapped_column(Text, doc="why the parameter cannot be resolved")
    resolution: Mapped[str | None] = mapped_column(
        Text, doc="its resolution: a parameter of table resolutions"
    )
    prefix_set: Mapped[str | None] = mapped_column(String(ID_LENGTH), doc="id of the prefixes")
    temperature: Mapped[float | None] = mapped_column(Float(53), doc="the temperature; NULL for 1")
    temperature_order: Mapped[str | None] = mapped_column(
        String(8), doc="first (before the rule) or last (after it); NULL at temperature 1"
    )

    __table_args__ = (
        UniqueConstraint("run_id", "name"),
        one_of("kind", InstanceKind),
        one_of("state", InstanceState),
    )


class InstanceJobRow(Base):
    """The role of a job in a run: the instance it works for, and what its result is used as."""

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
    """The jobs whose results a job reads: it can start when all of them are done."""

    __tablename__ = "job_needs"

    job_key: Mapped[int] = mapped_column(Key, ForeignKey("jobs.key"), primary_key=True, doc="the job")
    needed_key: Mapped[int] = mapped_column(
        Key, ForeignKey("jobs.key"), primary_key=True, index=True, doc="a job whose result it reads"
    )

    __table_args__ = ({"sqlite_with_rowid": False},)


class AttemptRow(Base):
    """One try at a job. Its number is the fencing token: late results of older attempts are dropped."""

    __tablename__ = "attempts"

    job_key: Mapped[int] = mapped_column(Key, ForeignKey("jobs.key"), primary_key=True, doc="the job")
    number: Mapped[int] = mapped_column(primary_key=True, doc="1 for the first")
    owner: Mapped[str] = mapped_column(Text, doc="driver that held the lease")
    outcome: Mapped[str] = mapped_column(
        String(8),
        default=AttemptOutcome.RUNNING.value,
        doc="running, done, failed, lost (the lease expired) or released (given back untried)",
    )
    error: Mapped[str | None] = mapped_column(Text, doc="what went wrong")
    started_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was claimed")
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="when it ended")
    worker: Mapped[str | None] = mapped_column(Text, doc="machine and process of the worker")
    begun: Mapped[bool | None] = mapped_column(
        doc="whether the worker has begun it; false while it waits behind another job of that worker"
    )
    time_use: Mapped[Any | None] = mapped_column(
        Json,
        doc="for jobs that generate or measure: the seconds in which the model ran (forward), tokens were "
        "proposed and settled (propose, settle) and the model waited (waiting), and the batches_in_flight",
    )

    __table_args__ = (
        one_of("outcome", AttemptOutcome),
        # For rates, which read recently ended attempts.
        Index("ix_attempts_ended_at", "ended_at"),
    )


class DriverRow(Base):
    """A process that drives a run. It reports every few seconds."""

    __tablename__ = "drivers"

    owner: Mapped[str] = mapped_column(Text, primary_key=True, doc="its name, as in leases")
    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), doc="the run")
    doing: Mapped[str] = mapped_column(Text, doc="what it is doing: planning, starting workers, working...")
    started_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it started")
    seen_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it last reported")
    ended_at: Mapped[datetime | None] = mapped_column(
        UtcTime, doc="when it ended; NULL for a driver that was killed"
    )


class ResolutionRow(Base):
    """An unresolved parameter of a run's configuration, and the value it was resolved to."""

    __tablename__ = "resolutions"

    id: Mapped[int] = mapped_column(Key, primary_key=True, doc="number of the row")
    run_id: Mapped[int] = mapped_column(Key, ForeignKey("runs.id"), doc="the run")
    parameter: Mapped[str] = mapped_column(Text, doc="which parameter of the configuration")
    asked: Mapped[Any] = mapped_column(Json, doc="what the configuration asks for")
    how: Mapped[str] = mapped_column(Text, doc="how it was resolved, in words")
    value: Mapped[Any] = mapped_column(Json, doc="its value")
    created_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was resolved")
    detail: Mapped[Any | None] = mapped_column(
        Json, doc="the numbers behind it: the ends of its 95% interval, the rejection rate at it"
    )

    __table_args__ = (UniqueConstraint("run_id", "parameter"),)


class ResolutionJobRow(Base):
    """The jobs whose results determined a resolution."""

    __tablename__ = "resolution_jobs"

    resolution_id: Mapped[int] = mapped_column(
        Key, ForeignKey("resolutions.id"), primary_key=True, doc="the resolution"
    )
    job_key: Mapped[int] = mapped_column(Key, ForeignKey("jobs.key"), primary_key=True, doc="one of the jobs")

    __table_args__ = ({"sqlite_with_rowid": False},)
