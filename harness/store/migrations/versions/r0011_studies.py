"""Human evaluation: studies, their items, judges, assignments and answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

ID = sa.String(64)
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add five tables."""
    op.create_table(
        "studies",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("design", sa.JSON(), nullable=False),
        sa.Column("salt", sa.Text(), nullable=False),
        sa.Column("open_token", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.UniqueConstraint("name", name="uq_studies_name"),
    )
    op.create_table(
        "study_items",
        sa.Column("study_id", ID, nullable=False),
        sa.Column("item", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("pair", sa.Integer(), nullable=True),
        sa.Column("prefix_id", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("first", sa.Text(), nullable=False),
        sa.Column("second", sa.Text(), nullable=False),
        sa.Column("first_job", ID, nullable=True),
        sa.Column("second_job", ID, nullable=True),
        sa.Column("votes", sa.Integer(), nullable=False),
        sa.CheckConstraint("kind IN ('pair', 'check')", name="ck_study_items_kind"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_study_items_study_id"),
        sa.PrimaryKeyConstraint("study_id", "item", name="pk_study_items"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_study_items_first_job", "study_items", ["first_job"])
    op.create_index("ix_study_items_second_job", "study_items", ["second_job"])
    op.create_table(
        "study_judges",
        sa.Column("id", ID, nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("platform_id", sa.Text(), nullable=True),
        sa.Column("platform", sa.JSON(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("consented_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_study_judges_study_id"),
        sa.PrimaryKeyConstraint("id", name="pk_study_judges"),
        sa.UniqueConstraint("token", name="uq_study_judges_token"),
        sa.UniqueConstraint("study_id", "platform_id", name="uq_study_judges_study_id_platform_id"),
    )
    op.create_table(
        "study_assignments",
        sa.Column("judge_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("study_id", ID, nullable=False),
        sa.Column("item", sa.Integer(), nullable=False),
        sa.Column("is_repeat", sa.Boolean(), nullable=False),
        sa.Column("swapped", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("shown_at", TIME, nullable=False),
        sa.Column("lease_expires_at", TIME, nullable=True),
        sa.CheckConstraint("state IN ('leased', 'answered', 'returned')", name="ck_study_assignments_state"),
        sa.CheckConstraint(
            "(state = 'leased') = (lease_expires_at IS NOT NULL)", name="ck_study_assignments_lease"
        ),
        sa.ForeignKeyConstraint(["judge_id"], ["study_judges.id"], name="fk_study_assignments_judge_id"),
        sa.ForeignKeyConstraint(
            ["study_id", "item"],
            ["study_items.study_id", "study_items.item"],
            name="fk_study_assignments_study_id_item",
        ),
        sa.PrimaryKeyConstraint("judge_id", "position", name="pk_study_assignments"),
        sa.UniqueConstraint(
            "judge_id", "item", "is_repeat", name="uq_study_assignments_judge_id_item_is_repeat"
        ),
    )
    op.create_index("ix_study_assignments_item", "study_assignments", ["study_id", "item"])
    op.create_table(
        "study_answers",
        sa.Column("judge_id", ID, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("answer", sa.String(8), nullable=False),
        sa.Column("seconds", sa.Float(53), nullable=True),
        sa.Column("remark", sa.Text(), nullable=True),
        sa.Column("answered_at", TIME, nullable=False),
        sa.Column("undone_at", TIME, nullable=True),
        sa.CheckConstraint("answer IN ('first', 'second', 'tie')", name="ck_study_answers_answer"),
        sa.ForeignKeyConstraint(
            ["judge_id", "position"],
            ["study_assignments.judge_id", "study_assignments.position"],
            name="fk_study_answers_judge_id_position",
        ),
        sa.PrimaryKeyConstraint("judge_id", "position", "attempt", name="pk_study_answers"),
    )
