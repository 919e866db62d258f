"""Temperature: its order, what goes together with which rule, and the distribution of what is sampled."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import chi2

import bat
from bat.lanes import Lane
from bat.proposals import Proposals
from bat.rules import Rule
from bat.temperature import Order, resolve_temperature
from bat.tensor_proposals import TensorDraft
from tests.bat.problems import random_model

CPU = torch.device("cpu")


def numbers(count: int, max_tries: int = 10, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((count, max_tries + 1))


@pytest.mark.parametrize(
    ("rule", "given", "expected"),
    [
        ("eta=0.002", 0.7, (0.7, "first")),
        ("eta=0.002", bat.Temperature(0.7, "last"), (0.7, "last")),
        ("ba-eta=0.02", 1.5, (1.5, "last")),
        ("ancestral", bat.Temperature(2, "last"), (2.0, "first")),  # nothing is truncated: one order
    ],
)
def test_a_rule_has_its_usual_order(rule: str, given: object, expected: tuple[float, str]) -> None:
    heat = resolve_temperature(given, bat.get_rule(rule))  # type: ignore[arg-type]
    assert heat is not None
    assert (heat.value, heat.order) == expected


@pytest.mark.parametrize("given", [None, 1, 1.0, bat.Temperature(1.0, "last"), bat.Temperature(1.0, "first")])
def test_a_temperature_of_one_is_none(given: object) -> None:
    for rule in ("eta=0.002", "greedy", "ancestral"):
        assert resolve_temperature(given, bat.get_rule(rule)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "value", "order", "message"),
    [
        (
            "eta=0.1",
            0,
            None,
            "above 0; got 0, which would leave .* Use the rule greedy instead",
        ),
        ("eta=0.1", 0.0, None, "Use the rule greedy instead"),
        (
            "eta=0.1",
            -0.5,
            None,
            "temperature must be a finite number above 0; got -0.5. Use a",
        ),
        ("eta=0.1", math.nan, None, "above 0; got nan"),
        ("eta=0.1", math.inf, None, "above 0; got inf"),
        ("eta=0.1", "0.7", None, "above 0; got '0.7'"),
        ("eta=0.1", True, None, "above 0; got True"),
        ("eta=0.1", 0.7, "frist", "temperature_order must be one of first, last; got 'frist'. Did you mean"),
        ("ba-eta=0.1", 0.7, "first", "must be last for ba-eta: its constraints hold for the distribution"),
        ("ba-eta=0.1", 1.0, "first", "must be last for ba-eta"),
        ("greedy", 0.7, None, "greedy takes the most likely token at every temperature; got 0.7"),
    ],
)
def test_what_does_not_go_together_is_an_error(rule: str, value: object, order: object, message: str) -> None:
    with pytest.raises(bat.InvalidInputError, match=message):
        bat.propose(
            np.zeros((2, 5)),
            bat.get_rule(rule),
            numbers(2),
            temperature=bat.Temperature(value, order),  # type: ignore[arg-type]
        )


def test_a_temperature_of_one_changes_no_bit() -> None:
    basis, logits = random_model(3, tokens=300, hidden=8, constraints=4, batch=24, scale=1.0)
    for name in ("eta=0.01", "ba-eta=0.1", "typical=0.5"):
        plain, one = (
            bat.sample(basis, logits, bat.get_rule(name), numbers(24), temperature=temperature)
            for temperature in (None, bat.Temperature(1.0, "last"))
        )
        for field in ("tokens", "probs", "thresholds", "acceptance", "rejections"):
            np.testing.assert_array_equal(getattr(plain, field), getattr(one, field))


@pytest.mark.parametrize("name", ["eta=0.05", "nucleus=0.7", "typical=0.6", "top-h=0.5"])
def test_first_is_the_rule_on_divided_logits(name: str) -> None:
    """Which is what transformers' temperature followed by its warper is."""
    logits = np.random.default_rng(4).normal(scale=2.0, size=(40, 300))
    rule, uniforms = bat.get_rule(name), numbers(40)
    ours = bat.propose(logits, rule, uniforms, temperature=0.7)
    divided = bat.propose(logits / 0.7, rule, uniforms)
    np.testing.assert_array_equal(ours.tokens, divided.tokens)
    np.testing.assert_allclose(ours.thresholds, divided.thresholds, rtol=1e-12)
    assert ours.rejected_tokens == divided.rejected_tokens
    own = bat.softmax(logits)[np.arange(40), ours.tokens]
    np.testing.assert_array_equal(ours.probs, own)  # not the flattened one's


