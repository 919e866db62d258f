"""Human-text rejection rates of rules, along their parameters, and back from a rate to a parameter.

The rate of a rule at a parameter is the share of measured tokens that the rule would have rejected. It is a
step function of the parameter, and all of its steps are known, so nothing here runs a model or a solver.

What is certain is counted. Where a token's interval does not tell whether it is rejected, it is counted as
undecided, and every interval reported is wide enough for either answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bat.arrays import BoolArray, FloatArray, IntArray
from bat.errors import InvalidInputError
from bat.rules import Rule, RuleForm, get_rule_form, rule_names
from workers.bootstrap import Documents, interval
from workers.measurement_record import Measurement
from workers.steps import Steps


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, its 95% bootstrap interval over documents, and the share of tokens undecided there.

    The interval is NaN where documents cannot be resampled: fewer than two, or no replicates.
    """

    value: float
    low: float
    high: float
    undecided: float


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A rule's rejection rate along its parameter, with a 95% bootstrap interval at each point."""

    rule: str
    parameters: FloatArray  # [g]
    value: FloatArray  # [g]
    low: FloatArray  # [g]
    high: FloatArray  # [g]
    undecided: FloatArray  # [g]
    constraints: int = 0  # of a basis-aware rule


@dataclass(frozen=True, slots=True)
class Match:
    """The parameter at which one rule rejects as much as another, and how much each of them rejects."""

    parameter: Estimate
    rate: Estimate  # of the rule whose parameter was sought, at that parameter
    reference_rate: Estimate  # of the rule it was to match


def rates_agree(rate: float, reference_rate: float) -> bool:
    """Whether two matched rates are the same for a reader; otherwise no parameter comes nearer."""
    return abs(rate - reference_rate) < 0.005


def rejection_rate(
    measurement: Measurement, rule: Rule, constraints: int = 20, *, replicates: int = 1000, seed: int = 0
) -> Estimate:
    """Return the share of tokens that the rule certainly rejects; those it may reject widen the interval."""
    parameters = None if rule.parameter is None else np.array([rule.parameter], dtype=np.float64)
    rates = _rates(measurement, rule.form, parameters, constraints, replicates, seed)
    return Estimate(*(float(part[0]) for part in rates))


def rejection_curve(
    measurement: Measurement,
    rule_name: str,
    parameters: Sequence[float] | FloatArray | None = None,
    constraints: int = 20,
    *,
    replicates: int = 1000,
    seed: int = 0,
) -> Curve:
    """Return the rejection rates of a rule at the parameters given, or on a grid that suits the rule."""
    rule = _get_rule_with_parameter(rule_name)
    grid = default_parameters(rule_name) if parameters is None else parameters
    checked = np.array([rule.check_parameter(parameter) for parameter in grid], dtype=np.float64)
    rates = _rates(measurement, rule, checked, constraints, replicates, seed)
    return Curve(rule.name, checked, *rates, constraints if rule.basis_aware else 0)


def parameter_at_rate(
    measurement: Measurement,
    rule_name: str,
    rate: float,
    constraints: int = 20,
    *,
    replicates: int = 1000,
    seed: int = 0,
) -> Estimate:
    """Return the parameter whose rejection rate is nearest to ``rate``: the middle of that step."""
    [parameter] = parameters_at_rates(
        measurement, rule_name, [rate], constraints, replicates=replicates, seed=seed
    )
    if parameter is None:
        lowest, highest = reachable_rates(measurement, rule_name, constraints)
        raise InvalidInputError(
            f"the rate must lie in [{lowest:.6g}, {highest:.6g}], what {rule_name} can reject of these "
            f"tokens; got {rate:.6g}. The nearest within reach is {min(max(rate, lowest), highest):.6g}."
        )
    return parameter


def parameters_at_rates(
    measurement: Measurement,
    rule_name: str,
    rates: Sequence[float],
    constraints: int = 20,
    *,
    replicates: int = 1000,
    seed: int = 0,
) -> list[Estimate | None]:
    """The same for several rates in one go; None for those out of the rule's reach."""
    rule = _get_rule_with_parameter(rule_name)
    lowest, highest = reachable_rates(measurement, rule_name, constraints)
    within = [rate for rate in rates if lowest - 1e-9 <= rate <= highest + 1e-9]
    sizes = _documents(measurement).totals(np.ones(len(measurement), dtype=np.bool_))
    estimates = _search(measurement, rule, constraints, within, sizes[None], replicates, seed)
    by_rate = dict(zip(within, estimates, strict=True))
    return [by_rate.get(rate) for rate in rates]


def matching_parameter(
    measurement: Measurement,
    rule: Rule,
    target_rule_name: str,
    constraints: int = 20,
    *,
    replicates: int = 1000,
    seed: int = 0,
) -> Match:
    """Return the parameter of the named rule that rejects as much as ``rule`` does at its own.

    Both rules meet the same resampled documents, so what makes a document hard for both does not widen the
    interval. Where no parameter reaches the rate, the nearest is taken: the two rates tell (`rates_agree`).
    """
    sought = _get_rule_with_parameter(target_rule_name)
    documents = _documents(measurement)
    parameters = None if rule.parameter is None else np.array([rule.parameter], dtype=np.float64)
    rejected = documents.totals(_rejections(measurement, rule.form, parameters, constraints)[:, 0])  # [2, D]
    [parameter] = _search(measurement, sought, constraints, [1.0], rejected, replicates, seed)
    return Match(
        parameter,
        rejection_rate(measurement, sought(parameter.value), constraints, replicates=replicates, seed=seed),
        rejection_rate(measurement, rule, constraints, replicates=replicates, seed=seed),
    )


