"""The examples of docs/vllm.md that need no server (see test_server for that one)."""

from __future__ import annotations

from pathlib import Path

import pytest
import vllm
import yaml

from tests.harness.driver.sweeps import tiny_sweep, write_corpus
from tests.vllm_engine import guide
from workers.vllm_plugin.engine import Engine
from workers.vllm_plugin.installation import check_options


@pytest.mark.model
def test_offline(demo_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the model that is loaded already, which is the one that the guide names."""
    monkeypatch.setattr(vllm, "LLM", lambda name: {guide.MODEL: demo_engine.llm}[name])
    text = guide.printed_by(guide.OFFLINE)
    assert len(text.split()) > 10
    assert guide.printed_by(guide.OFFLINE) == text  # equal requests give equal texts
    assert guide.printed_by(guide.OFFLINE.replace('"bat_seed": 0', '"bat_seed": 1')) != text


def test_vllm_may_import_the_offline_example_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does in a process that it starts by spawning, which must not start an engine in turn."""
    monkeypatch.setattr(vllm, "LLM", lambda name: pytest.fail("a second engine was started"))
    assert guide.printed_by(guide.OFFLINE, "__mp_main__") == ""


def test_in_a_sweep(tmp_path: Path) -> None:
    generation = yaml.safe_load(guide.SWEEP)["generation"]
    sweep = tiny_sweep(write_corpus(tmp_path / "corpus"), guide.MODEL, generation=generation)
    assert sweep.generation.engine == "vllm"
    assert sweep.generation.engine_options
    check_options(sweep.generation.engine_options)
