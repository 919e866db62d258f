"""The local files that a run was started with, at which revision, and the tags that people give to runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add two tables. Runs that were started before have no rows in them."""
    op.create_table(
        "run_inputs",
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_inputs_run_id"),
        sa.PrimaryKeyConstraint("run_id", "key", name="pk_run_inputs"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run_tags",
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("tag", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_tags_run_id"),
        sa.PrimaryKeyConstraint("run_id", "tag", name="pk_run_tags"),
        sqlite_with_rowid=False,
    )
