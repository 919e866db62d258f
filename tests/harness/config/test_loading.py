from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import pytest

from bat.errors import BatError
from harness.config import ConfigError, Problem, SweepConfig, load_config, parse_config
from tests.harness.config.sweeps import SWEEP, changed, complaint


def test_aliases_of_aliases_are_counted(tmp_path: Path) -> None:
    lines = ["name: bomb", "a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]" for before, name in pairwise("abcdefghi")]
    file = tmp_path / "bomb.yaml"
    file.write_text("\n".join(lines))  # nine lines that stand for a billion values
    with pytest.raises(ConfigError, match=r"line \d+: a sweep must have at most 100,000 values; .* Aliases"):
        load_config(file)


def test_a_sweep_is_read_with_where_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(SWEEP, encoding="utf-8")
    loaded = load_config(path, ["generation.seeds=[7]"])
    assert (loaded.path, loaded.text, loaded.overrides) == (str(path), SWEEP, ("generation.seeds=[7]",))
    assert loaded.config.generation.seeds == (7,)
    assert loaded.config.prefixes.count == 5000
    assert loaded.config.methods[0].rule == "eta"


def test_a_sweep_cannot_be_changed_and_can_be_hashed_and_sent(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    config = load_config(tmp_path / "sweep.yaml").config
    with pytest.raises(ValueError, match="frozen"):
        config.name = "other"  # type: ignore[misc]
    assert hash(config) == hash(load_config(tmp_path / "sweep.yaml").config)
    assert pickle.loads(pickle.dumps(config)) == config


UNKNOWN_KEYS = {
    "sweep.yaml line 21: methods[3] has no key 'paramter'. Did you mean 'parameter'?": (
        "parameter: 0.9",
        "paramter: 0.9",
    ),
    "sweep.yaml line 4: models[0] has no key 'lable'. Did you mean 'label'?": ("label:", "lable:"),
    "sweep.yaml line 8: the sweep has no key 'genration'. Did you mean 'generation'?": (
        "generation:",
        "genration:",
    ),
    "sweep.yaml line 14: methods[0].parameter.best has no key 'amung'. Did you mean 'among'?": (
        "among:",
        "amung:",
    ),
    "sweep.yaml line 14: methods[0].parameter has no key 'bests'. Did you mean 'best'?": ("best:", "bests:"),
    "sweep.yaml line 16: methods[1].parameter.match has no key 'rule'. Available: 'method', 'parameter'.": (
        "{method: eta}",
        "{method: eta, rule: 1}",
    ),
    "sweep.yaml line 9: generation has no key 'steeds'. Did you mean 'seeds'?": ("seeds:", "steeds:"),
}


@pytest.mark.parametrize("expected", UNKNOWN_KEYS)
def test_an_unknown_key_is_invalid_with_the_nearest_one(tmp_path: Path, expected: str) -> None:
    assert expected in complaint(tmp_path, changed(UNKNOWN_KEYS[expected]))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "seeds: [0, 1]",
            "seeds: [0, one]",
            "line 9: generation.seeds[1] must be a valid integer; got 'one'.",
        ),
        ("seeds: [0, 1]", "seeds: true", "line 9: generation.seeds must be a valid integer; got True."),
        ("seeds: [0, 1]", "seeds: 1.5", "line 9: generation.seeds must be a valid integer; got 1.5."),
        (
            "seeds: [0, 1]",
            "seeds: -1",
            "line 9: generation.seeds must be greater than or equal to 0; got -1.",
        ),
        ("seeds: [0, 1]", "seeds: []", "line 9: generation.seeds must have at least one entry; got none."),
        (
            "seeds: [0, 1]",
            "seeds: [3, 3]",
            "line 9: generation.seeds: entries must be distinct; got 3 twice.",
        ),
        (
            "label: fake",
            "dtype: bfloat61",
            "line 4: models[0].dtype must be 'float32', 'bfloat16' or 'float16'; got 'bfloat61'. "
            "Did you mean 'bfloat16'?",
        ),
        ("label: fake", "revision: 12", "line 4: models[0].revision must be a valid string; got 12."),
        (
            "corpus:\n  name: news",
            "corpus: news",
            "line 6: corpus must be a mapping with the keys name, revision, ",
        ),
        ("corpus:\n  name: news", "corpus: {}", "line 6: corpus needs the key 'name'."),
        ("name: small\n", "", "sweep.yaml: the sweep needs the key 'name'."),
        ("name: small\n", "name: two words\n", "line 1: name: a name must have letters, digits"),
        ("rule: nucleus", "name: n", "line 20: methods[3] needs the key 'rule'."),
        (
            "rule: nucleus",
            "rule: nuclaus",
            "line 20: methods[3].rule: rule must be one of ancestral, greedy, ",
        ),
        (
            "rule: nucleus",
            "rule: epsilom",
            "got 'epsilom'. Did you mean 'epsilon'?",
        ),
        (
            "parameter: 0.9",
            "parameter: 1.5",
            "line 21: methods[3].parameter: nucleus must lie in (0, 1]; got 1.5.",
        ),
        (
            "among: [0.001, 0.002]",
            "among: [0.001,\n\n     2]",
            "line 16: methods[0].parameter.best.among[1]: eta must lie in (0, 1); got 2.0.",
        ),
        (
            "parameter: 0.9",
            "parameter: [0.9,\n      0]",
            "line 22: methods[3].parameter[1]: nucleus must lie",
        ),
        (
            "parameter: 0.9",
            "parameter: much",
            "line 21: methods[3].parameter must be a valid number; got 'much'.",
        ),
        (
            "parameter: 0.9",
            "parameter: .nan",
            "line 21: methods[3].parameter must be a finite number; got nan.",
        ),
        (
            "parameter: 0.9",
            "parameter:",
            "line 21: methods[3].parameter: nucleus needs a value, which must lie in (0, 1].",
        ),
        (
            "rule: nucleus",
            "rule: greedy",
            "line 21: methods[3].parameter: greedy takes no parameter; got 0.9.",
        ),
        (
            "rule: epsilon ",
            "rule: ancestral ",
            "line 19: methods[2].parameter: ancestral takes no parameter. Write the name alone.",
        ),
        ("hrr: [0.1, 0.25]", "hrr: 25", "line 19: methods[2].parameter.hrr must be less than 1; got 25."),
        (
            "hrr: [0.1, 0.25]",
            "hrr: 0.1, match: {method: eta}",
            "line 19: methods[2].parameter: a parameter takes one of the keys best, match and hrr; got match",
        ),
        ("{hrr: [0.1, 0.25]}", "{}", "takes one of the keys best, match and hrr; got none."),
        (
            "parameter: 0.9",
            "parameter: 0.9\n    constraints: 20",
            "line 22: methods[3].constraints: nucleus is a plain rule and takes no constraints. "
            "Leave them out, or use ba-nucleus.",
        ),
        (
            "rule: ba-eta",
            "rule: top-k",
            "line 16: methods[1].parameter.match: only basis-aware rules are matched to another method; got ",
        ),
        (
            "    constraints: [20, 30]",
            "    constraints: [20, -1]",
            "methods[1].constraints[1] must be greater than or",
        ),
        ("kind: measure", "kind: measured", "line 27: stages[1].kind must be 'measure' or 'generate'; got "),
        (
            "kind: measure",
            "kind: measure\n    split: test",
            "line 28: stages[1].split: A measure stage takes no split. Set measurement.split.",
        ),
        ("kind: measure", "kind: measure\n    methods: [eta]", "line 28: stages[1].methods: A measure stage"),
        ("kind: measure", "kind: measure\n    seeds: 1", "line 28: stages[1].seeds: A measure stage"),
        (
            "name: news",
            "name: news\nresources:\n  workers: many",
            "line 9: resources.workers must be 'auto' or be a valid integer; got 'many'.",
        ),
        ("stages:", "stages: []\nresources:", "line 22: stages must have at least one entry; got none."),
    ],
)
def test_a_wrong_value_is_invalid_with_its_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    said = complaint(tmp_path, changed((old, new)))
    assert any(expected in line for line in said), said
    assert len(said) <= 2, said


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = changed(
        ("label: fake", "lable: fake"), ("seeds: [0, 1]", "seeds: x"), ("parameter: 0.9", "parameter: 7")
    )
    assert [line.partition(":")[0] for line in complaint(tmp_path, text)] == [
        "sweep.yaml line 4",
        "sweep.yaml line 9",
        "sweep.yaml line 21",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "sweep.yaml: the file is empty. A sweep needs at least name, models, corpus and stages."),
        (
            "# nothing\n",
            "sweep.yaml: the file is empty. A sweep needs at least name, models, corpus and stages.",
        ),
        (
            "\n- name: x\n",
            "sweep.yaml line 2: a sweep must be a mapping, such as name: demo; got a list.",
        ),
        ("demo", "sweep.yaml line 1: a sweep must be a mapping, such as name: demo; got 'demo'."),
        (
            "name: a\nmodels: []\nname: b\n",
            "sweep.yaml line 3: the sweep has the key 'name' twice, first at sweep.yaml line 1.",
        ),
        (
            "models:\n  - name: a\n    name: b\n",
            "sweep.yaml line 3: models[0] has the key 'name' twice, first at sweep.yaml line 2.",
        ),
        ("a: [1, 2\nb: 3\n", "sweep.yaml line 2 column 2: invalid YAML: "),
        ("name: x\n\tb: 3\n", "sweep.yaml line 2 column 1: invalid YAML: "),
        ("name: x\n---\nname: y\n", "sweep.yaml line 2 column 1: invalid YAML: "),
        ("name: !!python/name:os.system\n", "sweep.yaml line 1 column 7: invalid YAML: "),
        ("models: !include other\n", "sweep.yaml line 1 column 9: invalid YAML: "),
        (
            "models: !include [other]\n",
            "sweep.yaml line 1: models has the unknown tag '!include'. Remove it.",
        ),
        ("1: x\n", "sweep.yaml line 1: keys of the sweep must be strings; got 1. Quote it."),
        ("[a, b]: x\n", "sweep.yaml line 1: keys of the sweep must be strings; got nothing. Quote it."),
        ("name: &a [*a]\n", "sweep.yaml line 1: name[0] contains itself through an alias. Write it out."),
        ("name: \x01\n", "sweep.yaml: invalid YAML: "),
        ("name: " + "[" * 3000, "sweep.yaml: the YAML is nested too deeply for a sweep."),
    ],
)
def test_a_file_that_is_no_sweep_is_invalid(tmp_path: Path, text: str, expected: str) -> None:
    [said] = complaint(tmp_path, text)
    assert said.startswith(expected)


