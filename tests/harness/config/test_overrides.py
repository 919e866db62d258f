from __future__ import annotations

from pathlib import Path

import pytest

from harness.config import SweepConfig, load_config
from tests.harness.config.sweeps import SWEEP, complaint


def with_overrides(folder: Path, *overrides: str) -> SweepConfig:
    (folder / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    return load_config(folder / "sweep.yaml", overrides).config


def test_values_are_replaced_and_added(tmp_path: Path) -> None:
    config = with_overrides(
        tmp_path,
        "methods.3.parameter=0.01",
        "models.0.dtype=bfloat16",
        "generation.seeds=[1, 2]",
        "prefixes.count=7",
        "scoring.mauve.buckets=12",
        "description=a=b",
    )
    assert config.methods[3].parameter == (0.01,)
    assert [model.dtype for model in config.models] == ["bfloat16", "float32"]
    assert (config.generation.seeds, config.prefixes.count, config.scoring.mauve.buckets) == ((1, 2), 7, 12)
    assert config.description == "a=b"


def test_an_index_can_be_written_as_messages_write_it(tmp_path: Path) -> None:
    config = with_overrides(
        tmp_path, "generation.seeds=[5, 6]", "generation.seeds[1]=7", "methods[3].parameter=0.01"
    )
    assert config.generation.seeds == (5, 7)
    assert config.methods[3].parameter == (0.01,)


def test_whole_entries_can_be_set(tmp_path: Path) -> None:
    config = with_overrides(tmp_path, "methods.2={rule: ba-epsilon, parameter: {match: {method: nucleus}}}")
    assert config.methods[2].rule == "ba-epsilon"


def test_the_last_override_counts_and_sees_the_earlier(tmp_path: Path) -> None:
    config = with_overrides(tmp_path, "prefixes={count: 3}", "prefixes.tokens=4", "prefixes.count=5")
    assert (config.prefixes.count, config.prefixes.tokens) == (5, 4)


def test_nothing_is_a_value_too(tmp_path: Path) -> None:
    assert with_overrides(tmp_path, "models.0.label=").models[0].title == "fake:v=1000,d=16"


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("models.0.dtpe=bfloat16", "models[0] has no key 'dtpe'. Did you mean 'dtype'?"),
        ("genration.seeds=1", "the sweep has no key 'genration'. Did you mean 'generation'?"),
        ("prefixes.cuont=1", "prefixes has no key 'cuont'. Did you mean 'count'?"),
        ("prefixes.count=0", "prefixes.count must be greater than or equal to 2; got 0."),
        ("prefixes.count.more=1", "prefixes.count must be a valid integer; got a mapping."),
        ("methods.3.parameter=2", "methods[3].parameter: nucleus must lie in (0, 1]; got 2.0."),
        ("methods.9.parameter=1", "an index of methods must be from 0 to 3; got '9'."),
        ("methods[9].parameter=1", "an index of methods must be from 0 to 3; got '9'."),
        ("methods[eta].parameter=1", "the sweep has no key 'methods[eta]'. Did you mean 'methods'?"),
        ("[0].parameter=1", "an override must be path=value"),
        ("methods.eta.parameter=1", "an index of methods must be from 0 to 3; got 'eta'."),
        ("name.first=1", "name is 'small' and has no keys; got 'first'. Set it as a whole."),
        ("stages.2.methods=[eto]", "stages[2].methods[0]: there is no method 'eto' in this sweep."),
        ("generation.seeds=[1", "invalid YAML: "),
        ("generation.seeds", "an override must be path=value, such as generation.seeds=[1,2]"),
        ("=1", "an override must be path=value"),
        ("a..b=1", "an override must be path=value"),
    ],
)
def test_a_wrong_override_is_named(tmp_path: Path, override: str, expected: str) -> None:
    [said] = complaint(tmp_path, SWEEP, (override,))
    assert said.startswith(f"--set {override}")
    assert expected in said


def test_what_an_override_did_not_touch_keeps_its_line(tmp_path: Path) -> None:
    said = complaint(tmp_path, SWEEP.replace("seeds: [0, 1]", "seeds: x"), ("methods.3.parameter=2",))
    assert [line.partition(": ")[0] for line in said] == ["sweep.yaml line 9", "--set methods.3.parameter=2"]


def test_an_override_can_mend_a_file(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP.replace("parameter: 0.9", "parameter: 9"), encoding="utf-8")
    assert load_config(tmp_path / "sweep.yaml", ["methods.3.parameter=0.95"]).config.methods[3].parameter == (
        0.95,
    )
