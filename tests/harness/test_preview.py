from __future__ import annotations

import numpy as np
import pytest

from bat.basis import Basis
from bat.errors import InvalidInputError
from bat.rules import get_rule_class
from harness import preview
from harness.preview import CriticalParameters, critical_parameters, match, run_preview
from workers.assets import LanguageModel


@pytest.mark.parametrize("rule", ["epsilon", "eta", "nucleus"])
@pytest.mark.parametrize("quantile", [0.0, 0.1, 0.35, 0.8])
def test_matching_reaches_the_same_rate_when_it_can(rule: str, quantile: float) -> None:
    generator = np.random.default_rng(3)
    critical = CriticalParameters(plain=generator.random(40), basis_aware=generator.random(40) ** 2)
    parameter = float(np.quantile(critical.plain, quantile))
    row = match(rule, parameter, critical)
    assert row.rejection_rate == pytest.approx(
        np.mean(get_rule_class(rule).rejects(critical.plain, parameter))
    )
    # Distinct critical parameters: every number of rejections from none to all can be had.
    assert row.matched_rejection_rate == pytest.approx(row.rejection_rate)
    assert 0.0 < row.matched_parameter <= 1.0
    again = get_rule_class(f"ba-{rule}").rejects(critical.basis_aware, row.matched_parameter)
    assert row.matched_rejection_rate == pytest.approx(np.mean(again))


def test_matching_takes_the_nearest_rate_when_ties_forbid_the_same() -> None:
    critical = CriticalParameters(
        plain=np.array([0.1, 0.2, 0.3, 0.4]), basis_aware=np.array([0.5, 0.5, 0.5, 1.0])
    )
    # The plain rule rejects one in four; the basis-aware one can reject none or three in four.
    row = match("epsilon", 0.15, critical)
    assert row.rejection_rate == 0.25
    assert row.matched_rejection_rate == 0.0
    assert row.matched_parameter < 0.5


def test_tokens_that_no_threshold_rejects_can_still_be_matched() -> None:
    critical = CriticalParameters(plain=np.array([0.1, 0.2]), basis_aware=np.array([1.0, 1.0]))
    row = match("eta", 0.15, critical)
    assert row.matched_rejection_rate == 0.0
    assert 0.0 < row.matched_parameter < 1.0


@pytest.fixture
def measured() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An output matrix, logits and tokens, small enough to solve at once and more than two batches."""
    generator = np.random.default_rng(4)
    weight = generator.normal(size=(11, 4))
    logits = generator.normal(scale=2.0, size=(37, 11)).astype(np.float32)
    return weight, logits, generator.integers(11, size=37)


def test_without_constraints_the_basis_aware_rules_are_the_plain_ones(measured) -> None:
    weight, logits, tokens = measured
    told: list[int] = []
    found = critical_parameters(Basis.from_matrix(weight, constraints=0), logits, tokens, told.append)
    assert set(found) == {"eta", "epsilon", "nucleus"}
    for rule, critical in found.items():
        np.testing.assert_allclose(critical.basis_aware, critical.plain, rtol=1e-5, err_msg=rule)
    assert told == [16, 32, 37]


def test_plain_critical_parameters_are_those_of_the_definition(measured) -> None:
    weight, logits, tokens = measured
    found = critical_parameters(Basis.from_matrix(weight, 2), logits, tokens, lambda done: None)
    for row, token in enumerate(tokens):
        exact = np.exp(logits[row].astype(np.float64))
        exact /= exact.sum()
        own, entropy = exact[token], -np.sum(exact * np.log(exact))
        likeliest = own == exact.max()
        # 1 means "never" for epsilon and eta, which always keep the most likely token.
        assert found["epsilon"].plain[row] == pytest.approx(1.0 if likeliest else own)
        eta = max(own, (own * np.exp(entropy)) ** 2)
        assert found["eta"].plain[row] == pytest.approx(1.0 if likeliest else min(eta, 1.0))
        assert found["nucleus"].plain[row] == pytest.approx(exact[exact > own].sum())


def test_constraints_only_ever_help_a_token(measured) -> None:
    weight, logits, tokens = measured
    found = critical_parameters(Basis.from_matrix(weight, 2), logits, tokens, lambda done: None)
    for rule in ("epsilon", "eta"):
        gain = found[rule].basis_aware - found[rule].plain
        assert gain.min() >= -1e-12
        assert gain.max() > 0.01
    loss = found["nucleus"].plain - found["nucleus"].basis_aware
    assert loss.min() >= -1e-12
    assert loss.max() > 0.01


def test_the_count_must_be_positive() -> None:
    with pytest.raises(InvalidInputError, match="at least 1; got 0"):
        run_preview(0, 0, lambda title, total: lambda done: None)


@pytest.mark.model
def test_the_preview_matches_rates_on_the_demo_model(
    demo_model: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "load_demo_model", lambda: demo_model)
    rows = run_preview(24, 0, lambda title, total: lambda done: None)
    assert [(row.rule, row.parameter) for row in rows] == [
        (rule, parameter) for rule, values in preview.PAPER_CHOICES.items() for parameter in values
    ]
    for row in rows:
        assert abs(row.matched_rejection_rate - row.rejection_rate) <= 1.5 / 24
    # A larger parameter rejects more, and matching keeps that order.
    by_rule = {rule: [row for row in rows if row.rule == rule] for rule in ("eta", "epsilon")}
    for matched in by_rule.values():
        rates = [row.rejection_rate for row in matched]
        assert rates == sorted(rates)
        parameters = [row.matched_parameter for row in matched]
        assert parameters == sorted(parameters)
