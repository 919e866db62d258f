"""Tables of numbers: measurements of human text, feature vectors, scores."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Float, ForeignKey, ForeignKeyConstraint, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from bat.program import Status
from harness.store.tables.base import ID_LENGTH, Base, Json, Key, one_of


class MeasurementRow(Base):
    """A token that a person wrote, under the model's distribution before it."""

    __tablename__ = "measurements"

    job_key: Mapped[int] = mapped_column(Key, ForeignKey("jobs.key"), primary_key=True, doc="the job")
    item: Mapped[int] = mapped_column(primary_key=True, doc="number of the row in the job's result, from 0")
    document: Mapped[str] = mapped_column(String(ID_LENGTH), doc="id of the document")
    position: Mapped[int] = mapped_column(doc="tokens before this one")
    token: Mapped[int] = mapped_column(doc="id of the token the person wrote")
    probability: Mapped[float] = mapped_column(Float(53), doc="its probability")
    entropy: Mapped[float] = mapped_column(Float(53), doc="entropy of the distribution, nats")
    maximum: Mapped[float] = mapped_column(Float(53), doc="the largest probability")
    rank: Mapped[int] = mapped_column(doc="number of tokens that are strictly more likely")
    mass_above: Mapped[float] = mapped_column(Float(53), doc="their total probability, for nucleus")
    mass_nearer: Mapped[float] = mapped_column(
        Float(53), doc="total probability of the tokens more typical than this one, for typical sampling"
    )
    deviation: Mapped[float | None] = mapped_column(
        Float(53), doc="standard deviation of the logits, for top-n-sigma; NULL if no rule of the sweep asks"
    )
    collision: Mapped[float | None] = mapped_column(
        Float(53), doc="sum of squared probabilities, for p-less; NULL if no rule asks"
    )
    entropy_share: Mapped[float | None] = mapped_column(
        Float(53), doc="share of the entropy up to this token, for top-h; NULL if no rule asks"
    )

    __table_args__ = (UniqueConstraint("job_key", "document", "position"), {"sqlite_with_rowid": False})


class MeasurementThresholdRow(Base):
    """The critical threshold of a measured token for a number of constraints, as a certified interval."""

    __tablename__ = "measurement_thresholds"

    job_key: Mapped[int] = mapped_column(Key, primary_key=True, doc="the job")
    item: Mapped[int] = mapped_column(primary_key=True, doc="number of the measurement in that result")
    constraints: Mapped[int] = mapped_column(primary_key=True, doc="constraints of the linear program")
    lower: Mapped[float] = mapped_column(Float(53), doc="the critical threshold is at least this")
    upper: Mapped[float] = mapped_column(Float(53), doc="and at most this")
    lower_rank: Mapped[int] = mapped_column(doc="rank at the lower bound, for ba-top-k")
    upper_rank: Mapped[int] = mapped_column(doc="rank at the upper bound")
    lower_mass: Mapped[float] = mapped_column(Float(53), doc="mass at the lower bound, for ba-nucleus")
    upper_mass: Mapped[float] = mapped_column(Float(53), doc="mass at the upper bound")
    status: Mapped[str] = mapped_column(
        String(16), doc="how the solve ended: closed, decided, above cap, unfinished or failed"
    )
    pivots: Mapped[int] = mapped_column(doc="simplex steps")
    passes: Mapped[int] = mapped_column(doc="passes over the vocabulary")
    seconds: Mapped[float] = mapped_column(Float(53), doc="time taken")
    lower_entropy_share: Mapped[float | None] = mapped_column(
        Float(53), doc="share of the entropy at the lower bound, for ba-top-h; NULL if no rule asks"
    )
    upper_entropy_share: Mapped[float | None] = mapped_column(
        Float(53), doc="share of the entropy at the upper bound"
    )

    __table_args__ = (
        ForeignKeyConstraint(
            ["job_key", "item"],
            ["measurements.job_key", "measurements.item"],
            name="fk_measurement_thresholds_job_key_place",  # contains an older name of the column
        ),
        one_of("status", Status),
        {"sqlite_with_rowid": False},
    )


class FeatureRow(Base):
    """A text as a vector."""

    __tablename__ = "features"

    job_key: Mapped[int] = mapped_column(Key, ForeignKey("jobs.key"), primary_key=True, doc="the job")
    item: Mapped[int] = mapped_column(primary_key=True, doc="number of the text in the job, from 0")
    vector: Mapped[bytes] = mapped_column(LargeBinary, doc="float32 numbers, little-endian")


class ScoreRow(Base):
    """A score of a set of texts, such as MAUVE."""

    __tablename__ = "scores"

    job_key: Mapped[int] = mapped_column(Key, ForeignKey("jobs.key"), primary_key=True, doc="the job")
    name: Mapped[str] = mapped_column(Text, primary_key=True, doc="which score")
    value: Mapped[float | None] = mapped_column(Float(53), doc="NULL where it is not defined")
    low: Mapped[float | None] = mapped_column(Float(53), doc="lower end of its interval, if it has one")
    high: Mapped[float | None] = mapped_column(Float(53), doc="upper end of its interval")
    detail: Mapped[Any | None] = mapped_column(
        Json, doc="further numbers, such as the values under resampling"
    )
