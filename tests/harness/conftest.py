"""Fixtures of the harness's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.driver.sweeps import write_corpus
from tests.harness.report.finished import run_in_this_process, wider_sweep


@pytest.fixture(scope="session")
def text_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of made-up documents."""
    return write_corpus(tmp_path_factory.mktemp("text") / "corpus")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, text_corpus: Path) -> str:
    """The address of a database with one run, "wider", that is done; only to be read."""
    return run_in_this_process(tmp_path_factory.mktemp("runs") / "wider.db", wider_sweep(text_corpus))
