"""Tables of texts: prefixes with their human continuations, generations, token traces."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from harness.store.tables.base import ID_LENGTH, Base, Json, Key, UtcTime, one_of, utc_now

# The values of workers.generation.StopReason, which imports torch: `status` should not wait for that.
STOP_REASONS = ("end", "length", "context")


class PrefixSetRow(Base):
    """Openings of human documents from one corpus, in order."""

    __tablename__ = "prefix_sets"

    key: Mapped[int] = mapped_column(Key, primary_key=True, doc="number of the set in this database")
    id: Mapped[str] = mapped_column(
        String(ID_LENGTH), unique=True, doc="SHA-256 of the prefixes and continuations, the same everywhere"
    )
    fingerprint: Mapped[str] = mapped_column(
        String(ID_LENGTH), doc="SHA-256 of what a model is given: ids and token ids, without continuations"
    )
    corpus: Mapped[str] = mapped_column(Text, doc="name of the corpus")
    revision: Mapped[str] = mapped_column(Text, doc="version of the corpus")
    split: Mapped[str] = mapped_column(Text, doc="test, validation or all")
    counts: Mapped[Any] = mapped_column(Json, doc="how many documents were read, used and skipped, by reason")
    created_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was stored")


class PrefixRow(Base):
    """The opening of a human document, and how the person continued it."""

    __tablename__ = "prefixes"

    prefix_set_key: Mapped[int] = mapped_column(
        Key, ForeignKey("prefix_sets.key"), primary_key=True, doc="the set"
    )
    id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True, doc="id of the document")
    item: Mapped[int] = mapped_column(doc="position in the set, from 0")
    text: Mapped[str] = mapped_column(Text, doc="the opening")
    token_ids: Mapped[Any] = mapped_column(Json, doc="its token ids, as given to the model")
    continuation: Mapped[str] = mapped_column(Text, doc="the human continuation")
    continuation_ids: Mapped[Any] = mapped_column(Json, doc="token ids of the human continuation")

    # The name contains an older name of the column.
    __table_args__ = (UniqueConstraint("prefix_set_key", "item", name="uq_prefixes_prefix_set_key_place"),)


class GenerationRow(Base):
    """A continuation that a model wrote."""

    __tablename__ = "generations"

    job_key: Mapped[int] = mapped_column(Key, ForeignKey("jobs.key"), primary_key=True, doc="the job")
    item: Mapped[int] = mapped_column(primary_key=True, doc="number of the text in the job's result, from 0")
    prefix_set_key: Mapped[int] = mapped_column(Key, doc="the set of the prefix")
    prefix_id: Mapped[str] = mapped_column(String(ID_LENGTH), doc="the prefix that was continued")
    random_key: Mapped[Any] = mapped_column(
        Json, doc="address of the random numbers: seed, run, prefix, sample"
    )
    text: Mapped[str] = mapped_column(
        Text, doc="the continuation; NUL, which PostgreSQL cannot store, is U+FFFD"
    )
    stop_reason: Mapped[str] = mapped_column(
        String(8), doc="end (of text), length (the maximum was reached) or context (full)"
    )
    token_count: Mapped[int] = mapped_column(doc="tokens written")
    solver_seconds: Mapped[float] = mapped_column(Float(53), doc="time spent in linear programs")

    __table_args__ = (
        UniqueConstraint("job_key", "prefix_id"),
        ForeignKeyConstraint(["prefix_set_key", "prefix_id"], ["prefixes.prefix_set_key", "prefixes.id"]),
        one_of("stop_reason", STOP_REASONS),
        # Pairs the methods' texts for one prefix.
        Index("ix_generations_prefix", "prefix_set_key", "prefix_id"),
    )


class TokenTraceRow(Base):
    """How each token of a generation was drawn; separate from the texts, so that these are quick to read."""

    __tablename__ = "token_traces"

    job_key: Mapped[int] = mapped_column(Key, primary_key=True, doc="the job")
    item: Mapped[int] = mapped_column(primary_key=True, doc="number of the generation in that result")
    trace: Mapped[bytes] = mapped_column(
        LargeBinary, doc="ids, probabilities, thresholds, acceptance...: workers.traces.decode_trace reads it"
    )

    __table_args__ = (
        ForeignKeyConstraint(
            ["job_key", "item"],
            ["generations.job_key", "generations.item"],
            name="fk_token_traces_job_key_place",  # contains an older name of the column
        ),
    )
