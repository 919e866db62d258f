"""Tables of human evaluation: studies, their items, judges, what judges are shown, and their answers.

A study holds its own copy of the texts, and names the jobs that wrote them by their ids. So deleting a run
takes no answer with it, and rows can be copied to another database as they are.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from harness.store.study_records import Answer, AssignmentState, ItemKind
from harness.store.tables.base import ID_LENGTH, Base, Json, UtcTime, one_of, utc_now


class StudyRow(Base):
    """A human evaluation: people compare two continuations of a prefix."""

    __tablename__ = "studies"

    id: Mapped[str] = mapped_column(
        String(ID_LENGTH), primary_key=True, doc="SHA-256 of the design and the items"
    )
    name: Mapped[str] = mapped_column(Text, unique=True, doc="name of the study")
    design: Mapped[Any] = mapped_column(Json, doc="pairs, votes, rates, instructions, seed, and the run")
    salt: Mapped[str] = mapped_column(Text, doc="hashed into the names that judges have in exports")
    open_token: Mapped[str] = mapped_column(Text, doc="the secret part of the link for a platform's judges")
    created_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was made")


class StudyItemRow(Base):
    """Two continuations of one prefix. An attention check has a human text first and its words shuffled
    second."""

    __tablename__ = "study_items"

    study_id: Mapped[str] = mapped_column(
        String(ID_LENGTH), ForeignKey("studies.id"), primary_key=True, doc="the study"
    )
    item: Mapped[int] = mapped_column(primary_key=True, doc="number of the item in the study, from 0")
    kind: Mapped[str] = mapped_column(String(8), doc="pair (of settings) or check (of attention)")
    pair: Mapped[int | None] = mapped_column(doc="which pair of the design, from 0; NULL for a check")
    prefix_id: Mapped[str] = mapped_column(Text, doc="the prefix, as in the table prefixes")
    prefix: Mapped[str] = mapped_column(Text, doc="its text")
    first: Mapped[str] = mapped_column(Text, doc="what is shown of the continuation by the first setting")
    second: Mapped[str] = mapped_column(Text, doc="the same of the second setting")
    first_job: Mapped[str | None] = mapped_column(
        String(ID_LENGTH),
        doc="id of the job that wrote the first text; NULL if none did",
    )
    second_job: Mapped[str | None] = mapped_column(String(ID_LENGTH), doc="the same for the second text")
    votes: Mapped[int] = mapped_column(doc="how many judges are asked; 0 for a check: every judge is")

    __table_args__ = (
        one_of("kind", ItemKind),
        Index("ix_study_items_first_job", "first_job"),
        Index("ix_study_items_second_job", "second_job"),
        {"sqlite_with_rowid": False},
    )


class StudyJudgeRow(Base):
    """A person who judges in a study."""

    __tablename__ = "study_judges"

    id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True, doc="random, the same everywhere")
    study_id: Mapped[str] = mapped_column(String(ID_LENGTH), ForeignKey("studies.id"), doc="the study")
    token: Mapped[str] = mapped_column(Text, unique=True, doc="the secret part of the judge's link")
    platform_id: Mapped[str | None] = mapped_column(
        Text, doc="the judge's id on a platform such as Prolific; never exported unless asked for"
    )
    platform: Mapped[Any | None] = mapped_column(Json, doc="the platform's other parameters")
    created_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when the link was made")
    consented_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="when the judge agreed to take part")

    __table_args__ = (UniqueConstraint("study_id", "platform_id"),)


class StudyAssignmentRow(Base):
    """An item that was given to a judge, for a limited time until it is answered."""

    __tablename__ = "study_assignments"

    judge_id: Mapped[str] = mapped_column(
        String(ID_LENGTH), ForeignKey("study_judges.id"), primary_key=True, doc="the judge"
    )
    position: Mapped[int] = mapped_column(primary_key=True, doc="its place in the judge's sequence, from 0")
    study_id: Mapped[str] = mapped_column(String(ID_LENGTH), doc="the study")
    item: Mapped[int] = mapped_column(doc="the item")
    is_repeat: Mapped[bool] = mapped_column(
        doc="whether the judge has answered this item before; a repetition is no vote"
    )
    swapped: Mapped[bool] = mapped_column(doc="whether the second text is shown first")
    state: Mapped[str] = mapped_column(String(8), doc="leased, answered or returned")
    attempt: Mapped[int] = mapped_column(default=1, doc="1, and one more after each undo")
    shown_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was given")
    lease_expires_at: Mapped[datetime | None] = mapped_column(
        UtcTime, doc="from then on another judge may get the vote; NULL unless leased"
    )

    __table_args__ = (
        one_of("state", AssignmentState),
        CheckConstraint("(state = 'leased') = (lease_expires_at IS NOT NULL)", name="lease"),
        ForeignKeyConstraint(["study_id", "item"], ["study_items.study_id", "study_items.item"]),
        UniqueConstraint("judge_id", "item", "is_repeat"),
        Index("ix_study_assignments_item", "study_id", "item"),
    )


class StudyAnswerRow(Base):
    """What a judge answered. An answer that the judge took back stays, with the time of that."""

    __tablename__ = "study_answers"

    judge_id: Mapped[str] = mapped_column(String(ID_LENGTH), primary_key=True, doc="the judge")
    position: Mapped[int] = mapped_column(primary_key=True, doc="the assignment")
    attempt: Mapped[int] = mapped_column(primary_key=True, doc="1, or more after an undo")
    answer: Mapped[str] = mapped_column(
        String(8), doc="first, second or tie: of the item's texts, wherever they were shown"
    )
    seconds: Mapped[float | None] = mapped_column(
        Float(53), doc="time the page was visible before the answer, by the browser's clock"
    )
    remark: Mapped[str | None] = mapped_column(Text, doc="what the judge wrote beside the answer")
    answered_at: Mapped[datetime] = mapped_column(UtcTime, default=utc_now(), doc="when it was stored")
    undone_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="when the judge took it back")

    __table_args__ = (
        one_of("answer", Answer),
        ForeignKeyConstraint(
            ["judge_id", "position"], ["study_assignments.judge_id", "study_assignments.position"]
        ),
    )
