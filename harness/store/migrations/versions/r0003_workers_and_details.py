"""Who was to do an attempt, and the numbers behind a resolution."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add columns; what is there already has nothing in them."""
    op.add_column("attempts", sa.Column("worker", sa.Text(), nullable=True))
    op.add_column("resolutions", sa.Column("detail", sa.JSON(), nullable=True))
