"""Measured human text, and the share of it that rules reject."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bat.errors import InvalidInputError
from bat.rules import get_rule_form
from bat.suggestions import did_you_mean
from harness.jobs import MeasureHumanText
from harness.store import InstanceKind, Reader, Run
from workers.rejection import Estimate, parameters_at_rates, rejection_curve

Grid = Sequence[float]

CURVE_COLUMNS = (
    *("run_id", "run", "stage", "model", "rule", "constraints", "parameter", "rejected", "low", "high"),
    *("undecided", "tokens"),
)


@dataclass(frozen=True, slots=True)
class MeasuredText:
    """Human text that a model has measured completely."""

    run: Run
    stage: str
    model: str  # its label in the sweep
    weights: str  # the fingerprint of the model
    constraints: tuple[int, ...]  # numbers of constraints that were measured
    jobs: tuple[str, ...]


def measured_texts(reader: Reader, runs: Iterable[Run]) -> list[MeasuredText]:
    """The human text of runs, for each stage and model that has measured all of it."""
    texts = []
    for run in runs:
        for instance in reader.instances(run.id):
            jobs = instance.job_ids(MeasureHumanText.role)
            if instance.kind is InstanceKind.MEASURE and jobs and reader.done_ids(jobs) == set(jobs):
                spec = reader.parsed_jobs(jobs[:1])[jobs[0]]
                assert isinstance(spec, MeasureHumanText)
                texts.append(
                    MeasuredText(
                        run, instance.stage, instance.model, spec.model.weights, spec.constraints, jobs
                    )
                )
    return texts


def curve_rows(
    reader: Reader,
    texts: Sequence[MeasuredText],
    rules: Sequence[str],
    parameters: Grid | Mapping[str, Grid] | None,
    constraints: Iterable[int] | None,
    *,
    replicates: int,
) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    """CURVE_COLUMNS, and a row for each text, rule, number of constraints and parameter."""
    chosen = None if constraints is None else list(constraints)
    check_constraints(chosen or (), texts)
    for name in parameters if isinstance(parameters, Mapping) else ():
        if name not in rules:
            raise InvalidInputError(
                f"parameters must be of the rules asked for ({', '.join(rules)}); got {name!r}."
                f"{did_you_mean(name, rules)}"
            )
    rows: list[tuple[Any, ...]] = []
    for text in texts:
        measurement = reader.measurement(text.jobs)
        for rule in rules:
            grid = parameters.get(rule) if isinstance(parameters, Mapping) else parameters
            for number in _numbers(rule, text.constraints, chosen):
                curve = rejection_curve(measurement, rule, grid, number or 0, replicates=replicates)
                points = (curve.parameters, curve.value, curve.low, curve.high, curve.undecided)
                setting = (text.run.id, text.run.name, text.stage, text.model, curve.rule, number)
                rows += [
                    (*setting, *point, len(measurement))
                    for point in zip(*(column.tolist() for column in points), strict=True)
                ]
    return CURVE_COLUMNS, rows


def check_constraints(numbers: Iterable[int], texts: Sequence[MeasuredText]) -> None:
    """Raise for a number of constraints that was not measured."""
    measured = sorted({number for text in texts for number in text.constraints})
    for number in numbers:
        if number not in measured:
            listed = ", ".join(map(str, measured)) or "none"
            raise InvalidInputError(
                f"constraints must be a number that was measured ({listed}); got {number}. Add it to "
                "measurement.constraints in the sweep."
            )


def _numbers(rule: str, measured: Sequence[int], chosen: Sequence[int] | None) -> list[int | None]:
    """The numbers of constraints for a rule; a plain rule has none."""
    if not get_rule_form(rule).basis_aware:
        return [None]
    return [number for number in measured if chosen is None or number in chosen]


@dataclass(frozen=True, slots=True)
class RateCurve:
    """The parameter of a rule along the share of human text that it rejects."""

    rule: str
    constraints: int | None
    parameters: tuple[Estimate | None, ...]  # at each rate; None where no parameter has it


def parameters_by_rate(
    reader: Reader, text: MeasuredText, rules: Sequence[str], rates: Sequence[float], *, replicates: int
) -> tuple[int, list[RateCurve]]:
    """The number of measured tokens, and a curve for each rule and number of constraints."""
    measurement = reader.measurement(text.jobs)
    return len(measurement), [
        RateCurve(
            rule,
            number,
            tuple(parameters_at_rates(measurement, rule, rates, number or 0, replicates=replicates)),
        )
        for rule in rules
        for number in _numbers(rule, text.constraints, None)
    ]