def test_numbers_and_words_are_those_of_yaml_1_2(tmp_path: Path) -> None:
    text = changed(("parameter: 0.9", "parameter: [1e-3, 9E-1, .5, +0.25]"), ("label: fake", "label: no"))
    text += "description: 2024-01-01\nprefixes: {count: 5_000}\n"
    (tmp_path / "sweep.yaml").write_text(text, encoding="utf-8")
    config = load_config(tmp_path / "sweep.yaml").config
    assert config.methods[3].parameter == (0.001, 0.9, 0.5, 0.25)
    assert (config.models[0].title, config.description, config.prefixes.count) == ("no", "2024-01-01", 5000)


def test_a_list_may_be_written_once_and_used_twice(tmp_path: Path) -> None:
    text = changed(
        ("among: [0.001, 0.002]", "among: &grid [0.001, 0.002]"), ("parameter: 0.9", "parameter: *grid")
    )
    (tmp_path / "sweep.yaml").write_text(text, encoding="utf-8")
    assert load_config(tmp_path / "sweep.yaml").config.methods[3].parameter == (0.001, 0.002)


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "demo.yaml").touch()
    with pytest.raises(ConfigError, match=r"dmeo\.yaml: there is no such file\. Did you mean 'demo\.yaml'\?"):
        load_config(tmp_path / "dmeo.yaml")
    with pytest.raises(
        ConfigError, match=r"this is a folder\. Give a file in it\. Available: 'demo\.yaml'\."
    ):
        load_config(tmp_path)
    with pytest.raises(ConfigError, match=r"there is no such file\.$"):
        load_config(tmp_path / "nowhere" / "demo.yaml")


