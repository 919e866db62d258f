"""Leases of drivers that are gone."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.store import Store
from harness.store.owners import is_dead, new_owner
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep


def gone() -> str:
    """The name of a driver that has ended."""
    ended = subprocess.run(
        [sys.executable, "-c", "from harness.store.owners import new_owner; print(new_owner())"],
        check=True,
        capture_output=True,
        text=True,
    )
    return ended.stdout.strip()


def test_only_what_has_certainly_ended_is_dead() -> None:
    assert is_dead(gone())
    assert not is_dead(new_owner())
    assert not is_dead(gone().replace(socket.gethostname(), "elsewhere"))
    assert not is_dead(f"{socket.gethostname()}:{os.getppid()}:0123abcd")
    for strange in ("", "a", "a:b", f"{socket.gethostname()}:x:y", f"{socket.gethostname()}:1"):
        assert not is_dead(strange)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_quick_store(tmp_path / "r.db")


def test_a_killed_driver_is_not_waited_for(store: Store, text_corpus: Path) -> None:
    config = tiny_sweep(text_corpus, resources={"lease_seconds": 3600})
    driver = make_driver(store, config, LocalPool, owner=gone())
    driver._enqueue()
    assert len(store.claim(driver.owner, 3, 3600, driver.run_id)) == 3
    alive = make_driver(store, config, LocalPool)
    other = store.claim("elsewhere:1:00000000", 1, 3600, driver.run_id)
    assert len(other) == 1
    store.release(other)
    assert alive.run().complete
    assert store.owners() == []
