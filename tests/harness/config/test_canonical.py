from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from bat.rules import get_rule_form, rule_names
from harness.config import as_written, expand, from_identity, load_config, parse_config, run_identity, to_yaml
from harness.jobs import canonical_json
from tests.harness.config.sweeps import SWEEP, changed, complaint


def identity(text: str) -> str:
    return canonical_json(run_identity(parse_config(yaml.safe_load(text))))


def test_two_spellings_of_one_sweep_are_equal() -> None:
    other = changed(
        ("seeds: [0, 1]", "seeds: [1, 0]\n  max_tokens: 256"),
        ("\n  constraints: [20, 30]", "\n  constraints: [30, 20]"),
        ("rule: eta  # line 13", "rule: ETA\n    name: eta"),
        ("parameter: 0.9", "parameter: [0.9]"),
        ("name: select  # line 23", "name: select\n    models: [fake, 'fake:v=1000,d=16,seed=1']"),
        ("    split: test\n", "    methods: [eta, ba-eta, epsilon, nucleus]\n    seeds: [1, 0]\n"),
    )
    assert identity(other) == identity(SWEEP)


def test_how_the_work_is_done_is_no_part_of_it() -> None:
    assert identity(SWEEP + "description: x\nresources: {num_gpus: 1, workers: 3}\n") == identity(SWEEP)


def test_what_changes_results_is_part_of_it() -> None:
    others = [
        SWEEP + "prefixes: {shard_size: 100}\n",
        SWEEP + "features: {include_prefix: false}\n",
        SWEEP + "scoring: {mauve: {kmeans_seeds: 1}}\n",
        changed(("parameter: 0.9", "parameter: 0.91")),
        changed(("seeds: [0, 1]", "seeds: [0, 2]")),
        changed(("name: small", "name: other")),
        changed(("seed=1", "seed=2")),
        changed(("    constraints: [20, 30]", "    constraints: [30]")),
    ]
    spelled = [identity(text) for text in [SWEEP, *others]]
    assert len(set(spelled)) == len(spelled)


def test_a_sweep_written_out_reads_the_same(tmp_path: Path) -> None:
    config = parse_config(yaml.safe_load(SWEEP))
    (tmp_path / "again.yaml").write_text(to_yaml(config), encoding="utf-8")
    assert load_config(tmp_path / "again.yaml").config == config


fractions = st.floats(0.0001, 0.9999)
several = st.lists(fractions, min_size=1, max_size=3, unique=True)
choices = st.one_of(
    fractions,
    several,
    several.map(lambda among: {"best": {"among": among}}),
    several.map(lambda rates: {"hrr": rates}),
)
matches = st.fixed_dictionaries({"method": st.just("eta"), "parameter": several}).map(
    lambda to: {"match": to}
)
# Those whose parameter is a fraction.
rules = [name for name in rule_names() if "top-k" not in name and not get_rule_form(name).takes_no_parameter]


@st.composite
def sweeps(draw: st.DrawFn) -> dict[str, Any]:
    methods: list[dict[str, Any]] = []
    for number, rule in enumerate(draw(st.lists(st.sampled_from(rules), min_size=1, max_size=4))):
        aware = get_rule_form(rule).basis_aware
        parameter = draw(st.one_of(choices, matches) if aware else choices)
        methods.append({"name": f"m{number}", "rule": rule, "parameter": parameter})
        if aware and draw(st.booleans()):
            methods[-1]["constraints"] = draw(
                st.lists(st.integers(0, 40), min_size=1, max_size=2, unique=True)
            )
    return {
        "name": "drawn",
        "models": [{"name": "m", "label": label} for label in draw(st.sampled_from(["a", "ab"]))],
        "corpus": {"name": "news"},
        "generation": {"seeds": draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True))},
        "measurement": {"constraints": list(range(41))},
        "methods": methods,
        "stages": [
            {"name": "measure", "kind": "measure"},
            {"name": "select", "split": "validation"},
            {"name": "compare", "split": "test"},
        ],
    }


@given(sweeps())
def test_any_sweep_reads_the_same_written_out_and_means_the_same(data: dict[str, Any]) -> None:
    config = parse_config(data)
    again = parse_config(yaml.safe_load(to_yaml(config)))
    assert again == config
    assert canonical_json(run_identity(again)) == canonical_json(run_identity(config))
    assert expand(again) == expand(config)


@given(sweeps())
def test_any_sweep_can_be_had_back_from_its_identity(data: dict[str, Any]) -> None:
    identity = run_identity(parse_config(data))
    again = from_identity({**identity, "result_version": 2})  # as a store has it
    assert run_identity(again) == identity
    assert set(expand(again)) == set(expand(parse_config(data)))


@given(sweeps())
def test_any_sweep_spreads_out_into_distinct_hashable_settings(data: dict[str, Any]) -> None:
    config = parse_config(data)
    instances = expand(config)
    assert len(set(instances)) == len(instances)
    groups = itertools.groupby(instances, key=lambda one: (one.stage, one.model, one.seed))
    assert {stage for (stage, _, _), _ in groups} == {"select", "compare"}
    chosen = sum(isinstance(m["parameter"], dict) and "best" in m["parameter"] for m in data["methods"])
    deferred = [one for one in instances if one.stage == "select" and one.setting.needs_stages]
    assert deferred == []
    late = {(one.model, one.method) for one in instances if one.setting.needs_stages}
    assert len(late) == chosen * len(config.models)


def test_a_renamed_key_keeps_its_old_name_in_identities_and_may_be_written_so(tmp_path: Path) -> None:
    new, old = "\n  constraints: [20, 30]", "\n  basis_sizes: [20, 30]"
    configs = []
    for text in (changed(), changed((new, old))):
        (tmp_path / "sweep.yaml").write_text(text, encoding="utf-8")
        configs.append(load_config(tmp_path / "sweep.yaml").config)
    assert configs[0] == configs[1]
    stored = run_identity(configs[0])
    assert stored["measurement"]["basis_sizes"] == [20, 30]  # what stored runs are compared with
    assert "constraints" not in stored["measurement"]
    assert as_written(stored)["measurement"]["constraints"] == [20, 30]
    both = changed((new, new + old))
    [said] = complaint(tmp_path, both)
    assert "'constraints' and its old name 'basis_sizes' must not both be set" in said
