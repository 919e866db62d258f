"""What each rule keeps of hand-made distributions, its parameter's interval, and its name."""

import math
import pickle

import numpy as np
import pytest

from bat.errors import InvalidInputError
from bat.rules import Summary, ThresholdRule, get_rule, get_rule_form, rule_names
from bat.validation import softmax

EXAMPLES = {
    "ancestral": None,
    "greedy": None,
    "top-k": 3,
    "nucleus": 0.9,
    "min-p": 0.1,
    "typical": 0.9,
    "epsilon": 0.05,
    "eta": 0.1,
    "top-n-sigma": 1.0,
    "top-h": 0.4,
    "p-less": None,
    "ba-epsilon": 0.05,
    "ba-eta": 0.1,
    "ba-nucleus": 0.9,
    "ba-top-k": 3,
    "ba-min-p": 0.1,
    "ba-top-n-sigma": 1.0,
    "ba-top-h": 0.4,
    "ba-p-less": None,
}
THRESHOLD_RULES = [name for name in EXAMPLES if name != "typical"]
BASIS_AWARE = [name for name in EXAMPLES if name.startswith("ba-")]


def rows(*distributions):
    return np.array(distributions, dtype=np.float64)


def kept(rule, *distribution):
    return np.flatnonzero(get_rule(rule).keep(rows(distribution))[0]).tolist()


def threshold(rule, *distribution):
    made = get_rule(rule)
    assert isinstance(made, ThresholdRule)
    return made.thresholds(rows(distribution))[0]


