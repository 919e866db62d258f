"""Drivers that are there, who was to do an attempt, and the numbers behind a resolution."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add a table and columns; what is there already has nothing in them."""
    op.create_table(
        "drivers",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("doing", sa.Text(), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("seen_at", TIME, nullable=False),
        sa.Column("ended_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_drivers_run_id"),
        sa.PrimaryKeyConstraint("owner", name="pk_drivers"),
    )
    op.add_column("attempts", sa.Column("worker", sa.Text(), nullable=True))
    op.add_column("resolutions", sa.Column("detail", sa.JSON(), nullable=True))
