from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import pytest

from bat.errors import InvalidInputError
from harness.config import (
    AtRate,
    BestOf,
    EqualRate,
    MeasureInstance,
    MethodInstance,
    Resolved,
    Setting,
    SweepConfig,
    expand,
    load_config,
    measurements,
    summarize,
)
from harness.jobs import canonical_json
from tests.harness.config.sweeps import SWEEP, changed

BEST_ETA = Setting("eta", BestOf("mauve", "select", "validation", (0.001, 0.002)))


def sweep(folder: Path, text: str = SWEEP) -> SweepConfig:
    (folder / "sweep.yaml").write_text(text, encoding="utf-8")
    return load_config(folder / "sweep.yaml").config


def settings_of(config: SweepConfig, stage: str, model: str = "fake") -> list[Setting]:
    found = [one.setting for one in expand(config) if (one.stage, one.model) == (stage, model)]
    return list(dict.fromkeys(found))


def test_every_setting_is_enumerated_for_every_model_and_seed(tmp_path: Path) -> None:
    instances = expand(sweep(tmp_path))
    # select: 2 candidates; compare: eta, ba-eta with 2 sizes, epsilon at 2 rates, nucleus.
    assert Counter(one.stage for one in instances) == {"select": 2 * 2 * 2, "compare": 6 * 2 * 2}
    assert len(set(instances)) == len(instances)
    assert instances[0] == MethodInstance(
        "select", "validation", "fake", "eta", Setting("eta", Resolved(0.001)), seed=0
    )


def test_the_best_is_many_where_it_is_sought_and_one_where_it_is_used(tmp_path: Path) -> None:
    config = sweep(tmp_path)
    candidates = [Setting("eta", Resolved(0.001)), Setting("eta", Resolved(0.002))]
    assert settings_of(config, "select") == candidates
    assert settings_of(config, "compare") == [
        BEST_ETA,
        Setting("ba-eta", EqualRate(BEST_ETA), 20),
        Setting("ba-eta", EqualRate(BEST_ETA), 30),
        Setting("epsilon", AtRate(0.1)),
        Setting("epsilon", AtRate(0.25)),
        Setting("nucleus", Resolved(0.9)),
    ]


def test_a_match_follows_whatever_the_other_method_is_in_the_stage(tmp_path: Path) -> None:
    late = "  - name: measure  # line 26\n    kind: measure\n"
    text = changed((late, ""), ("stages:", "stages:\n" + late), ("methods: [eta]", "methods: [eta, ba-eta]"))
    matched = [one for one in settings_of(sweep(tmp_path, text), "select") if one.rule == "ba-eta"]
    assert matched == [
        Setting("ba-eta", EqualRate(Setting("eta", Resolved(value))), size)
        for size in (20, 30)
        for value in (0.001, 0.002)
    ]


@pytest.mark.parametrize(
    ("match", "reference"),
    [
        ("{method: eta, parameter: 0.004}", Setting("eta", Resolved(0.004))),
        ("{method: top-p, parameter: 1}", Setting("nucleus", Resolved(1.0))),
        ("{method: top-k, parameter: 40}", Setting("top-k", Resolved(40))),
        ("{method: greedy}", Setting("greedy", Resolved(None))),
        ("{method: ba-epsilon, parameter: 0.1}", Setting("ba-epsilon", Resolved(0.1), 20)),
        ("{method: nucleus}", Setting("nucleus", Resolved(0.9))),
    ],
)
def test_a_match_may_name_a_rule(tmp_path: Path, match: str, reference: Setting) -> None:
    config = sweep(tmp_path, changed(("{method: eta}", match)))
    assert settings_of(config, "compare")[1] == Setting("ba-eta", EqualRate(reference), 20)


def test_matches_may_be_chained(tmp_path: Path) -> None:
    more = "  - {rule: ba-epsilon, parameter: {match: {method: ba-eta}}}\nstages:"
    config = sweep(tmp_path, changed(("stages:", more), ("    constraints: [20, 30]", "    constraints: 30")))
    [chained] = [one for one in settings_of(config, "compare") if one.rule == "ba-epsilon"]
    assert chained == Setting("ba-epsilon", EqualRate(Setting("ba-eta", EqualRate(BEST_ETA), 30)), 20)
    assert chained.needs_stages == ("select",)
    assert chained.needs_measurement


