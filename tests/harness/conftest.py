"""Fixtures of the harness's tests."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.driver import cluster
from tests.harness.driver.sweeps import LocalPool, write_corpus
from tests.harness.report.finished import run_in_this_process, wider_sweep


@pytest.fixture(scope="session")
def text_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of made-up documents, written long enough ago that they will not change again."""
    corpus = write_corpus(tmp_path_factory.mktemp("text") / "corpus")
    for path in corpus.iterdir():
        os.utime(path, (time.time() - 60,) * 2)
    return corpus


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, text_corpus: Path) -> str:
    """The address of a database with one run, "wider", that is done; only to be read."""
    return run_in_this_process(tmp_path_factory.mktemp("runs") / "wider.db", wider_sweep(text_corpus))


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers in this process."""

    @contextmanager
    def connected(address: str, *, ship_code: bool = False) -> Iterator[None]:
        yield

    monkeypatch.setattr(cluster, "connected", connected)
    monkeypatch.setattr(cluster, "make_pool", lambda *_: LocalPool())
