"""Sweeps for tests: a small right one, and how to make it wrong in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.config import ConfigError, load_config

ROOT = Path(__file__).parents[3]

# Line numbers matter to the tests: keep the comments where they are.
SWEEP = """\
name: small
models:
  - name: fake:v=1000,d=16
    label: fake
  - name: fake:v=1000,d=16,seed=1
corpus:
  name: news
generation:
  seeds: [0, 1]
measurement:
  constraints: [20, 30]
methods:
  - rule: eta  # line 13
    parameter: {best: {split: validation, among: [0.001, 0.002]}}
  - rule: ba-eta  # line 15
    parameter: {match: {method: eta}}
    constraints: [20, 30]
  - rule: epsilon  # line 18
    parameter: {hrr: [0.1, 0.25]}
  - rule: nucleus  # line 20
    parameter: 0.9
stages:
  - name: select  # line 23
    split: validation
    methods: [eta]
  - name: measure  # line 26
    kind: measure
  - name: compare  # line 28
    split: test
"""


def changed(*replacements: tuple[str, str]) -> str:
    """The sweep with pieces of its text replaced, each of which must occur once."""
    text = SWEEP
    for old, new in replacements:
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times"
        text = text.replace(old, new)
    return text


def complaint(folder: Path, text: str, overrides: tuple[str, ...] = ()) -> list[str]:
    """What is said of a sweep that cannot be used, a line for each mistake; the file is `sweep.yaml`."""
    (folder / "sweep.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(folder / "sweep.yaml", overrides)
    return [line.replace(f"{folder}/", "") for line in str(caught.value).splitlines()]
