"""Rates, curves and their inverses against the literal definitions, where everything can be tried."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from bat.errors import InvalidInputError
from bat.rules import get_rule, get_rule_form, rule_names
from workers.bootstrap import Documents
from workers.measurement_record import Measurement
from workers.rejection import (
    Estimate,
    default_parameters,
    matching_parameter,
    parameter_at_rate,
    rejection_curve,
    rejection_rate,
)

WITH_PARAMETER = [name for name in rule_names() if not get_rule_form(name).takes_no_parameter]


def tokens(
    count: int, documents: int, seed: int = 0, open_share: float = 0.0, grid: int | None = None
) -> Measurement:
    """Made-up facts. Columns need not belong to any one distribution: each rule reads its own."""
    generator = np.random.default_rng(seed)

    def fractions() -> np.ndarray:
        drawn = generator.random(count) ** 2
        return drawn if grid is None else np.ceil(drawn * grid) / grid

    probability = 0.5 * fractions()
    lower = np.minimum(probability * (1.0 + 3.0 * fractions()), 1.0)
    is_open = generator.random(count) < open_share
    upper = np.where(is_open, np.minimum(lower * 2.0, 1.0), lower)
    rank = generator.integers(0, 20, size=count)
    mass = fractions()
    own = np.random.default_rng(seed + 1)  # added later: the other columns stay what they were
    share = np.ceil(own.random(count) * (grid or 1000)) / (grid or 1000)
    return Measurement.from_columns(
        {
            "document": np.array([f"d{n}" for n in generator.integers(documents, size=count)]),
            "position": np.arange(count),
            "token": np.zeros(count, dtype=np.int64),
            "probability": probability,
            "entropy": 3.0 * generator.random(count),
            "maximum": np.minimum(1.0, probability + fractions()),
            "rank": rank,
            "mass_above": mass,
            "mass_nearer": fractions(),
            "deviation": np.ceil(4.0 * own.random(count)),
            "collision": 0.3 * share,
            "entropy_share": share,
            "lower_20": lower,
            "upper_20": upper,
            "lower_rank_20": rank,
            "upper_rank_20": np.where(is_open, rank // 2, rank),
            "lower_mass_20": mass,
            "upper_mass_20": np.where(is_open, mass / 2, mass),
            "lower_entropy_share_20": share,
            "upper_entropy_share_20": np.where(is_open, share / 2, share),
            "status_20": np.where(is_open, "unfinished", "closed"),
            "pivots_20": np.zeros(count, dtype=np.int64),
            "passes_20": np.zeros(count, dtype=np.int64),
            "seconds_20": np.zeros(count),
        }
    )


def literal_rate(measurement: Measurement, name: str, parameter: float | None, end: int = 0) -> float:
    critical = measurement.critical_parameters(name)[end]
    return float(np.mean([bool(get_rule_form(name).rejects(value, parameter)) for value in critical]))


def parameters_to_try(name: str, measurement: Measurement) -> np.ndarray:
    """One parameter inside every step: every whole number, or the middle between any two boundaries."""
    critical = np.concatenate(measurement.critical_parameters(name))
    if name.endswith("top-k"):
        return np.arange(1.0, critical.max() + 3)
    ends = np.unique([*np.minimum(get_rule_form(name).limits, 60.0), *critical[np.isfinite(critical)]])
    return (ends[:-1] + ends[1:]) / 2


def replicates_of(measurement: Measurement, count: int) -> list[Measurement]:
    """The bootstrap done by hand: documents drawn again, their rows copied out."""
    names = np.unique(measurement.document)
    found = []
    for block in Documents(measurement.document).resample(count, 0):
        for weights in block:
            drawn = np.repeat(names, weights)
            rows = [row for name in drawn for row in np.flatnonzero(measurement.document == name)]
            found.append(measurement.select(rows))
    return found


@pytest.mark.parametrize("name", rule_names())
def test_the_rate_is_the_share_of_tokens_rejected(name: str) -> None:
    measurement = tokens(300, 50, open_share=0.3)
    parameter = 4 if name.endswith("top-k") else 0.2 if name in WITH_PARAMETER else None
    found = rejection_rate(measurement, get_rule(name, parameter), replicates=50)
    certain, possible = (literal_rate(measurement, name, parameter, end) for end in (0, 1))
    assert found.value == pytest.approx(certain)
    assert found.undecided == pytest.approx(possible - certain)
    assert found.undecided >= 0.0
    assert (found.undecided > 0.0) == name.startswith("ba-")
    assert found.low <= found.value <= found.value + found.undecided <= found.high
    if name == "ancestral":
        assert found == Estimate(0.0, 0.0, 0.0, 0.0)


def test_rates_are_bootstrapped_over_documents_and_cover_what_is_undecided() -> None:
    measurement = tokens(30, 6, open_share=0.3)
    found = rejection_rate(measurement, get_rule("ba-epsilon", 0.2), replicates=200)
    sides = [
        sorted(literal_rate(sample, "ba-epsilon", 0.2, end) for sample in replicates_of(measurement, 200))
        for end in (0, 1)
    ]
    # The 2.5% and 97.5% points of 200 values lie at 4.975 and 194.025, counted from 0: the wider neighbours.
    assert found.low == pytest.approx(sides[0][4])
    assert found.high == pytest.approx(sides[1][195])
    assert found.low < found.value < found.high


@pytest.mark.parametrize("name", WITH_PARAMETER)
@pytest.mark.parametrize("grid", [None, 8])
def test_a_curve_is_the_rate_at_every_point(name: str, grid: int | None) -> None:
    measurement = tokens(50, 10, seed=1, open_share=0.2, grid=grid)
    parameters = parameters_to_try(name, measurement)
    curve = rejection_curve(measurement, name, parameters, replicates=20)
    assert curve.rule == name
    np.testing.assert_array_equal(curve.parameters, parameters)
    for index in range(0, len(parameters), 7):
        alone = rejection_rate(measurement, get_rule(name, parameters[index]), replicates=20)
        point = [part[index] for part in (curve.value, curve.low, curve.high, curve.undecided)]
        assert point == pytest.approx([alone.value, alone.low, alone.high, alone.undecided])
    steps = np.diff(curve.value)
    assert (steps <= 0).all() or (steps >= 0).all()
    assert np.abs(steps).max() > 0


@pytest.mark.parametrize("name", WITH_PARAMETER)
def test_a_curve_has_a_grid_of_its_own(name: str) -> None:
    curve = rejection_curve(tokens(50, 10), name, replicates=0)
    np.testing.assert_array_equal(curve.parameters, default_parameters(name))
    assert (np.diff(curve.parameters) > 0).all()
    assert len(curve.parameters) > 50
    assert np.isnan(curve.low).all()
    assert 0.0 <= curve.value.min() < curve.value.max() <= 1.0


@pytest.mark.parametrize("name", WITH_PARAMETER)
@pytest.mark.parametrize("grid", [None, 6])
@pytest.mark.parametrize("rate", [0.0, 0.07, 0.3, 0.5, 0.71])
def test_the_parameter_at_a_rate_beats_every_other(name: str, grid: int | None, rate: float) -> None:
    measurement = tokens(40, 8, seed=2, open_share=0.2, grid=grid)
    tried = {float(p): literal_rate(measurement, name, p) for p in parameters_to_try(name, measurement)}
    if not min(tried.values()) <= rate <= max(tried.values()):
        nearest = min(tried.values(), key=lambda found: abs(found - rate))
        with pytest.raises(InvalidInputError, match=rf"nearest within reach is {nearest:.6g}\."):
            parameter_at_rate(measurement, name, rate)
        return
    found = parameter_at_rate(measurement, name, rate, replicates=0)
    rule = get_rule(name, found.value)  # the parameter is one the rule accepts
    best = min(abs(other - rate) for other in tried.values())
    assert abs(rejection_rate(measurement, rule).value - rate) == pytest.approx(best)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    # It lies in the middle of the parameters that do as well: some lie on either side, or it has none beside.
    level = literal_rate(measurement, name, found.value)
    equals = [p for p, other in tried.items() if other == pytest.approx(level)]
    assert equals
    if name.endswith("top-k"):
        assert min(equals) <= found.value <= max(equals)


def test_the_middle_of_a_step() -> None:
    measurement = tokens(3, 3)
    columns = measurement.to_columns() | {"maximum": [1.0] * 3}
    made = Measurement.from_columns(
        columns | {"probability": [0.0001, 0.01, 0.04], "rank": [100, 8, 2], "mass_above": [0.9, 0.5, 0.2]}
    )

    def at(name: str, rate: float) -> float:
        return parameter_at_rate(made, name, rate, replicates=0).value

    assert at("epsilon", 0.0) == pytest.approx(0.00005)  # half way from zero
    assert at("epsilon", 1 / 3) == pytest.approx(0.001)  # between 0.0001 and 0.01
    assert at("epsilon", 2 / 3) == pytest.approx(0.02)
    assert at("epsilon", 1.0) == pytest.approx(0.2)  # between 0.04 and 1
    assert at("nucleus", 0.0) == pytest.approx(0.95)
    assert at("nucleus", 1 / 3) == pytest.approx(0.7)
    assert at("nucleus", 1.0) == pytest.approx(0.1)
    assert at("top-k", 0.0) == 101  # nothing tells how much more would do
    assert at("top-k", 1 / 3) == 30  # 9 to 100
    assert at("top-k", 2 / 3) == 5  # 3 to 8
    assert at("top-k", 1.0) == 1
    # Between two rates, the nearer; of two equally near, the one that rejects less.
    assert at("epsilon", 0.3) == at("epsilon", 1 / 3)
    assert at("nucleus", 0.5) == at("nucleus", 1 / 3)


def test_parameters_at_the_very_ends_are_still_parameters() -> None:
    columns = tokens(2, 2).to_columns() | {"maximum": [1.0, 1.0]}
    beneath = math.nextafter(1.0, 0.0)
    made = Measurement.from_columns(
        columns | {"probability": [5e-324, beneath], "mass_nearer": [beneath, beneath]}
    )
    for name, rate in [("epsilon", 0.0), ("epsilon", 1.0), ("typical", 0.0), ("typical", 1.0)]:
        get_rule(name, parameter_at_rate(made, name, rate, replicates=0).value)


@pytest.mark.parametrize("name", ["ba-eta", "nucleus", "top-k"])
def test_the_interval_of_a_parameter_is_that_of_the_bootstrap_done_by_hand(name: str) -> None:
    measurement = tokens(40, 9, seed=3)
    found = parameter_at_rate(measurement, name, 0.2, replicates=100)
    by_hand = sorted(
        parameter_at_rate(sample, name, 0.2, replicates=0).value for sample in replicates_of(measurement, 100)
    )
    # The 2.5% and 97.5% points of 100 values lie at 2.475 and 96.525.
    assert (found.low, found.high) == pytest.approx((by_hand[2], by_hand[97]))
    assert found.low < found.value < found.high


def test_the_interval_of_a_matched_parameter_is_paired() -> None:
    measurement = tokens(40, 9, seed=4)
    rule = get_rule("eta", 0.1)
    found = matching_parameter(measurement, rule, "ba-eta", replicates=100)
    by_hand = sorted(
        matching_parameter(sample, rule, "ba-eta", replicates=0).parameter.value
        for sample in replicates_of(measurement, 100)
    )
    assert (found.parameter.low, found.parameter.high) == pytest.approx((by_hand[2], by_hand[97]))
    assert found.reference_rate == rejection_rate(measurement, rule, replicates=100)
    assert found.rate == rejection_rate(
        measurement, get_rule("ba-eta", found.parameter.value), replicates=100
    )
    assert found.rate.value == found.reference_rate.value
    # A rule matched to itself comes back in every replicate to the step it stands in, far surer than the
    # parameter at the same rate when documents change both.
    itself = matching_parameter(measurement, rule, "eta", replicates=100).parameter
    at_rate = parameter_at_rate(measurement, "eta", found.reference_rate.value, replicates=100)
    assert itself.high / itself.low < 0.5 * at_rate.high / at_rate.low


def test_a_rule_without_a_parameter_can_be_matched_by_one_that_has() -> None:
    measurement = tokens(40, 9)
    found = matching_parameter(measurement, get_rule("greedy"), "top-k", replicates=10)
    assert found.parameter.value == 1
    assert found.rate.value == found.reference_rate.value


def test_matching_takes_the_nearest_rate_when_it_cannot_have_the_same() -> None:
    columns = tokens(4, 4).to_columns() | {"maximum": [1.0] * 4, "probability": [0.1, 0.2, 0.3, 0.4]}
    half = [0.5, 0.5, 0.5, 1.0]
    tied = Measurement.from_columns(columns | {"lower_20": half, "upper_20": half})
    # The plain rule rejects one in four; the basis-aware one can reject none or three in four.
    found = matching_parameter(tied, get_rule("epsilon", 0.15), "ba-epsilon")
    assert (found.reference_rate.value, found.rate.value) == (0.25, 0.0)
    assert found.parameter.value < 0.5
    never = Measurement.from_columns(columns | {"lower_20": [1.0] * 4, "upper_20": [1.0] * 4})
    found = matching_parameter(never, get_rule("epsilon", 0.25), "ba-epsilon")
    assert (found.reference_rate.value, found.rate.value) == (0.5, 0.0)
    assert 0.0 < found.parameter.value < 1.0


def test_undecided_tokens_widen_parameters_and_move_nothing_else() -> None:
    closed = tokens(200, 40, seed=5)
    columns = closed.to_columns()
    # The same certain answers, but every third token may be rejected much sooner.
    columns["lower_20"] = np.where(np.arange(200) % 3 == 0, columns["probability"], columns["lower_20"])
    opened = Measurement.from_columns(columns)
    for question in (
        lambda m: parameter_at_rate(m, "ba-epsilon", 0.3),
        lambda m: matching_parameter(m, get_rule("epsilon", 0.05), "ba-epsilon").parameter,
        lambda m: matching_parameter(m, get_rule("ba-epsilon", 0.1), "epsilon").parameter,
    ):
        sure, unsure = question(closed), question(opened)
        assert unsure.value == sure.value
        assert unsure.low <= sure.low
        assert unsure.high >= sure.high
        assert (unsure.low, unsure.high) != (sure.low, sure.high)
    assert parameter_at_rate(opened, "ba-epsilon", 0.3).undecided > 0.0
    assert parameter_at_rate(closed, "ba-epsilon", 0.3).undecided == 0.0


def test_neither_the_order_of_rows_nor_anything_global_matters() -> None:
    measurement = tokens(100, 20)
    shuffled = measurement.select(np.random.default_rng(0).permutation(100))
    for question in (
        lambda m, seed: parameter_at_rate(m, "ba-eta", 0.2, seed=seed),
        lambda m, seed: rejection_rate(m, get_rule("eta", 0.1), seed=seed),
    ):
        assert question(measurement, 0) == question(shuffled, 0)
        assert question(measurement, 0) != question(measurement, 1)
    estimate = rejection_rate(measurement, get_rule("eta", 0.1))
    assert pickle.loads(pickle.dumps(estimate)) == estimate


def test_one_document_has_no_interval() -> None:
    found = rejection_rate(tokens(10, 1), get_rule("eta", 0.1))
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert math.isnan(parameter_at_rate(tokens(10, 1), "eta", 0.5).low)


def test_intervals_cover_the_truth() -> None:
    # Documents of 4 tokens that are rejected together more often than apart: the rate of a document is
    # Beta(1, 4), mean 0.2. Over 3,000 repetitions the interval covered 95%; resampling tokens as if they
    # were independent covered 90%. Fewer than 174 of 200 at 95%, by luck: 5e-6; no difference: 2e-5.
    generator = np.random.default_rng(6)
    base = tokens(400, 1).to_columns() | {"document": np.repeat([f"d{n:03}" for n in range(100)], 4)}
    covered = independent = 0
    for _ in range(200):
        rejected = generator.random((100, 4)) < generator.beta(1, 4, size=(100, 1))
        columns = base | {"probability": np.where(rejected.ravel(), 0.01, 0.1), "maximum": np.ones(400)}
        measurement = Measurement.from_columns(columns)
        found = rejection_rate(measurement, get_rule("epsilon", 0.05), replicates=200)
        covered += found.low <= 0.2 <= found.high
        alone = Measurement.from_columns(columns | {"document": np.arange(400).astype(str)})
        found = rejection_rate(alone, get_rule("epsilon", 0.05), replicates=200)
        independent += found.low <= 0.2 <= found.high
    assert covered >= 174
    assert independent < covered


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: rejection_rate(m.select([]), get_rule("eta", 0.1)), "the measurement is empty"),
        (lambda m: parameter_at_rate(m.select([]), "eta", 0.1), "the measurement is empty"),
        (lambda m: matching_parameter(m.select([]), get_rule("eta", 0.1), "ba-eta"), "empty"),
        (lambda m: rejection_rate(m, get_rule("ba-eta", 0.1), 7), r"measured \(20\); got 7"),
        (lambda m: rejection_curve(m, "ba-eta", constraints=7), r"measured \(20\); got 7"),
        (lambda m: rejection_curve(m, "greedy"), "greedy has none. Use one of top-k, nucleus"),
        (lambda m: parameter_at_rate(m, "ancestral", 0.1), "ancestral has none"),
        (lambda m: matching_parameter(m, get_rule("eta", 0.1), "greedy"), "greedy has none"),
        (lambda m: parameter_at_rate(m, "etaa", 0.1), "Did you mean 'eta'"),
        (lambda m: rejection_curve(m, "eta", [0.1, 1.5]), r"eta must lie in \(0, 1\); got 1.5"),
        (lambda m: parameter_at_rate(m, "eta", -0.1), r"got -0.1. The nearest within reach is 0\."),
        (lambda m: parameter_at_rate(m, "eta", math.nan), "got nan"),
        (lambda m: rejection_rate(m, get_rule("eta", 0.1), replicates=-1), "replicates must be at least 0"),
    ],
)
def test_questions_without_an_answer_are_invalid(ask, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ask(tokens(10, 5))
