"""Fixtures of the API's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a database may be created."""
    return tmp_path / "r.db"
