"""What workers spend their time on, stored with each attempt; unknown for older attempts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0005"


def upgrade() -> None:
    """Add a column."""
    op.add_column("attempts", sa.Column("time_use", sa.JSON(), nullable=True))