@pytest.mark.parametrize("name", ["top-k=7", "top-n-sigma=1.5"])
def test_rules_about_order_or_spread_are_the_same_in_either_order(name: str) -> None:
    logits = np.random.default_rng(4).normal(scale=2.0, size=(200, 50))
    first, last = (
        bat.propose(logits, bat.get_rule(name), numbers(200), temperature=bat.Temperature(1.8, order))
        for order in ("first", "last")
    )
    np.testing.assert_array_equal(first.tokens, last.tokens)


def compiled(logits: np.ndarray, rule: Rule, uniforms: np.ndarray, heat: bat.Temperature) -> Proposals:
    return bat.propose(logits, rule, uniforms, max_tries=uniforms.shape[1] - 1, temperature=heat)


def in_torch(logits: np.ndarray, rule: Rule, uniforms: np.ndarray, heat: bat.Temperature) -> Proposals:
    tensor = torch.from_numpy(logits)
    return TensorDraft(tensor, rule, uniforms, uniforms.shape[1] - 1, Lane(CPU), heat).collect()


# Pearson's statistic is chi-squared with one degree of freedom less than there are accepted tokens, so each
# case fails by luck once in a thousand million.
LUCK = 1e-9
DRAWS = 6_000


@pytest.mark.parametrize("implementation", [compiled, in_torch])
@pytest.mark.parametrize("value", [0.6, 1.8])
@pytest.mark.parametrize(
    ("name", "order", "max_tries", "fallback"),
    [
        ("nucleus=0.8", "last", 10, "greedy"),
        ("nucleus=0.8", "last", 1, "greedy"),  # most rows end with the draw from what is kept
        ("nucleus=0.8", "first", 10, "greedy"),
        ("typical=0.5", "last", 3, "greedy"),
        ("ba-eta=0.3", "last", 12, "greedy"),  # as many tries as tokens: no row falls back
        ("ba-eta=0.3", "last", 1, "exact"),  # and here many do
    ],
)
def test_samples_have_the_flattened_distribution_of_the_accepted_set(
    implementation: object, value: float, name: str, order: Order, max_tries: int, fallback: str
) -> None:
    basis, logits = random_model(8, tokens=12, hidden=4, constraints=2, batch=1, scale=1.0)
    rule, heat = bat.get_rule(name), bat.Temperature(value, order)
    batch = np.repeat(logits, DRAWS, axis=0)
    proposals = implementation(batch, rule, numbers(DRAWS, max_tries), heat)  # type: ignore[operator]
    samples = bat.settle(basis, proposals, fallback=fallback)
    seen = bat.softmax(logits / value) if order == "first" else bat.softmax(logits)
    if rule.basis_aware:
        tau = rule.thresholds(seen)[0]  # type: ignore[attr-defined]
        accepted = bat.candidate_set(basis, seen, tau).mask()
        assert accepted.sum() > (seen[0] >= tau).sum()  # the program decides about some
    else:
        accepted = rule.keep(seen)[0]
    assert 1 < accepted.sum() < 12
    expected = np.where(accepted, bat.softmax(logits / value)[0], 0.0)
    expected /= expected.sum()
    assert DRAWS * expected[accepted].min() > 5.0  # enough for the statistic to be chi-squared
    counts = np.bincount(samples.tokens, minlength=12)
    assert counts[~accepted].sum() == 0
    statistic = ((counts - DRAWS * expected)[accepted] ** 2 / (DRAWS * expected[accepted])).sum()
    assert statistic < chi2.isf(LUCK, accepted.sum() - 1)
    own = bat.softmax(logits)[0]
    np.testing.assert_allclose(samples.probs, own[samples.tokens], rtol=1e-12)


def test_extreme_temperatures_stay_finite() -> None:
    logits = np.array([[3.0, 2.0, -1000.0, -math.inf], [0.0, 0.0, 0.0, 0.0]])
    for value in (1e-320, 1e-3, 1e3, 1e300):
        for order in ("first", "last"):
            heat = bat.Temperature(value, order)
            ours, theirs = (
                implementation(logits, bat.get_rule("min-p=0.01"), numbers(2), heat)
                for implementation in (compiled, in_torch)
            )
            assert ours.tokens.tolist() == theirs.tokens.tolist()
            if order == "last":
                assert ours.tokens[0] in (0, 1)  # the others are impossible, however hot it is
