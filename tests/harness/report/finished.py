"""Sweeps of fake models that have been run to the end, for tests of what is made of their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.config import SweepConfig
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep


def wider_sweep(corpus: Path, **changes: Any) -> SweepConfig:
    """Everything that a report has a table for: several eta and constraints, a selection, two seeds."""
    return tiny_sweep(
        corpus,
        **{
            "name": "wider",
            "generation": {"max_tokens": 6, "batch_size": 2, "seeds": [0, 1]},
            "measurement": {"tokens": 24, "per_document": 3, "constraints": [2, 4], "shard_size": 4},
            "scoring": {"mauve": {"kmeans_seeds": [25, 26], "kmeans_redo": 1}, "resamples": 10},
            "methods": [
                {"rule": "eta", "parameter": [0.001, 0.01]},
                {"rule": "ba-eta", "parameter": {"match": {"method": "eta"}}, "constraints": [2, 4]},
                {
                    "rule": "nucleus",
                    "parameter": {"best": {"metric": "mauve", "split": "validation", "among": [0.8, 0.9]}},
                },
                {"name": "quarter", "rule": "eta", "parameter": {"hrr": 0.25}},
                {
                    "name": "ba-quarter",
                    "rule": "ba-eta",
                    "parameter": {"match": {"method": "quarter"}},
                    "constraints": 4,
                },
            ],
            "stages": [
                {"name": "select", "split": "validation", "methods": ["nucleus"]},
                {"name": "measure", "kind": "measure"},
                {"name": "compare", "split": "test"},
            ],
            **changes,
        },
    )


def run_in_this_process(file: Path, config: SweepConfig) -> str:
    """Run a sweep to its end; returns the address of the database."""
    with open_quick_store(file) as store:
        assert make_driver(store, config, LocalPool).run().complete
        return store.address
