"""What users may import from ``bat``; a change here is a change for them."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys

import pytest

import bat


def test_public_names_are_pinned() -> None:
    assert sorted(bat.__all__) == [
        "Acceptance",
        "Basis",
        "BatError",
        "CandidateSet",
        "Certificate",
        "CriticalThresholds",
        "Decisions",
        "Explanation",
        "InvalidInputError",
        "Key",
        "Proposals",
        "Rule",
        "Samples",
        "SolverUnavailableError",
        "Status",
        "Temperature",
        "Verdict",
        "candidate_set",
        "critical_thresholds",
        "decide",
        "explain",
        "get_rule",
        "propose",
        "rule_names",
        "sample",
        "settle",
        "softmax",
        "uniforms",
    ]
    for name in bat.__all__:
        assert getattr(bat, name).__module__.startswith("bat.")
        assert name in dir(bat)


def test_an_unknown_name_is_invalid() -> None:
    with pytest.raises(AttributeError, match="module 'bat' has no attribute 'nucleus'"):
        bat.nucleus  # noqa: B018


def test_no_public_name_is_that_of_a_module() -> None:
    modules = {module.name for module in pkgutil.iter_modules(bat.__path__)}
    assert "sampling" in modules
    assert modules.isdisjoint(bat.__all__)


def test_rules_and_errors_wait_for_no_compiler() -> None:
    # In a process of its own, because the tests have imported everything already.
    program = (
        "import sys, bat\n"
        "bat.BatError, bat.Key, bat.Acceptance, bat.get_rule('nucleus', 0.9)\n"
        "heavy = {'numba', 'scipy', 'torch', 'highspy', 'pulp'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_signatures_begin_as_documented() -> None:
    def first(function: object, count: int) -> list[str]:
        return list(inspect.signature(function).parameters)[:count]  # type: ignore[arg-type]

    assert first(bat.Basis.from_matrix, 2) == ["weight", "constraints"]
    assert first(bat.critical_thresholds, 5) == ["basis", "probs", "tokens", "solver", "tolerance"]
    assert first(bat.decide, 4) == ["basis", "probs", "tokens", "thresholds"]
    assert first(bat.candidate_set, 3) == ["basis", "probs", "threshold"]
    assert first(bat.sample, 4) == ["basis", "logits", "rule", "uniforms"]
    assert first(bat.propose, 3) == ["logits", "rule", "uniforms"]
    assert first(bat.settle, 2) == ["basis", "proposals"]
    assert first(bat.explain, 4) == ["basis", "probs", "token", "threshold"]
    assert first(bat.get_rule, 2) == ["name", "parameter"]
    assert inspect.signature(bat.critical_thresholds).parameters["tolerance"].default == 1e-6
    assert inspect.signature(bat.sample).parameters["max_tries"].default == 10