def test_the_names_are_pinned():
    assert set(rule_names()) == set(EXAMPLES)
    assert len(rule_names()) == len(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_survives_text_and_pickle(name):
    rule = get_rule(name, EXAMPLES[name])
    assert rule.name == name
    assert rule.basis_aware == name.startswith("ba-")
    assert get_rule(str(rule)) == rule
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert get_rule_form(name) == rule.form
    with pytest.raises(AttributeError):
        rule.parameter = 0.5


def test_text_keeps_every_digit():
    value = 0.1 + 0.2
    assert get_rule(str(get_rule("eta", value))).parameter == value
    assert str(get_rule("ba-eta", 0.024)) == "ba-eta=0.024"
    assert str(get_rule("top-k", 40.0)) == "top-k=40"
    assert str(get_rule("greedy")) == "greedy"


@pytest.mark.parametrize("spelling", ["top-p", "Nucleus", " nucleus ", "top_p"])
def test_aliases(spelling):
    assert get_rule(spelling, 0.9) == get_rule("nucleus", 0.9)
    assert get_rule("ba-" + spelling.strip(), 0.9) == get_rule("ba-nucleus", 0.9)


def test_different_rules_differ_though_their_parameters_agree():
    assert get_rule("eta", 0.1) != get_rule("ba-eta", 0.1)
    assert get_rule("eta", 0.1) != get_rule("eta", 0.2)


@pytest.mark.parametrize(
    ("name", "parameter", "message"),
    [
        ("epsilon", 1.5, r"epsilon must lie in \(0, 1\); got 1.5. Use a probability such as 0.0006."),
        ("epsilon", 0.0, r"\(0, 1\)"),
        ("eta", 1.0, r"\(0, 1\)"),
        ("eta", math.nan, r"got nan"),
        ("eta", None, r"eta needs a value, which must lie in \(0, 1\)"),
        ("min-p", -0.1, r"\(0, 1\)"),
        ("min-p", True, r"got True"),
        ("typical", 1.0, r"\(0, 1\)"),
        ("nucleus", 0.0, r"\(0, 1\]"),
        ("nucleus", 1.0000001, r"\(0, 1\]"),
        ("top-k", 0, "integer of at least 1; got 0"),
        ("top-k", 2.5, "integer of at least 1; got 2.5"),
        ("top-k", math.inf, "integer of at least 1"),
        ("ba-top-k", "7", "got '7'"),
        ("greedy", 1, "greedy takes no parameter; got 1. Write the name alone."),
        ("ancestral=0.5", None, "ancestral takes no parameter"),
        ("eta=lots", None, "got 'lots'"),
        ("eta=", None, "got ''"),
        ("eta=0.1", 0.2, "one parameter"),
        ("ba-eeta", 0.1, "Did you mean 'ba-eta'?"),
        ("top-h", 0, r"top-h must lie in \(0, 1\]; got 0. Use a share such as 0.4."),
        ("top-n-sigma", -1, r"must lie in \(0, 1000\); got -1. Use a number of standard deviations"),
        ("top-n-sigma", math.inf, r"\(0, 1000\); got inf"),
        ("p-less", 0.1, "p-less takes no parameter; got 0.1. Write the name alone."),
        ("ba-typical=0.9", None, "typical has no basis-aware form. Use typical, or one of ba-top-k, ba-nucl"),
        ("ba-greedy", None, "greedy has no basis-aware form. Use greedy"),
        ("beam", 4, "rule must be one of ancestral, greedy"),
        (7, None, "must be a string; got 7"),
    ],
)
def test_bad_names_and_parameters_are_invalid(name, parameter, message):
    with pytest.raises(InvalidInputError, match=message):
        get_rule(name, parameter)


def test_epsilon_takes_both_arms():
    assert threshold("epsilon=0.15", 0.5, 0.3, 0.15, 0.05) == 0.15
    assert kept("epsilon=0.15", 0.5, 0.3, 0.15, 0.05) == [0, 1, 2]  # the tie is kept
    # Above every probability the most likely token remains.
    assert threshold("epsilon=0.6", 0.5, 0.3, 0.2) == 0.5
    assert kept("epsilon=0.6", 0.2, 0.5, 0.3) == [1]
    assert kept("epsilon=0.6", 0.4, 0.4, 0.2) == [0, 1]


def test_eta_takes_both_arms():
    # Certain: exp(-entropy) > sqrt(eta), so eta itself is the smaller.
    certain = (0.97, 0.01, 0.01, 0.01)
    entropy = -sum(p * math.log(p) for p in certain)
    assert math.exp(-entropy) > math.sqrt(0.04)
    assert threshold("eta=0.04", *certain) == 0.04
    assert kept("eta=0.04", *certain) == [0]
    # Unsure: eight equal tokens, exp(-entropy) = 1/8 < sqrt(0.04) = 0.2.
    flat = (0.125,) * 8
    assert threshold("eta=0.04", *flat) == pytest.approx(0.2 / 8, rel=1e-14)
    assert kept("eta=0.04", *flat) == list(range(8))
    # eta alone would reject the last token of this one; the entropy arm keeps it.
    unsure = (0.12,) * 8 + (0.035, 0.005)
    assert threshold("eta=0.04", *unsure) < 0.035 < 0.04
    assert kept("eta=0.04", *unsure) == list(range(9))


def test_eta_of_a_certain_row_and_of_a_nearly_full_parameter():
    assert threshold("eta=0.3", 1.0, 0.0, 0.0) == 0.3
    assert kept("eta=0.3", 0.0, 1.0, 0.0) == [1]
    # exp(-entropy) of equal tokens may round above 1/v: the most likely tokens stay all the same.
    largest = math.nextafter(1.0, 0.0)
    for size in range(1, 60):
        assert kept(f"eta={largest!r}", *([1 / size] * size)) == list(range(size))


def test_min_p():
    assert threshold("min-p=0.5", 0.4, 0.3, 0.2, 0.1) == 0.2
    assert kept("min-p=0.5", 0.4, 0.3, 0.2, 0.1) == [0, 1, 2]
    assert kept("min-p=0.5", 0.0, 1.0) == [1]


def test_nucleus():
    assert threshold("nucleus=0.7", 0.25, 0.5, 0.125, 0.125) == 0.25
    assert kept("nucleus=0.75", 0.25, 0.5, 0.125, 0.125) == [0, 1]  # reaching is enough
    assert kept("nucleus=0.76", 0.25, 0.5, 0.125, 0.125) == [0, 1, 2, 3]  # the tie is kept whole
    assert kept("nucleus=0.000001", 0.25, 0.5, 0.125, 0.125) == [1]


def test_a_nucleus_of_one_keeps_what_is_possible_and_nothing_else():
    assert kept("nucleus=1", 0.5, 0.0, 0.5) == [0, 2]
    # Running sums reach 1.0 in float64 before this tail begins ...
    assert kept("nucleus=1", 0.5, 0.5, 1e-20, 5e-324, 0.0) == [0, 1, 2, 3]
    assert kept("nucleus=0.9999999999999999", 0.5, 0.5, 1e-20, 5e-324, 0.0) == [0, 1]
    # ... and ten tenths never do.
    assert sum([0.1] * 10) < 1
    assert kept(f"nucleus={math.nextafter(1.0, 0.0)!r}", *([0.1] * 10), 0.0) == list(range(10))
    assert kept("nucleus=1", *([0.1] * 10), 0.0) == list(range(10))


def test_top_k():
    assert threshold("top-k=2", 0.2, 0.5, 0.3) == 0.3
    assert kept("top-k=2", 0.2, 0.5, 0.3) == [1, 2]
    assert kept("top-k=2", 0.25, 0.5, 0.25) == [0, 1, 2]  # both second tokens
    assert kept("top-k=9", 0.2, 0.5, 0.3) == [0, 1, 2]
    assert threshold("top-k=1", 0.0, 1.0) < 1.0


def test_greedy_keeps_exactly_one():
    assert kept("greedy", 0.2, 0.5, 0.3) == [1]
    assert kept("greedy", 0.2, 0.4, 0.4) == [1]
    assert threshold("greedy", 0.2, 0.4, 0.4) == 0.4


def test_ancestral_keeps_everything():
    assert kept("ancestral", 0.2, 0.8, 0.0) == [0, 1, 2]
    assert threshold("ancestral", 0.2, 0.8, 0.0) == 0.0


def test_typical_keeps_the_nearest_to_the_entropy():
    # Entropy 1.2206 nats; surprisals 0.6931, 1.6094, 1.6094, 2.3026; distances 0.53, 0.39, 0.39, 1.08.
    distribution = (0.5, 0.2, 0.2, 0.1)
    assert kept("typical=0.1", *distribution) == [1, 2]  # equally near, and the likeliest token is not in it
    assert kept("typical=0.4", *distribution) == [1, 2]
    assert kept("typical=0.41", *distribution) == [0, 1, 2]
    assert kept("typical=0.95", *distribution) == [0, 1, 2, 3]
    assert kept("typical=0.5", 0.0, 1.0, 0.0) == [1]
    assert kept("typical=0.9999999999999999", *([0.1] * 10), 0.0) == list(range(10))
    assert not isinstance(get_rule("typical", 0.5), ThresholdRule)


def test_top_n_sigma_is_a_distance_of_logits():
    logits = np.array([2.0, 1.0, 0.0, -3.0, -math.inf])
    sigma = logits[:4].std()  # of the tokens that are possible
    probs = softmax(logits[None])[0]
    for n in (0.3, 0.6, 1.0, 2.0, 5.0):
        expected = np.flatnonzero(logits >= 2.0 - n * sigma).tolist()
        assert kept(f"top-n-sigma={n}", *probs) == expected
        # A temperature moves the largest logit, the others and sigma alike.
        hot = softmax(logits[None] / 1.7)[0]
        assert kept(f"top-n-sigma={n}", *hot) == expected
    assert kept("top-n-sigma=900", *probs) == [0, 1, 2, 3]  # what is impossible stays so
    assert kept("top-n-sigma=0.001", 0.25, 0.25, 0.25, 0.25) == [0, 1, 2, 3]
    assert threshold("top-n-sigma=2", 0.5, 0.5, 0.0) == math.nextafter(0.5, 0.0)


def test_top_h_stops_before_its_share_of_the_entropy():
    distribution = (0.5, 0.25, 0.125, 0.125)  # -p log2 p: 0.5, 0.5, 0.375, 0.375; in all 1.75
    assert kept("top-h=0.1", *distribution) == [0]  # the first is within any share
    assert kept("top-h=0.5714", *distribution) == [0]
    assert kept("top-h=0.5715", *distribution) == [0, 1]  # 1 / 1.75
    assert kept("top-h=0.7857", *distribution) == [0, 1]
    assert kept("top-h=0.786", *distribution) == [0, 1, 2, 3]  # 1.375 / 1.75, and the tie
    assert kept("top-h=1", 0.5, 0.5, 1e-20, 0.0) == [0, 1, 2]
    assert kept("top-h=0.4", 0.0, 1.0, 0.0) == [1]


def test_p_less_compares_with_the_chance_of_a_collision():
    assert threshold("p-less", 0.5, 0.3, 0.2) == pytest.approx(0.38, rel=1e-15)
    assert kept("p-less", 0.5, 0.3, 0.2) == [0]
    assert kept("p-less", 0.25, 0.25, 0.25, 0.25) == [0, 1, 2, 3]
    assert kept("p-less", 0.4, 0.35, 0.25) == [0, 1]  # 0.345


@pytest.mark.parametrize("name", BASIS_AWARE)
def test_a_basis_aware_rule_shares_its_plain_threshold(name):
    probs = np.random.default_rng(1).dirichlet(np.full(50, 0.2), size=40)
    aware, plain = get_rule(name, EXAMPLES[name]), get_rule(name.removeprefix("ba-"), EXAMPLES[name])
    np.testing.assert_array_equal(aware.thresholds(probs), plain.thresholds(probs))
    np.testing.assert_array_equal(aware.keep(probs), plain.keep(probs))


@pytest.mark.parametrize("name", EXAMPLES)
def test_batching_and_summaries_change_no_bit(name):
    probs = softmax(np.random.default_rng(2).normal(scale=4, size=(7, 1003)).astype(np.float16))
    rule = get_rule(name, EXAMPLES[name])
    together, shared = rule.keep(probs), Summary(probs)
    np.testing.assert_array_equal(rule.keep(shared), together)
    np.testing.assert_array_equal(rule.keep(shared), together)  # asking twice spoils nothing
    critical = probs[:, 5]
    parameters = rule.critical_parameter(shared, critical)
    for row in range(len(probs)):
        one = slice(row, row + 1)
        np.testing.assert_array_equal(rule.keep(probs[one]), together[one])
        np.testing.assert_array_equal(rule.critical_parameter(probs[one], critical[one]), parameters[one])
    if isinstance(rule, ThresholdRule):
        singles = [rule.thresholds(probs[row : row + 1])[0] for row in range(len(probs))]
        np.testing.assert_array_equal(rule.thresholds(probs), singles)
    assert together.any(axis=1).all()


@pytest.mark.parametrize("name", THRESHOLD_RULES)
def test_a_certain_row_has_a_threshold_below_one(name):
    rule = get_rule(name, EXAMPLES[name])
    probs = rows((0.0, 1.0, 0.0))
    assert 0.0 <= rule.thresholds(probs)[0] < 1.0
    assert rule.keep(probs)[0, 1]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_empty_batch_is_an_empty_answer(name):
    rule = get_rule(name, EXAMPLES[name])
    assert rule.keep(np.zeros((0, 5))).shape == (0, 5)
    assert rule.critical_parameter(np.zeros((0, 5)), []).shape == (0,)


def test_wrong_arrays_are_invalid():
    rule = get_rule("eta", 0.1)
    with pytest.raises(InvalidInputError, match=r"float64 array \[batch, vocabulary\]; got float32 \[1, 2\]"):
        rule.keep(rows((0.5, 0.5)).astype(np.float32))
    with pytest.raises(InvalidInputError, match=r"got float64 \[2\]"):
        rule.keep(np.array([0.5, 0.5]))
    with pytest.raises(InvalidInputError, match=r"critical must have shape \[1\]"):
        rule.critical_parameter(rows((0.5, 0.5)), [0.5, 0.5])
    with pytest.raises(InvalidInputError, match=r"critical must lie in \[0, 1\]; got 1.5 in row 0"):
        rule.critical_parameter(rows((0.5, 0.5)), [1.5])
    with pytest.raises(InvalidInputError, match=r"token_probs must lie in \[0, 1\]"):
        get_rule("ba-eta", 0.1).critical_parameter(rows((0.5, 0.5)), [0.5], [math.nan])
    with pytest.raises(InvalidInputError, match="needs a value"):
        rule.rejects([0.5], None)


@pytest.mark.parametrize("seed", range(4))
def test_nucleus_and_top_k_agree_with_a_full_sort_bit_for_bit(seed: int) -> None:
    generator = np.random.default_rng(seed)
    probs = softmax(generator.normal(size=(3, 700)) * generator.choice([0.0, 0.5, 3.0, 30.0], (3, 1)))
    descending = np.sort(probs, axis=1)[:, ::-1]
    sums = np.cumsum(descending, axis=1)
    for k in (1, 2, 7, 350, 699, 700, 5000):
        expected = np.minimum(descending[:, min(k, 700) - 1], np.nextafter(1.0, 0.0))
        assert get_rule("top-k", k).thresholds(probs).tolist() == expected.tolist()
    for mass in (1e-12, 0.3, 0.5, float(min(sums[0, 40], 0.9)), 0.95, 0.999999, 1 - 1e-9):
        rank = np.minimum((sums < mass).sum(axis=1), np.count_nonzero(probs, axis=1) - 1)
        expected = np.minimum(descending[np.arange(3), rank], np.nextafter(1.0, 0.0))
        assert get_rule("nucleus", mass).thresholds(probs).tolist() == expected.tolist()
