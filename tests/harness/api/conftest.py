"""Fixtures of the API's tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.driver import cluster
from tests.harness.driver.sweeps import LocalPool


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers in this process."""

    @contextmanager
    def connected(address: str, *, ship_code: bool = False) -> Iterator[None]:
        yield

    monkeypatch.setattr(cluster, "connected", connected)
    monkeypatch.setattr(cluster, "make_pool", lambda *_: LocalPool())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a database may be created."""
    return tmp_path / "r.db"
