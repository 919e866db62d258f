from __future__ import annotations

import json
import re

import pytest
import yaml

from harness.config import load_config, parse_config
from harness.config.reference import GUIDE, SCHEMA, json_schema, reference, with_reference
from harness.config.schema import SweepConfig
from tests.harness.config.sweeps import ROOT

ADVICE = "Run `python -m harness.config.reference`."


def test_the_guide_is_current() -> None:
    guide = (ROOT / GUIDE).read_text(encoding="utf-8")
    assert guide == with_reference(guide), ADVICE


def test_the_json_schema_is_current() -> None:
    assert (ROOT / SCHEMA).read_text(encoding="utf-8") == json_schema(), ADVICE


def test_every_key_is_described() -> None:
    rows = [line for line in reference().splitlines() if line.startswith("| `")]
    meanings = [line.split(" | ")[-1].strip(" |") for line in rows]
    assert len(rows) > 60
    assert all(meanings)
    definitions = [SweepConfig.model_json_schema(), *SweepConfig.model_json_schema()["$defs"].values()]
    assert all("description" in field for one in definitions for field in one["properties"].values())


def test_the_reference_says_what_enters_an_identity() -> None:
    enters = {
        (section, key): group
        for section, body in re.findall(r"### (.*)\n((?:(?!###).*\n)*)", reference())
        for key, group in re.findall(r"^\| `(\w+)` \| .* \| (jobs|run|nothing) \|", body, re.MULTILINE)
    }
    assert {
        key for (section, key), group in enters.items() if section == "`resources`" and group == "nothing"
    } == {
        "num_cpus",
        "num_gpus",
        "batches_in_flight",
        "workers",
        "lease_seconds",
        "database_patience_seconds",
        "max_attempts",
    }
    assert {where for where, group in enters.items() if group == "run"} == {
        ("Top level", "name"),
        ("`models[]`", "label"),
        ("`methods[]`", "name"),
        ("`imports[]`", "name"),
        ("`stages[]`", "name"),
    }
    assert enters["`prefixes`", "shard_size"] == enters["`generation`", "batch_size"] == "jobs"


def test_the_sweeps_in_the_guide_can_be_used() -> None:
    guide = (ROOT / GUIDE).read_text(encoding="utf-8")
    found = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    assert len(found) == 3
    for text in found:
        parse_config(yaml.safe_load(text))


def test_the_python_in_the_guide_prints_what_it_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    guide = (ROOT / GUIDE).read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    exec(code, {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"  # (.*)", code)


def test_the_overrides_in_the_guide_can_be_used() -> None:
    guide = (ROOT / GUIDE).read_text(encoding="utf-8")
    commands = re.findall(r"bat-harness run (\S+)((?: --set \S+)+)", guide)
    assert len(commands) == 2
    for path, options in commands:
        load_config(ROOT / path, re.findall(r"--set (\S+)", options))


def test_the_json_schema_is_for_editors() -> None:
    schema = json.loads(json_schema())
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["name", "models", "corpus", "stages"]
