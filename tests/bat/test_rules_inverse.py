"""A token's critical parameter says the same as trying every parameter, at ties too."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bat.rules import ThresholdRule, get_rule, get_rule_form

RISING = ["epsilon", "eta", "min-p"]
FALLING = ["top-k", "nucleus"]
ROUNDED = {"eta", "min-p"}  # their boundary is a rounded formula: not tested within 1e-12 of it


def critical(name, distribution, levels, token_probs=None):
    """Critical parameters of several tokens of one distribution."""
    probs = np.tile(np.array(distribution, dtype=np.float64), (len(levels), 1))
    return get_rule_form(name).critical_parameter(probs, levels, token_probs)


def parameters_to_try(name, distribution, boundaries):
    """A grid over the interval, every boundary found, and the numbers next to each boundary."""
    base = name.removeprefix("ba-")
    if base == "top-k":
        return list(range(1, len(distribution) + 3))
    exact = [*boundaries, *distribution, *np.cumsum(np.sort(distribution)[::-1])]
    nearby = [np.nextafter(value, side) for value in exact for side in (0.0, 2.0)]
    wider = [value * factor for value in exact for factor in (1 - 1e-9, 1 + 1e-9)]
    candidates = [*np.linspace(0.001, 0.999, 61), *exact, *nearby, *wider]
    inside = [float(value) for value in candidates if 0.0 < value < 1.0]
    return [*inside, 1.0] if base == "nucleus" else inside


def disagreements(name, distribution, levels, token_probs=None):
    """The (level, parameter) pairs where the inverse contradicts the rule used forwards."""
    distribution = np.asarray(distribution, dtype=np.float64)
    levels = np.asarray(levels, dtype=np.float64)
    own = levels if token_probs is None else np.asarray(token_probs, dtype=np.float64)
    found = critical(name, distribution, levels, token_probs)
    assert ((found >= 0) & (found <= (1 if "top-k" not in name else len(distribution)))).all()
    wrong = []
    for parameter in parameters_to_try(name, distribution, found):
        rule = get_rule(name, parameter)
        if isinstance(rule, ThresholdRule):
            tau = rule.thresholds(distribution[None])[0]
            expected = (levels <= tau) & (own < tau) if rule.basis_aware else own < tau
        else:
            kept = rule.keep(distribution[None])[0]
            expected = np.array([not kept[list(distribution).index(level)] for level in levels])
        near = np.zeros(len(levels), dtype=bool)
        if name.removeprefix("ba-") in ROUNDED:
            # Nor where the threshold itself underflows.
            near = (np.abs(found - parameter) <= 1e-12 * parameter) | (parameter < 1e-300)
        differs = (rule.rejects(found, parameter) != expected) & ~near
        wrong += [(level, parameter) for level in levels[differs]]
    return wrong


HAND_MADE = [
    (0.4, 0.3, 0.2, 0.1),
    (0.3, 0.3, 0.2, 0.2),
    (0.25, 0.25, 0.25, 0.25),
    (0.97, 0.01, 0.01, 0.01),
    (0.0, 1.0, 0.0),
    (1.0 - 1e-16, 1e-20, 5e-324, 0.0),
    (0.5, 0.5, 1e-20, 5e-324, 0.0),
    (0.1,) * 10 + (0.0,),
    (0.12,) * 8 + (0.035, 0.005),
    (0.5, 0.2, 0.2, 0.1),
    (1.0,),
]


@pytest.mark.parametrize("name", [*RISING, *FALLING, "typical"])
@pytest.mark.parametrize("distribution", HAND_MADE)
def test_plain_inverse_on_hand_made_distributions(name, distribution):
    assert disagreements(name, distribution, distribution) == []


def thresholds_to_try(distribution):
    """Pairs (tau*, p_i) with tau* on, between and beyond the probabilities, never below p_i."""
    others = [*distribution, *(np.array(distribution) * 1.1), math.nextafter(1.0, 0.0), 1.0]
    return [(max(p, min(t, 1.0)), p) for p in distribution for t in [p, *others]]


@pytest.mark.parametrize("name", ["ba-" + name for name in [*RISING, *FALLING]])
@pytest.mark.parametrize("distribution", HAND_MADE)
def test_basis_aware_inverse_on_hand_made_distributions(name, distribution):
    levels, token_probs = zip(*thresholds_to_try(distribution), strict=True)
    assert disagreements(name, distribution, levels, token_probs) == []


@st.composite
def distributions(draw):
    """Small counts over their sum, so that ties are common, with zeros and a wide range of sizes."""
    counts = draw(st.lists(st.integers(0, 6), min_size=1, max_size=12).filter(any))
    power = draw(st.sampled_from([1, 3, 12]))
    weights = np.array(counts, dtype=np.float64) ** power
    return weights / weights.sum()


@pytest.mark.parametrize("name", [*RISING, *FALLING, "typical"])
@given(distribution=distributions())
@settings(max_examples=40, deadline=None)
def test_plain_inverse_on_any_distribution(name, distribution):
    assert disagreements(name, distribution, distribution) == []


@pytest.mark.parametrize("name", ["ba-" + name for name in [*RISING, *FALLING]])
@given(distribution=distributions(), data=st.data())
@settings(max_examples=40, deadline=None)
def test_basis_aware_inverse_on_any_distribution(name, distribution, data):
    fractions = data.draw(st.lists(st.floats(0, 1), min_size=len(distribution), max_size=len(distribution)))
    between = [p + f * (1 - p) for p, f in zip(distribution, fractions, strict=True)]
    pairs = [*thresholds_to_try(distribution), *zip(between, distribution, strict=True)]
    levels, token_probs = zip(*[(max(t, p), p) for t, p in pairs], strict=True)
    assert disagreements(name, distribution, levels, token_probs) == []


@pytest.mark.parametrize("name", [*RISING, *FALLING])
@given(distribution=distributions())
@settings(max_examples=25, deadline=None)
def test_without_constraints_basis_aware_is_plain(name, distribution):
    plain = critical(name, distribution, distribution)
    aware = critical("ba-" + name, distribution, distribution, distribution)
    for parameter in parameters_to_try(name, distribution, plain):
        np.testing.assert_array_equal(
            get_rule("ba-" + name, parameter).rejects(aware, parameter),
            get_rule(name, parameter).rejects(plain, parameter),
        )


def test_epsilon_by_hand():
    assert critical("epsilon", (0.5, 0.3, 0.2), [0.5, 0.3, 0.2]).tolist() == [1.0, 0.3, 0.2]
    # tau* = 0.4 starts rejecting at 0.4; 0.6 is beyond every threshold of this row.
    assert critical("ba-epsilon", (0.5, 0.3, 0.2), [0.4, 0.5, 0.6]).tolist() == [0.4, 0.5, 1.0]


def test_eta_takes_both_arms():
    # Two equal tokens: exp(H) = 2, so (2 t)^2 > t from t = 1/4 on.
    probs = (0.5, 0.5)
    assert critical("ba-eta", probs, [0.1, 0.25, 0.4]) == pytest.approx([0.1, 0.25, 0.64], rel=1e-14)
    # Beyond what any parameter below one reaches, the answer is "never".
    assert critical("ba-eta", probs, [0.51, 1.0]).tolist() == [1.0, 1.0]
    assert critical("eta", (0.8, 0.2), [0.8]).tolist() == [1.0]


def test_min_p_by_hand():
    assert critical("min-p", (0.5, 0.25, 0.25), [0.5, 0.25]).tolist() == [1.0, 0.5]
    assert critical("ba-min-p", (0.5, 0.25, 0.25), [0.25, 0.375, 0.75]).tolist() == [0.5, 0.75, 1.0]


def test_nucleus_by_hand():
    probs = (0.5, 0.25, 0.125, 0.125)
    assert critical("nucleus", probs, probs).tolist() == [0.0, 0.5, 0.75, 0.75]
    # tau* = 0.3 is rejected once the nucleus ends at the first token; 0.25 already when it ends there.
    assert critical("ba-nucleus", probs, [0.3, 0.25, 0.6, 0.1]).tolist() == [0.5, 0.75, 0.0, 1.0]
    assert critical("nucleus", (1.0, 0.0), [0.0]).tolist() == [1.0]


def test_top_k_by_hand():
    probs = (0.5, 0.25, 0.125, 0.125)
    assert critical("top-k", probs, probs).tolist() == [0, 1, 2, 2]
    assert critical("ba-top-k", probs, [0.3, 0.25, 0.6, 0.1]).tolist() == [1, 2, 0, 4]


def test_typical_by_hand():
    probs = (0.5, 0.2, 0.2, 0.1)  # the two middle tokens are nearest the entropy, then the first
    assert critical("typical", probs, probs) == pytest.approx([0.4, 0.0, 0.0, 0.9], abs=1e-15)


def test_top_h_by_hand():
    probs = (0.5, 0.25, 0.125, 0.125)  # -p log2 p: 0.5, 0.5, 0.375, 0.375; in all 1.75
    assert critical("top-h", probs, probs) == pytest.approx([0.0, 1 / 1.75, 1.375 / 1.75, 1.375 / 1.75])
    # tau* = 0.3 is rejected while the first token ends the set; 0.25 also while the second does.
    expected = [1 / 1.75, 1.375 / 1.75, 0.0, 1.0]
    assert critical("ba-top-h", probs, [0.3, 0.25, 0.6, 0.1]) == pytest.approx(expected)
    assert critical("top-h", (1.0, 0.0), [0.0]).tolist() == [1.0]


def test_top_n_sigma_by_hand():
    probs = (0.64, 0.32, 0.04)  # logarithms: log 16, log 8 and log 1 above that of the last
    sigma = np.std(np.log([16.0, 8.0, 1.0]))
    assert critical("top-n-sigma", probs, probs) == pytest.approx(np.log([1.0, 2.0, 16.0]) / sigma)
    assert critical("ba-top-n-sigma", probs, [0.08, 0.64, 0.9]) == pytest.approx([np.log(8.0) / sigma, 0, 0])
    assert critical("top-n-sigma", (0.5, 0.5, 0.0), [0.5, 0.0]).tolist() == [0.0, math.inf]


def test_rules_without_a_parameter():
    probs = (0.4, 0.4, 0.2, 0.0)
    kept = {"greedy": [False, False, True, True], "p-less": [False, False, True, True]}
    for name, expected in (*kept.items(), ("ancestral", [False] * 4)):
        rule = get_rule(name)
        assert rule.rejects(critical(name, probs, probs), rule.parameter).tolist() == expected


def test_a_whole_curve_comes_from_one_pass():
    probs = np.random.default_rng(3).dirichlet(np.full(30, 0.3), size=200)
    token_probs = probs[:, 4]
    rule_class = get_rule_form("eta")
    grid = np.linspace(0.01, 0.9, 17)
    curve = rule_class.rejects(rule_class.critical_parameter(probs, token_probs)[:, None], grid).mean(axis=0)
    literal = [(token_probs < rule_class(value).thresholds(probs)).mean() for value in grid]
    np.testing.assert_array_equal(curve, literal)
