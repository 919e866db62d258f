from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from harness.config import parse_config
from harness.config.expansion import BestOf, Setting, expand
from harness.scoring.facts import Better
from tests.harness.config.sweeps import changed, complaint


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "rule: nucleus",
            "rule: eta",
            "line 20: methods[3]: 'eta' is already methods[0]. Give one of them another name.",
        ),
        (
            "    label: fake\n",
            "    label: fake:v=1000,d=16,seed=1\n",
            "line 5: models[1]: 'fake:v=1000,d=16,seed=1' is already models[0]. Give one of them another",
        ),
        ("name: compare", "name: select", "line 28: stages[2]: 'select' is already stages[0]."),
        (
            "rule: nucleus",
            "name: epsilon\n    rule: nucleus",
            "line 20: methods[3].name: 'epsilon' is the name of a rule other than nucleus. Choose another",
        ),
        (
            "methods: [eta]",
            "methods: [etaa]",
            "line 25: stages[0].methods[0]: there is no method 'etaa' in this sweep. Did you mean 'eta'?",
        ),
        (
            "kind: measure",
            "kind: measure\n    models: [fakes]",
            "line 28: stages[1].models[0]: there is no model 'fakes' in this sweep. Did you mean 'fake'?",
        ),
        (
            "{method: eta}",
            "{method: ebsilon}",
            "line 16: methods[1].parameter.match.method: there is no method or rule 'ebsilon'. "
            "Did you mean 'epsilon'?",
        ),
        (
            "{method: eta}",
            "{method: min-p}",
            "no method is called 'min-p', so the rule with that name needs a parameter.",
        ),
        (
            "{method: eta}",
            "{method: eta, parameter: 3}",
            "line 16: methods[1].parameter.match.parameter: eta must lie in (0, 1); got 3.0.",
        ),
        (
            "{method: eta}",
            "{method: top-k, parameter: [5, 2.5]}",
            "methods[1].parameter.match.parameter[1]: top-k must be",
        ),
        (
            "{method: eta}",
            "{method: ba-eta}",
            "line 16: methods[1].parameter.match: methods are matched in a cycle, ba-eta -> ba-eta. "
            "Give one of them a parameter.",
        ),
    ],
)
def test_names_must_lead_somewhere(tmp_path: Path, old: str, new: str, expected: str) -> None:
    said = complaint(tmp_path, changed((old, new)))
    assert any(expected in line for line in said), said


def test_a_long_circle_is_told_of_by_its_members_only(tmp_path: Path) -> None:
    text = changed(
        ("{method: eta}", "{method: one}"),
        (
            "stages:",
            "  - {name: one, rule: ba-epsilon, parameter: {match: {method: two}}}\n"
            "  - {name: two, rule: ba-nucleus, parameter: {match: {method: one}}}\nstages:",
        ),
    )
    assert complaint(tmp_path, text) == [
        "sweep.yaml line 22: methods[4].parameter.match: methods are matched in a cycle, one -> two -> one. "
        "Give one of them a parameter.",
        "sweep.yaml line 23: methods[5].parameter.match: methods are matched in a cycle, two -> one -> two. "
        "Give one of them a parameter.",
    ]


def test_the_best_must_be_sought_before_it_is_used(tmp_path: Path) -> None:
    said = complaint(tmp_path, changed(("methods: [eta]", "methods: [nucleus]")))
    assert said == [
        "sweep.yaml line 28: stages[2]: method 'eta' takes its best parameter on validation, but no earlier "
        "stage runs it there for model 'fake'. Put a stage with split: validation first."
    ]


def test_the_best_must_be_sought_for_the_same_model(tmp_path: Path) -> None:
    said = complaint(tmp_path, changed(("methods: [eta]", "methods: [eta]\n    models: [fake]")))
    assert said == [
        "sweep.yaml line 29: stages[2]: method 'eta' takes its best parameter on validation, but no earlier "
        "stage runs it there for model 'fake:v=1000,d=16,seed=1'. Put a stage with split: validation first."
    ]