def test_the_selection_is_the_last_one_before_with_the_model(tmp_path: Path) -> None:
    again = "  - {name: anew, split: validation, methods: [eta], models: [fake]}\n"
    config = sweep(tmp_path, changed(("  - name: measure ", again + "  - name: measure ")))
    stages = {
        model: settings_of(config, "compare", model)[0].needs_stages
        for model in ("fake", "fake:v=1000,d=16,seed=1")
    }
    assert stages == {"fake": ("anew",), "fake:v=1000,d=16,seed=1": ("select",)}


def test_stages_may_have_their_own_methods_models_and_seeds(tmp_path: Path) -> None:
    own = "split: test\n    methods: [nucleus]\n    models: [fake]\n    seeds: 5\n"
    config = sweep(tmp_path, changed(("split: test\n", own)))
    [instance] = [one for one in expand(config) if one.stage == "compare"]
    assert (instance.model, instance.method, instance.seed) == ("fake", "nucleus", 5)


def test_a_rule_without_a_parameter_has_one_setting(tmp_path: Path) -> None:
    config = sweep(tmp_path, changed(("rule: nucleus  # line 20\n    parameter: 0.9", "rule: greedy")))
    assert settings_of(config, "compare")[-1] == Setting("greedy", Resolved(None))


def test_what_is_measured(tmp_path: Path) -> None:
    assert measurements(sweep(tmp_path)) == [
        MeasureInstance("measure", "validation", "fake"),
        MeasureInstance("measure", "validation", "fake:v=1000,d=16,seed=1"),
    ]


def test_parts_are_found_by_name(tmp_path: Path) -> None:
    config = sweep(tmp_path)
    assert config.get_model("fake").name == "fake:v=1000,d=16"
    assert config.get_stage("measure").kind == "measure"
    with pytest.raises(
        InvalidInputError, match=r"no stage 'messure' in this sweep\. Did you mean 'measure'\?"
    ):
        config.get_stage("messure")


def test_a_setting_is_completed_by_its_parameter() -> None:
    assert Setting("ba-eta", AtRate(0.1), 20).at(0.03) == Setting("ba-eta", Resolved(0.03), 20)
    assert Setting("top-k", AtRate(0.1)).at(3.0).as_dict()["parameter"] == 3
    with pytest.raises(InvalidInputError, match=r"eta must lie in \(0, 1\); got 2"):
        Setting("eta", AtRate(0.1)).at(2.0)


def test_settings_are_plain_values_in_one_spelling(tmp_path: Path) -> None:
    found = settings_of(sweep(tmp_path), "compare")
    assert pickle.loads(pickle.dumps(found)) == found
    spelled = [canonical_json(setting.as_dict()) for setting in found]
    assert len(set(spelled)) == len(found)
    assert spelled[1] == (
        '{"constraints":20,"parameter":{"match":{"constraints":null,"parameter":{"best":{"among":[0.001,0.002],'
        '"metric":"mauve","split":"validation","stage":"select"}},"rule":"eta"}},"rule":"ba-eta"}'
    )


def test_settings_in_words(tmp_path: Path) -> None:
    assert [str(one) for one in settings_of(sweep(tmp_path), "compare")] == [
        "eta best on validation by mauve",
        "ba-eta rejecting as much as eta best on validation by mauve (c=20)",
        "ba-eta rejecting as much as eta best on validation by mauve (c=30)",
        "epsilon rejecting 10%",
        "epsilon rejecting 25%",
        "nucleus=0.9",
    ]


def test_what_a_sweep_comes_to(tmp_path: Path) -> None:
    summary = summarize(sweep(tmp_path, SWEEP + "prefixes: {count: 10}\n"))
    select, measure, compare = summary.stages
    assert (select.texts, select.deferred, select.split) == (8 * 10, 0, "validation")
    assert (measure.positions, measure.programs, measure.texts) == (20_000, 40_000, 0)
    assert (compare.texts, compare.deferred, compare.seeds) == (24 * 10, 5 * 2, (0, 1))
    assert (summary.texts, summary.max_tokens, summary.positions) == (320, 320 * 256, 20_000)
