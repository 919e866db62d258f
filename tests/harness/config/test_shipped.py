"""The sweeps that come with the project."""

from __future__ import annotations

import json
import re
import typing
from pathlib import Path

import jsonschema
import pytest
import yaml

from bat.acceptance import FALLBACKS
from bat.rules import builtin_rule_names
from bat.solvers import SOLVER_NAMES
from harness.config import expand, load_config, measurements, parse_config, summarize, to_yaml
from harness.config.experiment import Features, Generation, Prefixes
from harness.config.reference import json_schema
from harness.config.schema import SweepConfig
from harness.config.sections import Dtype, Fallback, Split
from harness.scoring.statistics import STATISTIC_NAMES
from tests.harness.config.sweeps import ROOT
from workers import devices, features, prefixes
from workers.corpora import SPLITS
from workers.generation import GenerationSettings

PAPER_SEEDS = 5
# What each expands to: (settings x models x seeds), models measured.
EXPECTED = {
    "demo.yaml": (6, 1),
    "temperature.yaml": (6 * 3, 1),
    "studies/lower-entropy.yaml": (4, 1),
    "studies/constraints.yaml": (4, 1),
    "studies/equal-rates.yaml": (2, 1),
    "studies/equal-rates-news.yaml": (2, 1),
    "studies/full-rank.yaml": (0, 1),
    "studies/full-rank-texts.yaml": (4, 1),
    "studies/rejection-curves.yaml": (0, 1),
    "studies/rejection-curves-news.yaml": (0, 1),
    "studies/rejection-curves-gemma.yaml": (0, 1),
    "smoke.yaml": (2 * (2 + 7) * 2, 2),
    "paper/selection.yaml": (4 * 3 * 5, 0),
    "paper/comparison.yaml": (4 * 3 * 5 + 4 * 5 * PAPER_SEEDS, 4),
    "paper/comparison-chosen.yaml": (4 * 5 * PAPER_SEEDS, 4),
    "paper/lower-entropy.yaml": (4 * 2 * PAPER_SEEDS, 4),
    "paper/eta-sweep.yaml": (2 * 5 * PAPER_SEEDS, 1),
    "paper/constraints.yaml": (3 * PAPER_SEEDS, 1),
    "paper/rejection-curves.yaml": (0, 4),
}
CONFIGS = ROOT / "configs"