def test_the_best_of_a_method_that_others_are_matched_to_must_be_sought_too(tmp_path: Path) -> None:
    text = changed(
        ("methods: [eta]", "methods: [nucleus]"), ("split: test", "split: test\n    methods: [ba-eta]")
    )
    said = complaint(tmp_path, text)
    assert said
    assert all("method 'eta' takes its best parameter on validation" in line for line in said)


def test_rates_must_be_measured_before_they_are_used(tmp_path: Path) -> None:
    measure = "  - name: measure  # line 26\n    kind: measure\n"
    said = complaint(tmp_path, changed((measure, ""), ("split: test\n", "split: test\n" + measure)))
    assert said == [
        f"sweep.yaml line 26: stages[1]: method '{method}' needs the rejection rates of model 'fake', but no "
        "earlier stage measures them. Put a stage with kind: measure first."
        for method in ("ba-eta", "epsilon")
    ]


def test_rates_must_be_measured_for_the_same_model(tmp_path: Path) -> None:
    said = complaint(tmp_path, changed(("kind: measure", "kind: measure\n    models: [fake]")))
    assert said
    assert all("rejection rates of model 'fake:v=1000,d=16,seed=1'" in line for line in said)


def test_rates_must_be_measured_for_the_sizes_used(tmp_path: Path) -> None:
    assert complaint(tmp_path, changed(("\n  constraints: [20, 30]", "\n  constraints: 20"))) == [
        "sweep.yaml line 15: methods[1]: its parameter needs rejection rates with 30 constraints, but "
        "measurement.constraints is [20]. Add 30 to it."
    ]


def test_a_model_is_measured_once(tmp_path: Path) -> None:
    text = changed(("split: test", "split: test\n  - name: again\n    kind: measure\n    models: [fake]"))
    assert complaint(tmp_path, text) == [
        "sweep.yaml line 30: stages[3]: stage 'measure' already measures model 'fake'. Remove it from one "
        "of them."
    ]


def test_a_stage_that_generates_needs_methods(tmp_path: Path) -> None:
    text = "name: x\nmodels: [{name: m}]\ncorpus: {name: news}\nstages:\n  - name: compare\n"
    assert complaint(tmp_path, text) == [
        "sweep.yaml line 5: stages[0]: the stage has no methods to run. Add methods to the sweep, or set "
        "kind: measure."
    ]


BEST = "{best: {split: validation, among: [0.001, 0.002]}}"


@pytest.mark.parametrize(
    ("best", "said"),
    [
        (
            "metric: recal",
            "methods[0].parameter.best.metric: a score must be one of mauve, .*; got 'recal'. "
            "Did you mean 'recall'\\? For the score of a plug-in, set `better`, too.",
        ),
        (
            "metric: rejections",
            "methods[0].parameter.best.metric: rejections does not say how good texts are. Set `better`",
        ),
        (
            "metric: mauve, better: human",
            "methods[0].parameter.best.better: human text has no mauve to be close to. Set `better`",
        ),
        (
            "metric: entropy",
            "methods[0].parameter.best.metric: entropy belongs to the statistic 'entropy', which "
            "scoring.statistics leaves out. Add 'entropy' to it.",
        ),
    ],
)
def test_what_a_parameter_is_chosen_by_must_be_a_score(tmp_path: Path, best: str, said: str) -> None:
    text = changed((BEST, BEST.replace("split:", f"{best}, split:")))
    [line] = complaint(tmp_path, text + "scoring: {statistics: [length]}\n")
    assert re.search(said.replace("[0]", r"\[0\]"), line), line


def test_every_score_has_its_own_direction() -> None:
    def direction(text: str) -> Better:
        config = parse_config(yaml.safe_load(changed((BEST, BEST.replace("split:", f"{text}, split:")))))
        [setting] = {i.setting for i in expand(config) if i.stage == "compare" and i.method == "eta"}
        assert isinstance(setting.parameter, BestOf)
        assert Setting.from_dict(setting.as_dict()) == setting
        return setting.parameter.better

    assert direction("metric: recall") is Better.HIGHER
    assert direction("metric: kl-human") is Better.LOWER
    assert direction("metric: perplexity") is Better.HUMAN
    assert direction("metric: perplexity, better: lower") is Better.LOWER
    assert direction("metric: mine, better: higher") is Better.HIGHER
