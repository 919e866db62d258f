"""Temperature in a sweep: settings, their labels and identities, and what is invalid."""

from __future__ import annotations

from pathlib import Path

import pytest

import bat
from harness.config import AtRate, EqualRate, Resolved, Setting, expand, load_config
from harness.config.canonical import run_identity
from harness.report.names import setting_name
from tests.harness.config.sweeps import changed, complaint
from tests.harness.jobs import specs
from tests.harness.report.made_results import sweep

LIST = "temperature: [0.7, 1, 1.5]"


def settings(folder: Path, text: str, rule: str) -> list[Setting]:
    (folder / "sweep.yaml").write_text(text, encoding="utf-8")
    config = load_config(folder / "sweep.yaml").config
    found = [one.setting for one in expand(config) if one.stage == "compare" and one.setting.rule == rule]
    return list(dict.fromkeys(found))


def test_a_list_is_a_setting_each(tmp_path: Path) -> None:
    text = changed(("    parameter: 0.9\n", f"    parameter: 0.9\n    {LIST}\n"))
    found = settings(tmp_path, text, "nucleus")
    assert found == [
        Setting("nucleus", Resolved(0.9), None, bat.Temperature(0.7, "first")),
        Setting("nucleus", Resolved(0.9)),  # 1 is what it is without
        Setting("nucleus", Resolved(0.9), None, bat.Temperature(1.5, "first")),
    ]
    assert [str(one) for one in found] == ["nucleus=0.9 (T=0.7)", "nucleus=0.9", "nucleus=0.9 (T=1.5)"]
    assert [Setting.from_dict(one.as_dict()) for one in found] == found
    assert "temperature" not in found[1].as_dict()


def test_a_matched_method_has_the_temperature_of_its_reference(tmp_path: Path) -> None:
    text = changed(
        (
            "{best: {split: validation, among: [0.001, 0.002]}}",
            f"0.002\n    {LIST}\n    temperature_order: last",
        ),
        ("    constraints: [20, 30]\n  - rule: eps", f"    {LIST}\n  - rule: eps"),
        ("  - name: select  # line 23\n    split: validation\n    methods: [eta]\n", ""),
    )
    found = settings(tmp_path, text, "ba-eta")
    heats = [bat.Temperature(0.7, "last"), None, bat.Temperature(1.5, "last")]
    references = [Setting("eta", Resolved(0.002), None, heat) for heat in heats]
    assert found == [
        Setting("ba-eta", EqualRate(reference), 20, heat)
        for reference, heat in zip(references, heats, strict=True)
    ]
    assert str(found[0]) == "ba-eta rejecting as much as eta=0.002 (T=0.7 last) (c=20, T=0.7)"
    # A reference without these temperatures counts once: with temperature last, the rate is the same.
    alone = text.replace(f"0.002\n    {LIST}\n    temperature_order: last", "0.002")
    found = settings(tmp_path, alone, "ba-eta")
    assert [one.temperature for one in found] == heats
    assert {one.parameter for one in found} == {EqualRate(Setting("eta", Resolved(0.002)))}


