"""A small model that vLLM can run, and the engine itself. Everything here is skipped without vLLM."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.vllm_engine.engines import SMALL, engine_request
from workers import models
from workers.models import LanguageModel

if TYPE_CHECKING:
    from workers.vllm_plugin.engine import Engine

collect_ignore_glob = [] if importlib.util.find_spec("vllm") else ["test_*.py"]

# Read when vLLM is imported. In one process, tests see its errors, and leave no other process behind.
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")  # GiB
os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    """The small model in transformers, from the files that vLLM reads."""
    fake = models.load(SMALL, "cpu")
    folder = tmp_path_factory.mktemp("small") / "model"
    fake.model.save_pretrained(folder)
    fake.tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        os.utime(file, (0, 0))  # as old as the files that people use
    return models.load(str(folder), "cpu")


@pytest.fixture(scope="module")
def engine(small: LanguageModel) -> Iterator[Engine]:
    """vLLM with the small model, four texts at a time."""
    from workers.vllm_plugin.engine import Engine

    opened = Engine(engine_request(small.info.name), "cpu")
    yield opened
    opened.close()
