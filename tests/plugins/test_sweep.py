"""A sweep with a plug-in's rule, statistic, corpus and solver, in processes that have it on their path."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.plugins.installing import install

ROOT = Path(__file__).parents[2]
FAKE = "fake:v=300,d=8"
SECONDS = 180.0
LOOSE = """
from my_sampling.rules import TopA

class TopB(TopA):
    plain_name = "top-b"
"""
SWEEP = {
    "name": "plugin",
    "models": [{"name": FAKE, "label": "fake"}],
    "corpus": {"name": "reports"},
    "prefixes": {"count": 6, "tokens": 5, "min_continuation_tokens": 6, "shard_size": 3},
    "generation": {"max_tokens": 6, "batch_size": 2, "solver": "scipy", "fallback": "exact", "max_tries": 1},
    "measurement": {"tokens": 12, "per_document": 3, "constraints": [4], "shard_size": 2},
    "features": {"model": FAKE, "max_tokens": 16, "shard_size": 3, "batch_size": 2},
    "scoring": {
        "mauve": {"kmeans_seeds": [25], "kmeans_redo": 1},
        "resamples": 4,
        "statistics": ["length", "longest-run", "sampling"],
    },
    "methods": [
        {"rule": "top-a", "parameter": 0.2},
        {"rule": "ba-top-a", "parameter": {"match": {"method": "top-a"}}, "constraints": 4},
        {"name": "trial", "rule": "loose:TopB", "parameter": {"hrr": 0.5}},
    ],
    "stages": [{"name": "measure", "kind": "measure"}, {"name": "compare", "split": "test"}],
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = install(tmp_path_factory.mktemp("site"))
    (folder / "loose.py").write_text(LOOSE)
    return folder


def run(site: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from harness.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)])},
    )


def query(site: Path, db: str, sql: str) -> list[dict[str, Any]]:
    done = run(site, "query", sql, "--db", db, "--json")
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def columns(table: Path) -> set[str]:
    """The columns of a table of a report, which is written a cell a line."""
    with table.open(newline="") as lines:
        return {row["column"] for row in csv.DictReader(lines)}


def _check_identities(jobs: list[dict[str, Any]]) -> None:
    """Every job names the plug-ins that its result depends on, with their versions, and no other."""
    package = {"distribution": "my-sampling", "version": "1.2.0"}
    specs = [(job["kind"], job["rule"], json.loads(job["spec"])) for job in jobs]
    by_rule = {rule: spec["plugins"] for kind, rule, spec in specs if kind == "generate"}
    assert by_rule["top-a"] == {"rule": package}
    assert by_rule["ba-top-a"] == {"rule": package, "solver": package}
    assert by_rule["loose:TopB"]["rule"]["module"] == "loose"
    assert len(by_rule["loose:TopB"]["rule"]["sha256"]) == 64
    assert all(spec["plugins"] == {"longest-run": package} for kind, _, spec in specs if kind == "score")
    assert all(spec["corpus"]["plugin"] == package for kind, _, spec in specs if kind == "measure")
    assert all("plugins" not in spec for kind, _, spec in specs if kind == "featurize")


@pytest.mark.xdist_group("ray")
def test_a_sweep_with_a_plugin_runs_and_is_reported(site: Path, tmp_path: Path) -> None:
    sweep, db = tmp_path / "plugin.yaml", f"sqlite:///{tmp_path / 'r.db'}"
    sweep.write_text(yaml.safe_dump(SWEEP))
    done = run(site, "run", sweep, "--db", db, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert "The sweep is complete." in done.stderr

    settings = query(site, db, "SELECT DISTINCT method, rule FROM generations_view ORDER BY method")
    rules = [(row["method"], row["rule"]) for row in settings]
    assert rules == [("ba-top-a", "ba-top-a"), ("top-a", "top-a"), ("trial", "loose:TopB")]
    _check_identities(query(site, db, "SELECT kind, rule, spec FROM jobs_view"))
    scores = query(site, db, "SELECT * FROM scores_view")
    assert {"longest-run", "length", "mauve"} <= {row["name"] for row in scores}
    assert all(row["value"] >= 1.0 for row in scores if row["name"] == "longest-run")

    done = run(site, "report", "plugin", "--db", db, "--output", tmp_path / "report")
    assert done.returncode == 0, done.stderr
    told = "\n".join(path.read_text() for path in (tmp_path / "report").rglob("*.md"))
    assert "ba-top-a" in told
    tables = tmp_path / "report" / "tables"
    assert "longest-run" in columns(tables / "statistics.csv")
    assert {"top-a", "ba-top-a", "loose:TopB"} <= columns(tables / "rejection.csv")
    assert "loose:TopB" in told
    done = run(site, "run", sweep, "--db", db)
    assert "Nothing to do" in done.stderr


def test_commands_take_the_rule(site: Path) -> None:
    for method in ("ba-top-a=0.3", "loose:TopB=0.2"):
        options = ("--model", "fake:v=300,d=24", "--max-tokens", 4, "--method", method, "--json")
        done = run(site, "sample", "--prompt", "The mayor", *options)
        assert done.returncode == 0, done.stderr
        assert f'"{method.partition("=")[0]}' in done.stdout
    done = run(site, "sample", "--prompt", "The mayor", "--model", FAKE, "--method", "top-a=3")
    assert done.returncode != 0
    assert "top-a must lie in (0, 1); got 3.0. Use a number such as 0.2." in " ".join(done.stderr.split())


def test_transformers_generates_under_the_rule(site: Path, tmp_path: Path) -> None:
    program = (
        "import torch, workers.models\n"
        "from workers.plugin import RuleSampler\n"
        f"fake = workers.models.load({FAKE!r})\n"
        "sampler = RuleSampler(fake, 'ba-top-a=0.4', constraints=4, solver='scipy')\n"
        "ids = torch.tensor([[5, 6, 7]])\n"
        "settings = {'max_new_tokens': 5, 'pad_token_id': 0, 'eos_token_id': None}\n"
        "fake.model.generate(ids, custom_generate=sampler, **settings)\n"
        "assert len(sampler.steps) == 5, sampler.steps\n"
        "print(sampler.rule)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(site)])},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ba-top-a=0.4\n"