def test_every_sweep_is_listed_here_and_in_the_readme() -> None:
    # Files for clusters are no sweeps.
    found = [path for path in CONFIGS.rglob("*.yaml") if path.relative_to(CONFIGS).parts[0] != "cluster"]
    assert {str(path.relative_to(CONFIGS)) for path in found} == set(EXPECTED)
    readme = (CONFIGS / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\S+\.yaml)`", readme, re.MULTILINE)) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_it_expands_to_what_is_expected(name: str) -> None:
    config = load_config(CONFIGS / name).config
    assert (len(expand(config)), len(measurements(config))) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_the_readme_counts_its_texts(name: str) -> None:
    readme = (CONFIGS / "README.md").read_text(encoding="utf-8")
    [told] = re.findall(rf"^\| `{re.escape(name)}` \| .* \| (\S+) \| .* \|$", readme, re.MULTILINE)
    texts = summarize(load_config(CONFIGS / name).config).texts
    assert told == (f"{texts:,}" if texts else "none")


@pytest.mark.parametrize("name", EXPECTED)
def test_it_begins_with_what_it_is_and_the_command(name: str) -> None:
    text = (CONFIGS / name).read_text(encoding="utf-8")
    head = text.partition("\n\n")[0].splitlines()
    assert all(line.startswith("#") for line in head)
    assert f"#     bat-harness run configs/{name}" in head
    [schema] = re.findall(r"\$schema=(\S+)", text)
    assert (CONFIGS / name).parent.joinpath(schema).resolve() == CONFIGS / "sweep.schema.json"


@pytest.mark.parametrize("name", EXPECTED)
def test_it_reads_the_same_written_out(name: str) -> None:
    config = load_config(CONFIGS / name).config
    assert parse_config(yaml.safe_load(to_yaml(config))) == config


@pytest.mark.parametrize("name", EXPECTED)
def test_an_editor_finds_nothing_wrong_with_it(name: str) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(json_schema()))
    data = yaml.safe_load((CONFIGS / name).read_text(encoding="utf-8"))
    assert list(validator.iter_errors(data)) == []
    assert list(validator.iter_errors({**data, "modles": []}))
    assert list(validator.iter_errors({**data, "methods": [{"rule": "eta", "parameter": "much"}]}))


def test_the_demo_fits_into_its_time() -> None:
    """The arithmetic of the file's own comments, at the rates stated there, on two cores."""
    config = load_config(CONFIGS / "demo.yaml").config
    count, tokens = config.prefixes.count, config.generation.max_tokens
    made = len(expand(config)) * count * tokens
    read = (len(expand(config)) + 1) * count * (config.prefixes.tokens + tokens)
    documents = config.measurement.tokens / config.measurement.per_document
    seconds = {
        "measure": documents / 1.5,
        "generate": made / 200,
        "programs": made / 200 / 2 / 6,
        "features": read / 512,
        "score and start": 60,
    }
    assert sum(seconds.values()) < 600, seconds
    assert config.features.max_tokens >= config.prefixes.tokens + tokens


def table_of_the_paper() -> dict[str, dict[str, float]]:
    """The parameters that the paper chose, as the head of selection.yaml has them."""
    text = (CONFIGS / "paper/selection.yaml").read_text(encoding="utf-8")
    rows = re.findall(r"^#     (nucleus|epsilon|eta) +(.*)$", text, re.MULTILINE)
    sizes = ("Small", "Medium", "Large", "XL")
    return {rule: dict(zip(sizes, map(float, values.split()), strict=True)) for rule, values in rows}


def test_the_chosen_parameters_are_among_the_candidates() -> None:
    config = load_config(CONFIGS / "paper/selection.yaml").config
    chosen = table_of_the_paper()
    assert [method.rule for method in config.methods] == ["nucleus", "epsilon", "eta"]
    for method in config.methods:
        candidates = {value for _, value in method.literals()}
        assert len(candidates) == 5
        assert set(chosen[method.rule].values()) <= candidates


def test_the_comparison_runs_each_size_at_its_chosen_parameters() -> None:
    config = load_config(CONFIGS / "paper/comparison-chosen.yaml").config
    chosen = table_of_the_paper()
    for size in ("Small", "Medium", "Large", "XL"):
        found = {str(one.setting) for one in expand(config) if one.model == size}
        eta, epsilon, nucleus = (chosen[rule][size] for rule in ("eta", "epsilon", "nucleus"))
        assert found == {
            f"eta={eta}",
            f"ba-eta rejecting as much as eta={eta} (c=20)",
            f"epsilon={epsilon}",
            f"ba-epsilon rejecting as much as epsilon={epsilon} (c=20)",
            f"nucleus={nucleus}",
        }


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith("paper/")])
def test_the_paper_is_run_at_full_size(name: str) -> None:
    config = load_config(CONFIGS / name).config
    assert (config.prefixes.count, config.prefixes.tokens, config.measurement.tokens) == (5000, 35, 10_000)
    assert config.corpus.name == "openwebtext"
    assert {model.name.partition("-")[0] for model in config.models} == {"openai"}
    if config.methods:
        assert config.features.model == "openai-community/gpt2-large"


def test_sweeps_of_the_paper_share_the_selection() -> None:
    alone = expand(load_config(CONFIGS / "paper/selection.yaml").config)
    whole = expand(load_config(CONFIGS / "paper/comparison.yaml").config)
    assert set(alone) <= set(whole)


def test_names_are_those_that_the_workers_know() -> None:
    assert set(typing.get_args(Split)) == set(SPLITS)
    assert set(typing.get_args(Dtype)) == set(devices.DTYPES)
    assert set(typing.get_args(Fallback)) == set(FALLBACKS)
    sections = SweepConfig.model_json_schema()["$defs"]
    assert sections["Generation"]["properties"]["solver"]["examples"] == list(SOLVER_NAMES)
    assert sections["Scoring"]["properties"]["statistics"]["items"]["examples"] == list(STATISTIC_NAMES)
    assert sections["Method"]["properties"]["rule"]["examples"] == list(builtin_rule_names())


def test_defaults_are_those_of_the_workers() -> None:
    workers = GenerationSettings.__dataclass_fields__
    for key in ("max_tokens", "max_tries", "fallback", "solver", "batch_size"):
        assert getattr(Generation(), key) == workers[key].default
    defaults = Prefixes()
    assert (defaults.count, defaults.tokens) == (prefixes.PAPER_PREFIXES, prefixes.PAPER_PREFIX_TOKENS)
    assert defaults.min_continuation_tokens == prefixes.MIN_CONTINUATION_TOKENS
    assert Generation().max_tokens == prefixes.CONTINUATION_TOKENS
    assert Features().max_tokens == features.DEFAULT_MAX_TOKENS


def test_paths_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CONFIGS)
    assert load_config(Path("demo.yaml")).config == load_config(CONFIGS / "demo.yaml").config


def test_the_json_schema_is_open_to_plugins() -> None:
    sweep = yaml.safe_load((CONFIGS / "smoke.yaml").read_text(encoding="utf-8"))
    sweep["generation"] = {"solver": "mine"}
    sweep["scoring"] = {"statistics": ["length", "mine"]}
    sweep["methods"] = [{"rule": "my_module:MyRule", "parameter": 0.5}]
    jsonschema.validate(sweep, json.loads(json_schema()))
