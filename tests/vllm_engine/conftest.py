"""A small model that vLLM can run, and a worker that runs it. Everything here is skipped without vLLM.

An engine takes 10 seconds to start, and two in one process would share what vLLM keeps for the process. So
all tests share one worker, which holds one engine at a time, and keeps it while tests ask for the same.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.vllm_engine.engines import SMALL, engine_request
from workers import models
from workers.models import LanguageModel
from workers.requests import Worker

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


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """What all engines are loaded by."""
    worker = Worker("cpu")
    yield worker
    worker._free()


@pytest.fixture
def engine(worker: Worker, small: LanguageModel) -> Engine:
    """vLLM with the small model, four texts at a time."""
    return worker.load_engine(engine_request(small.info.name))


@pytest.fixture
def demo_engine(worker: Worker) -> Engine:
    """vLLM with the demo model."""
    return worker.load_engine(engine_request("smollm2-135m", 12))