def test_a_rate_is_reached_at_every_temperature_that_comes_last(tmp_path: Path) -> None:
    text = changed(("{hrr: [0.1, 0.25]}", "{hrr: 0.1}\n    temperature: 0.7\n    temperature_order: last"))
    expected = Setting("epsilon", AtRate(0.1), None, bat.Temperature(0.7, "last"))
    assert settings(tmp_path, text, "epsilon") == [expected]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "0.9\n",
            "0.9\n    temperature: 0\n",
            "methods[3].temperature: temperature must be a finite number above",
        ),
        (
            "0.9\n",
            "0.9\n    temperature: 0\n",
            "got 0.0, which would leave the most likely token alone. Use the r",
        ),
        (
            "0.9\n",
            "0.9\n    temperature: [1, -2]\n",
            "methods[3].temperature[1]: temperature must be a finite",
        ),
        ("0.9\n", "0.9\n    temperature: .nan\n", "methods[3].temperature must be a finite number; got nan."),
        ("0.9\n", "0.9\n    temperature: hot\n", "methods[3].temperature must be a valid number; got 'hot'."),
        ("0.9\n", "0.9\n    temperature: []\n", "methods[3].temperature must have at least one entry"),
        ("0.9\n", "0.9\n    temperature_order: frist\n", "temperature_order must be 'first' or 'last'; got"),
        (
            "constraints: [20, 30]\n  - rule: eps",
            "temperature: 0.7\n    temperature_order: first\n  - rule: eps",
            "methods[1].temperature_order: temperature_order must be last for ba-eta: its constraints hold",
        ),
        (
            "{hrr: [0.1, 0.25]}",
            "{hrr: 0.1}\n    temperature: 0.7",
            "methods[2].temperature: rejection rates are those of the model's own distribution, but at "
            "temperature 0.7 'epsilon' rejects by a flattened one. Set temperature_order: last, or give",
        ),
        (
            "among: [0.001, 0.002]}}",
            "among: [0.001, 0.002]}}\n    temperature: 0.7",
            "methods[1].parameter.match.method: rejection rates are those of the model's own distribution",
        ),
        (
            "rule: nucleus  # line 20\n    parameter: 0.9",
            "rule: greedy\n    temperature: 0.5",
            "methods[3].temperature: greedy takes the most likely token at every temperature; got 0.5.",
        ),
        (
            "rule: nucleus",
            "rule: ba-typical",
            "methods[3].rule: typical has no basis-aware form. Use typical",
        ),
    ],
)
def test_one_sentence_says_what_is_invalid(tmp_path: Path, old: str, new: str, expected: str) -> None:
    problems = [line for line in complaint(tmp_path, changed((old, new))) if ": " in line]
    assert any(expected in line for line in problems), problems


def test_a_temperature_other_than_one_is_another_job() -> None:
    plain, hot, last = (
        specs.generate(temperature=value, temperature_order=order)
        for value, order in ((None, None), (0.7, "first"), (0.7, "last"))
    )
    assert "temperature" not in plain.job.spec
    assert len({plain.id, hot.id, last.id}) == 3
    assert (hot.labels.temperature, hot.labels.temperature_order) == (0.7, "first")
    assert "eta=0.002 at temperature 0.7 (last)" in last.describe()
    assert specs.Generate.parse(hot.job.spec) == hot


def test_older_runs_keep_their_identity() -> None:
    assert all("temperature" not in method for method in run_identity(sweep())["methods"])


def test_human_text_is_measured_with_what_the_rules_ask() -> None:
    from harness.jobs import MeasureHumanText
    from harness.jobs.parts import HumanText

    def planned(*methods: dict[str, object]) -> MeasureHumanText:
        text = HumanText((_document(),), {}, specs.CORPUS)
        [job] = MeasureHumanText.plan(sweep(methods=list(methods)), specs.MODEL, text)
        return job

    usual = planned({"rule": "eta", "parameter": 0.002})
    assert usual.extra_facts is None
    assert "extra_facts" not in usual.job.spec
    more = planned(
        {"rule": "p-less"}, {"rule": "ba-top-h", "parameter": 0.4}, {"rule": "eta", "parameter": 0.1}
    )
    assert more.extra_facts == ("collision", "entropy_share")
    assert MeasureHumanText.parse(more.job.spec) == more


def _document() -> object:
    from workers.positions import TokenizedDocument

    return TokenizedDocument("d", [1, 2, 3])  # type: ignore[arg-type]


def test_names_tell_temperatures_apart() -> None:
    assert setting_name("eta", "eta", 0.002, None, 0.7, "first") == "eta=0.002 (T=0.7)"
    assert setting_name("eta", "eta", 0.002, None, 0.7, "last") == "eta=0.002 (T=0.7 last)"
    assert setting_name("ba-eta", "ba-eta", 0.0153, 20, 1.5, "last") == "ba-eta=0.0153 (c=20, T=1.5)"
    assert setting_name("tight", "ba-eta", 0.0153, 20, 1.5, "last") == "tight (ba-eta=0.0153, c=20, T=1.5)"
    assert setting_name("eta", "eta", 0.002, None) == "eta=0.002"
