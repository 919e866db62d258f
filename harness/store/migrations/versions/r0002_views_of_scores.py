"""New views: hrr_view without the likelihood of continuations, scores_view with what intervals are over."""

from __future__ import annotations

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Change no table: views are created again after every migration."""
