"""What a driver and a worker import until the first job: libraries that take seconds only where they work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bat.basis import CACHE_VARIABLE
from tests.harness.driver.sweeps import tiny_sweep, write_corpus
from workers.model_cards import load_card
from workers.models import load

# Runs a sweep until a request is handed out, to a pool whose workers never answer.
DRIVER = """
import contextlib, json, os, pickle, sys
import harness
from harness.driver import cluster
from harness.driver.pool import Vacancy

class Pool:
    def vacancies(self):
        return [Vacancy("w", None, "here:1")]
    def submit(self, worker, ticket, request):
        pickle.loads(pickle.dumps(request))
        print(json.dumps(sorted(sys.modules)), flush=True)
        os._exit(0)
    def close(self):
        pass

cluster.connected = lambda *_, **__: contextlib.nullcontext()
cluster.make_pool = lambda *_: Pool()
harness.run_sweep(json.loads(sys.argv[1]), sys.argv[2])
"""

WORKER = """
import json, sys
from bat.rules import get_rule
from workers.generation_record import GenerationSettings
from workers.prefixes import Prefix
from workers.requests import GenerateRequest, ModelRequest, Worker

settings = GenerationSettings(get_rule("eta", 0.01), max_tokens=2)
request = GenerateRequest(ModelRequest("fake:v=300,d=8"), (Prefix("a", (1, 2), ()),), settings)
[answer] = Worker("cpu", threads=1).answer(request).value
assert len(answer.token_ids) > 0
print(json.dumps(sorted(sys.modules)))
"""

OF_SCORES_AND_TABLES = {"sklearn", "faiss", "pandas", "pyarrow", "datasets", "matplotlib"}
OF_MODELS = {"torch", "numba", "scipy", "accelerate", "transformers.modeling_utils"}
OF_DRIVERS = {"ray", "sqlalchemy", "pydantic", "rich"}


def modules_of(script: str, *arguments: str) -> set[str]:
    command = [sys.executable, "-c", script, *arguments]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    return set(json.loads(finished.stdout))


@pytest.fixture
def local_model(tmp_path: Path) -> Path:
    """The folder of a model, as old as those that people use."""
    fake = load("fake:v=300,d=8")
    folder = tmp_path / "model"
    fake.model.save_pretrained(folder)
    fake.tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        os.utime(file, (0, 0))
    return folder


@pytest.mark.parametrize("kind", ["fake", "local"])
def test_a_driver_imports_nothing_that_runs_models_or_scores(
    kind: str, local_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    name = "fake:v=300,d=8" if kind == "fake" else str(local_model)
    load_card(name)  # the first time, all weights are read
    sweep = tiny_sweep(write_corpus(tmp_path / "corpus"), name, features={"model": name})
    found = modules_of(DRIVER, sweep.model_dump_json(exclude_unset=True), str(tmp_path / "results.db"))
    assert "workers.requests" in found
    assert found & (OF_MODELS | OF_SCORES_AND_TABLES) == set()


def test_a_worker_imports_nothing_that_drives_or_scores() -> None:
    found = modules_of(WORKER)
    assert {"torch", "transformers.modeling_utils"} <= found
    assert found & (OF_DRIVERS | OF_SCORES_AND_TABLES) == set()