def default_parameters(rule_name: str) -> FloatArray:
    """Return the grid that curves of a rule are drawn on."""
    return _get_rule_with_parameter(rule_name).default_parameters()


def _rejections(
    measurement: Measurement, rule: RuleForm, parameters: FloatArray | None, constraints: int
) -> BoolArray:
    """Whether each token is rejected at each parameter: for certain, and possibly, [2, g, n]."""
    critical = measurement.critical_parameters(rule.name, constraints)
    grid = None if parameters is None else parameters[:, None]
    return np.stack([np.atleast_2d(rule.rejects(side, grid)) for side in critical])


def _rates(
    measurement: Measurement,
    rule: RuleForm,
    parameters: FloatArray | None,
    constraints: int,
    replicates: int,
    seed: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The rate at each parameter, its interval and the undecided share, each [g]."""
    documents = _documents(measurement)
    rejected = _rejections(measurement, rule, parameters, constraints)  # [2, g, n]
    undecided = np.mean(rejected[1] & ~rejected[0], axis=1)
    totals = documents.totals(rejected).astype(np.float64)  # [2, g, D]
    sizes = documents.totals(np.ones(len(measurement), dtype=np.bool_)).astype(np.float64)  # [D]
    resampled = [np.empty((2, 0, len(undecided)))]
    for weights in documents.resample(replicates, seed):
        counts = np.stack([weights @ side.T for side in totals])  # [2, r, g]
        resampled.append(counts / (weights @ sizes)[:, None])
    certain, possible = np.concatenate(resampled, axis=1)  # [replicates, g] each
    return rejected[0].mean(axis=1), interval(certain)[0], interval(possible)[1], undecided


def _search(
    measurement: Measurement,
    rule: RuleForm,
    constraints: int,
    scales: Sequence[float],
    targets: IntArray,
    replicates: int,
    seed: int,
) -> list[Estimate]:
    """The parameters at which the tokens rejected are nearest each scale times the target, counted [t, D].

    Several targets, like several curves, are readings of undecided tokens: the first counts what is certain.
    """
    documents = _documents(measurement)
    critical = measurement.critical_parameters(rule.name, constraints)
    curves = [Steps(rule, critical.certain)]
    if critical.possible is not critical.certain:
        curves.append(Steps(rule, critical.possible))
    factors = np.asarray(scales, dtype=np.float64)

    def find(weights: IntArray) -> FloatArray:
        """The parameters for every reading, [r, curves * targets, scales], of documents weighted [r, D]."""
        aims = (weights @ targets.T)[:, :, None] * factors  # [r, t, s]
        tokens = weights[:, documents.index]  # [r, n]
        parameters = np.empty((len(weights), len(curves) * len(targets), len(factors)))
        for index, curve in enumerate(curves):
            levels = curve.levels(tokens)  # what takes time, whatever is looked for
            for target in range(len(targets)):
                for scale in range(len(factors)):
                    reading = index * len(targets) + target
                    parameters[:, reading, scale] = curve.nearest(levels, aims[:, target, scale])
        return parameters

    values = find(np.ones((1, documents.count), dtype=np.int64))[0, 0]  # [s]
    none = np.empty((0, len(curves) * len(targets), len(factors)))
    resampled = np.concatenate([none, *map(find, documents.resample(replicates, seed))])
    estimates = []
    for scale, value in enumerate(values.tolist()):
        low, high = interval(resampled[:, :, scale])
        certain, possible = _rejections(measurement, rule, np.array([value]), constraints)[:, 0]
        undecided = float(np.mean(possible & ~certain))
        estimates.append(Estimate(value, float(low.min()), float(high.max()), undecided))
    return estimates


def reachable_rates(measurement: Measurement, rule_name: str, constraints: int = 20) -> tuple[float, float]:
    """The least and the largest rejection rate that any parameter of the rule has."""
    _documents(measurement)  # there must be tokens
    rule = _get_rule_with_parameter(rule_name)
    steps = Steps(rule, measurement.critical_parameters(rule.name, constraints).certain)
    levels = steps.levels(np.ones((1, len(measurement)), dtype=np.int64))[0]
    return float(levels[0] / len(measurement)), float(levels[-1] / len(measurement))


def _documents(measurement: Measurement) -> Documents:
    if len(measurement) == 0:
        raise InvalidInputError(
            "a rejection rate needs at least one measured token; the measurement is empty."
        )
    return Documents(measurement.document)


def _get_rule_with_parameter(name: str) -> RuleForm:
    rule = get_rule_form(name)
    if rule.takes_no_parameter:
        others = ", ".join(other for other in rule_names() if not get_rule_form(other).takes_no_parameter)
        raise InvalidInputError(f"the rule must have a parameter; {rule.name} has none. Use one of {others}.")
    return rule
