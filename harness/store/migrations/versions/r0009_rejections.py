"""The score `refusals` is called `rejections`: accept and reject are the words for tokens."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Rename the stored scores."""
    op.execute("UPDATE scores SET name = 'rejections' WHERE name = 'refusals'")
