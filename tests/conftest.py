"""Fixtures that every part of the tests shares."""

from __future__ import annotations

import pytest
import torch

from workers import models


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # One test process loads the model for all; two copies would fight over memory and cores.
    for item in items:
        if item.get_closest_marker("model"):
            item.add_marker(pytest.mark.xdist_group("model"))


@pytest.fixture(scope="session")
def demo_model() -> models.LanguageModel:
    """The demo model and its tokenizer, loaded once; converted first when the cache is empty."""
    return models.load("smollm2-135m", device="cpu")


@pytest.fixture(scope="session", autouse=True)
def _one_torch_thread_per_process(request: pytest.FixtureRequest) -> None:
    """Keep parallel test processes from each starting a thread for every core."""
    if hasattr(request.config, "workerinput"):
        torch.set_num_threads(1)
