"""Names of plug-ins: found, listed, recorded, and explained when something is wrong."""

from __future__ import annotations

import hashlib
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bat
from bat import plugins, rules, solvers
from bat.errors import InvalidInputError
from bat.plugins import PluginError
from bat.testing import check_rule, check_solver
from harness.config import ConfigError, expand, parse_config
from harness.scoring import statistics
from tests.harness.driver.sweeps import tiny_sweep
from tests.plugins.installing import EXAMPLE, write_distribution
from workers import corpora
from workers.generation import GenerationSettings
from workers.logits_processor import as_rule
from workers.rejection import default_parameters

GUIDE = Path(__file__).parents[2] / "docs/extending.md"
RULE = """
from bat.rules import Summary, ThresholdRule

class Half(ThresholdRule):
    plain_name = "half"
    rises = True
    example = 0.5

    def thresholds(self, probs):
        rows = Summary.of(probs)
        return rows.capped(self.parameter * rows.maximum / 2)

    @classmethod
    def invert(cls, rows, levels, ties_kept):
        return 2 * levels / rows.maximum
"""


def test_the_guide_shows_the_example_as_it_is(example: Path) -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    assert (EXAMPLE / "pyproject.toml").read_text(encoding="utf-8") in guide
    blocks = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    shown = {path.read_text(encoding="utf-8") for path in (EXAMPLE / "my_sampling").glob("[a-z]*.py")}
    assert shown <= set(blocks)
    for block in set(blocks) - shown:  # the conformance tests
        exec(compile(block, GUIDE.name, "exec"), {})


def test_a_rule_of_a_package_is_like_one_of_ours(example: Path) -> None:
    rule = bat.get_rule("ba-Top_A=0.2")
    assert (str(rule), rule.name, rule.basis_aware) == ("ba-top-a=0.2", "ba-top-a", True)
    assert pickle.loads(pickle.dumps(rule)) == rule == bat.get_rule(str(rule)) == as_rule("ba-top-a=0.2")
    assert {"top-a", "ba-top-a"} <= set(bat.rule_names())
    assert bat.rule_names()[: len(rules.RULES.builtins)] == tuple(rules.RULES.builtins)
    assert "top-a" not in rules.builtin_rule_names()
    # Two spellings of one rule are one rule.
    assert bat.get_rule("my_sampling.rules:TopA", 0.2) == bat.get_rule("top-a", 0.2)
    assert rules.get_rule_form("my_sampling.rules:TopA").name == "top-a"
    assert default_parameters("ba-top-a").tolist() == default_parameters("eta").tolist()
    with pytest.raises(
        InvalidInputError, match=r"top-a must lie in \(0, 1\); got 2.0. Use a number such as 0.2"
    ):
        bat.get_rule("top-a=2")


def test_a_reference_needs_no_package(site: Path) -> None:
    (site / "loose.py").write_text(RULE)
    rule = bat.get_rule("ba-loose:Half=0.5")
    assert str(rule) == "ba-loose:Half=0.5"
    assert bat.get_rule(str(rule)) == rule
    check_rule(type(rule))
    digest = hashlib.sha256((site / "loose.py").read_bytes()).hexdigest()
    assert rules.provenance("ba-loose:Half") == {"module": "loose", "sha256": digest}


def test_what_results_record(example: Path) -> None:
    recorded = {"distribution": "my-sampling", "version": "1.2.0"}
    assert rules.provenance("top-a") == rules.provenance("ba-top-a") == recorded
    assert rules.provenance("my_sampling.rules:TopA") == recorded
    assert solvers.provenance("scipy") == corpora.provenance("reports") == recorded
    assert statistics.provenance("longest-run") == recorded
    (example / "again.py").write_text("from my_sampling.solvers import ScipySolver\n")
    source = example / "my_sampling/solvers.py"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    assert solvers.provenance("my_sampling.solvers:ScipySolver") == {
        "module": "my_sampling.solvers",
        "sha256": digest,
    }
    assert solvers.provenance("again:ScipySolver") == solvers.provenance("my_sampling.solvers:ScipySolver")


def test_our_own_add_nothing(tmp_path: Path) -> None:
    assert [rules.provenance(name) for name in rules.builtin_rule_names()] == [None] * 19
    assert [solvers.provenance(name) for name in solvers.SOLVER_NAMES] == [None] * 3
    assert [statistics.provenance(name) for name in statistics.STATISTIC_NAMES] == [None] * 11
    for name in ("openwebtext", "news", "datasets:someone/texts", str(tmp_path), "texts.jsonl"):
        assert corpora.provenance(name) is None


def test_a_solver_and_a_corpus_of_a_package(example: Path) -> None:
    check_solver(solvers.get_solver("scipy"))
    assert solvers.get_solver("scipy") is solvers.get_solver("scipy")
    assert solvers.solver_names() == ("certified", "highs", "cbc", "scipy")
    assert GenerationSettings(bat.get_rule("greedy"), solver="scipy").solver == "scipy"
    corpus = corpora.open_corpus("reports", split="all")
    assert (corpus.revision, len(list(corpus.documents()))) == ("reports 1", 40)
    assert pickle.loads(pickle.dumps(corpus.source)).revision == "reports 1"
    assert corpora.corpus_names()[-1] == "reports"
    assert len(list(corpora.open_corpus("my_sampling.corpora:Reports", split="all").documents())) == 40
    with pytest.raises(InvalidInputError, match="must be at revision 'x', but what is there is 'reports 1'"):
        corpora.open_corpus("reports", revision="x")


