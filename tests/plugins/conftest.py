"""Plug-ins for one test: a folder on the path, and everything forgotten afterwards."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bat import plugins, solvers
from tests.plugins.installing import install


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where packages can be installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    before = set(sys.modules)
    monkeypatch.syspath_prepend(folder)
    plugins.forget_installed()
    yield folder
    plugins.forget_installed()
    solvers._by_name.cache_clear()
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {path.stem for path in folder.iterdir()}:
            del sys.modules[name]


@pytest.fixture
def example(site: Path) -> Path:
    """The example plug-in, installed."""
    return install(site)