def test_a_file_in_another_encoding_is_invalid(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes("name: caf\u00e9\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"a sweep must be UTF-8 text; byte 9 is invalid\."):
        load_config(tmp_path / "latin.yaml")


def test_plain_data_is_invalid_without_a_line() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(
            {"name": "x", "models": [{"nam": "y"}], "corpus": {"name": "news"}, "stages": [{"name": "s"}]}
        )
    assert str(caught.value).splitlines() == [
        "models[0] needs the key 'name'.",
        "models[0] has no key 'nam'. Did you mean 'name'?",
    ]
    assert [problem.path for problem in caught.value.problems] == [
        ("models", 0, "name"),
        ("models", 0, "nam"),
    ]


def test_the_error_is_the_projects_own_and_can_be_sent() -> None:
    error = ConfigError([Problem(("name",), "wrong.", "a.yaml line 1")])
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, BatError)
    assert str(again) == str(error) == "a.yaml line 1: wrong."
    assert again.problems == error.problems


def test_the_schema_turns_no_value_into_another_type() -> None:
    with pytest.raises(ConfigError, match="name must be a valid string; got 3"):
        parse_config(
            {"name": 3, "models": [{"name": "m"}], "corpus": {"name": "news"}, "stages": [{"name": "s"}]}
        )
    assert SweepConfig.model_config["extra"] == "forbid"
