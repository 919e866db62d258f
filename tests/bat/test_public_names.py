"""What users may import from ``bat``; a change here is a change for them."""

from __future__ import annotations

import inspect

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
        "Rule",
        "Samples",
        "SolverUnavailableError",
        "Status",
        "Verdict",
        "candidate_set",
        "critical_thresholds",
        "decide",
        "explain",
        "get_rule",
        "rule_names",
        "sample",
        "softmax",
        "uniforms",
    ]
    for name in bat.__all__:
        assert hasattr(bat, name)


def test_signatures_begin_as_documented() -> None:
    def first(function: object, count: int) -> list[str]:
        return list(inspect.signature(function).parameters)[:count]  # type: ignore[arg-type]

    assert first(bat.Basis.from_matrix, 2) == ["weight", "constraints"]
    assert first(bat.critical_thresholds, 5) == ["basis", "probs", "tokens", "solver", "tolerance"]
    assert first(bat.decide, 4) == ["basis", "probs", "tokens", "thresholds"]
    assert first(bat.candidate_set, 3) == ["basis", "probs", "threshold"]
    assert first(bat.sample, 4) == ["basis", "logits", "rule", "uniforms"]
    assert first(bat.explain, 4) == ["basis", "probs", "token", "threshold"]
    assert first(bat.get_rule, 2) == ["name", "parameter"]
    assert inspect.signature(bat.critical_thresholds).parameters["tolerance"].default == 1e-6
    assert inspect.signature(bat.sample).parameters["max_tries"].default == 10