def test_the_example_solver_decides_like_ours(example: Path) -> None:
    generator = np.random.default_rng(0)
    basis = bat.Basis.from_matrix(generator.normal(size=(60, 20)), 6)
    probs = generator.dirichlet(np.full(60, 0.5))
    ours, theirs = (bat.candidate_set(basis, probs, 0.03, solver=name) for name in ("certified", "scipy"))
    assert ours.programs > 0
    assert theirs.exact
    assert theirs.accepted.tolist() == ours.accepted.tolist()


def test_sweeps_take_the_names(example: Path, tmp_path: Path) -> None:
    methods = [
        {"rule": "top-a", "parameter": 0.2},
        {"rule": "ba-top-a", "parameter": {"match": {"method": "top-a"}}, "constraints": 4},
    ]
    sweep = tiny_sweep(tmp_path, methods=methods, generation={"solver": "scipy"})
    found = {str(instance.setting) for instance in expand(sweep)}
    assert found == {"top-a=0.2", "ba-top-a rejecting as much as top-a=0.2 (c=4)"}
    for key, value, sentence in (
        (
            "generation",
            {"solver": "scypi"},
            "solver must be one of certified, highs, cbc, scipy; got 'scypi'",
        ),
        ("scoring", {"statistics": ["longest"]}, "Did you mean 'longest-run'?"),
        ("methods", [{"rule": "top-b", "parameter": 0.2}], "rule must be one of ancestral, greedy"),
        ("methods", [{"rule": "top-a", "parameter": 7}], "top-a must lie in (0, 1); got 7.0."),
    ):
        with pytest.raises(ConfigError, match=re.escape(sentence)):
            parse_config({**sweep.model_dump(mode="json", exclude_unset=True), key: value})


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (
            "raise RuntimeError('no licence')",
            "rule 'broken' of shaky 0.3 cannot be loaded from shaky:Rule: RuntimeError: no licence. Update ",
        ),
        ("", "rule 'broken' of shaky 0.3 cannot be loaded: shaky has no 'Rule'. Check the name."),
        ("Rule = 3", "rule 'broken' of shaky 0.3 must be a subclass of bat.rules.Rule; got 3."),
        (RULE.replace("Half", "Rule"), "whose plain_name is 'half'. Make them equal."),
    ],
)
def test_a_broken_plugin_is_one_sentence_and_ours_still_work(site: Path, module: str, sentence: str) -> None:
    (site / "shaky.py").write_text(module)
    write_distribution(site, "shaky", "0.3", {"bat_harness.rules": {"broken": "shaky:Rule"}})
    with pytest.raises(PluginError, match=re.escape(sentence)):
        bat.get_rule("broken", 0.1)
    assert bat.get_rule("ba-eta", 0.1).keep(np.full((1, 4), 0.25)).all()
    assert "broken" in bat.rule_names()
    with pytest.raises(InvalidInputError, match="rule must be one of ancestral"):
        bat.get_rule("brokn", 0.1)


def test_names_may_not_clash(site: Path) -> None:
    write_distribution(site, "thief", "2.0", {"bat_harness.rules": {"eta": "thief:Eta"}})
    with pytest.raises(
        PluginError, match=r"thief 2.0 has an entry point 'eta' in bat_harness.rules. Rename it"
    ):
        bat.rule_names()
    assert bat.get_rule("eta", 0.1).name == "eta"
    for name in ("one", "two"):
        write_distribution(site, name, "1", {"bat_harness.solvers": {"fast": f"{name}:Fast"}})
    plugins.forget_installed()
    with pytest.raises(PluginError, match=r"(one|two) 1 and (one|two) 1 both have an entry point 'fast'"):
        solvers.get_solver("fast")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "no_such_module:Rule",
            "No module named 'no_such_module'. Install its module on every machine, or put",
        ),
        ("math:pi", "rule 'math:pi' must be a subclass of bat.rules.Rule; got 3.14"),
        ("bat.rules:Rul", "cannot be loaded: bat.rules has no 'Rul'. Did you mean 'Rule'?"),
    ],
)
def test_references_that_lead_nowhere(name: str, sentence: str) -> None:
    with pytest.raises(PluginError, match=re.escape(sentence)):
        bat.get_rule(name, 0.1)
    with pytest.raises(PluginError):
        rules.provenance(name)


def test_solvers_and_corpora_that_do_not_fit(site: Path) -> None:
    (site / "odd.py").write_text(
        "class Needy:\n"
        "    def __init__(self, seed): pass\n"
        "    def prepare(self, rows, probs): pass\n"
        "    def solve(self, program, goal, prepared=None): pass\n"
        "class Bare:\n"
        "    streamed = False\n"
    )
    with pytest.raises(PluginError, match="must be made without arguments"):
        solvers.get_solver("odd:Needy")
    with pytest.raises(PluginError, match="must be a class with the methods prepare and solve"):
        solvers.get_solver("odd:Bare")
    with pytest.raises(PluginError, match="got Bare, which lacks revision, texts, is_broken"):
        corpora.open_corpus("odd:Bare")
    with pytest.raises(InvalidInputError, match="corpus must be one of openwebtext"):
        corpora.open_corpus("reports")


def test_names_of_ours_wait_for_no_entry_points() -> None:
    program = (
        "import sys\n"
        "import bat.plugins\n"
        "def read(group): raise AssertionError('entry points were read')\n"
        "bat.plugins._installed = read\n"
        "from harness.config import load_config\n"
        "load_config('configs/demo.yaml')\n"
        "bat.get_rule('ba-eta=0.1'), bat.rules.builtin_rule_names()\n"
        "heavy = {'numba', 'torch', 'transformers', 'scipy', 'highspy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=root
    )
    assert (done.returncode, done.stderr) == (0, "")
