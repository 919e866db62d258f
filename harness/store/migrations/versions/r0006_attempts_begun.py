"""Whether a worker had begun an attempt: a lease that is lost before counts for nothing."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add a column; of older attempts nobody knows."""
    op.add_column("attempts", sa.Column("begun", sa.Boolean(), nullable=True))
