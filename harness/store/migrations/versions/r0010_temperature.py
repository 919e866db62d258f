"""Columns for the temperature of settings, and for what newer rules ask about measured tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

_NUMBERS = {
    "jobs": ("temperature",),
    "instances": ("temperature",),
    "measurements": ("deviation", "collision", "entropy_share"),
    "measurement_thresholds": ("lower_entropy_share", "upper_entropy_share"),
}


def upgrade() -> None:
    """Add the columns; older rows have NULL in them."""
    for table, names in _NUMBERS.items():
        for name in names:
            op.add_column(table, sa.Column(name, sa.Float(53), nullable=True))
    for table in ("jobs", "instances"):
        op.add_column(table, sa.Column("temperature_order", sa.String(8), nullable=True))
