"""A few stored numbers invert every rule as well as the whole distribution does, and never guess."""

from __future__ import annotations

import numpy as np
import pytest

from bat.errors import InvalidInputError
from bat.rules import Summary, TokenFacts, get_rule_form, rule_names
from bat.validation import softmax


def distributions() -> np.ndarray:
    """Of few distinct probabilities, so that tokens tie with each other and with thresholds."""
    return softmax(np.round(np.random.default_rng(1).normal(size=(200, 30))))


@pytest.mark.parametrize("name", [name for name in rule_names() if not get_rule_form(name).basis_aware])
def test_stored_facts_invert_plain_rules_bit_for_bit(name: str) -> None:
    probs = distributions()
    own = probs[np.arange(200), np.arange(200) % 30]
    rule = get_rule_form(name)
    facts = TokenFacts.of(Summary(probs), own)
    expected = rule.critical_parameter(probs, own)
    np.testing.assert_array_equal(rule.critical_parameter(facts, own), expected)


def test_stored_facts_answer_for_thresholds_that_tie_with_probabilities() -> None:
    generator = np.random.default_rng(3)
    probs = distributions()
    own, other = (probs[np.arange(200), generator.integers(30, size=200)] for _ in range(2))
    critical = np.maximum(own, other)
    critical[::9] = 1.0
    facts = TokenFacts.of(Summary(probs), critical, own)
    assert 0 < facts.ties_kept.sum() < 200
    for name in rule_names():
        rule = get_rule_form(name)
        if rule.basis_aware:
            expected = rule.critical_parameter(probs, critical, own)
            np.testing.assert_array_equal(rule.critical_parameter(facts, critical, own), expected)


def test_stored_facts_leave_open_questions_they_cannot_answer() -> None:
    probs = distributions()
    own = probs[:, 3].copy()
    facts = TokenFacts.of(Summary(probs), own)
    with pytest.raises(InvalidInputError, match="in row 0; got"):
        get_rule_form("nucleus").critical_parameter(facts, own * 0.9)
    with pytest.raises(InvalidInputError, match="only about the level"):
        get_rule_form("ba-top-k").critical_parameter(facts, own)  # another convention at ties
    bare = TokenFacts.of(Summary(probs), own, extra=())
    for name, fact in (("top-h", "entropy_share"), ("top-n-sigma", "deviation"), ("p-less", "collision")):
        with pytest.raises(InvalidInputError, match=f"measured with the fact '{fact}' .* Measure it again"):
            get_rule_form(name).critical_parameter(bare, own)
    with pytest.raises(InvalidInputError, match="these are about critical thresholds"):
        get_rule_form("typical").critical_parameter(TokenFacts.of(Summary(probs), own, own), own)
