"""Human-text rejection rates: the parameters at given rates, and the rates at a run's own parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bat.rules import builtin_rule_names, get_rule, get_rule_form
from harness.config.schema import SweepConfig
from harness.report import paper
from harness.report.names import parameter_text
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Measured, Result, Sources
from harness.report.tables.cells import EMPTY, one_decimal
from harness.report.tables.labels import labels, merged, table_names
from workers.measurement_record import Measurement
from workers.rejection import Estimate, parameters_at_rates, rejection_rate

RATES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)

# Fewer than in a sweep, because these intervals are only shown.
REPLICATES = 200

_COMMAND = "bat-harness run configs/paper/rejection-curves.yaml"
_OVER = "over resampled documents"


def rules_of(configs: Sequence[SweepConfig], *, with_paper: bool = False) -> list[str]:
    """The rules with a parameter that sweeps have, in their order; all built-in ones if they have none.

    With the paper, its rules follow.
    """
    names = [name for config in configs for name in config.rules()]
    names = names or list(builtin_rule_names())
    if with_paper:
        names += paper.RULES
    return [rule for rule in dict.fromkeys(names) if not get_rule_form(rule).takes_no_parameter]


def rejection(sources: Sources) -> list[Table | Missing]:
    """For every model measured, the parameter of each rule at rates from 5 to 30%."""
    measured = sources.results.measured
    if not measured:
        why = "no human text has been measured completely"
        return [Missing("Parameters by rejection rate (Figure 8 of the paper)", why, _COMMAND, of_paper=True)]
    names = table_names("rejection", [text.name for text in measured])
    return [_table(sources, name, text) for name, text in zip(names, measured, strict=True)]


def rates(sources: Sources) -> list[Table | Missing]:
    """The rejection rate of every setting that was run."""
    measured = {
        id(result): pair[0].jobs
        for result in sources.results.results
        if (pair := sources.find_measurement(result)) is not None
    }
    results = merged(
        (result for result in sources.results.results if id(result) in measured),
        lambda result: (result.model, result.method, result.setting, measured[id(result)]),
    )
    if not results:
        title = "Rejection rates of the settings"
        if not sources.results.results:
            why = "no texts of methods have been scored"
            return [Missing(title, why, "bat-harness run configs/paper/comparison.yaml")]
        return [Missing(title, "human text was not measured for any model that was run", _COMMAND)]
    rows = [
        Row(label, (rate_cell(sources, result), undecided_cell(sources, result)))
        for label, result in zip(labels(results, by_split=False), results, strict=True)
    ]
    return [
        Table(
            name="rates",
            title="Human-text rejection rates of the settings",
            caption="The share of human tokens that each setting rejects, in percent, with 95% intervals "
            f"{_OVER}. Undecided tokens count as accepted; the intervals include both possibilities.",
            columns=("method", "rejected, %", "undecided, %"),
            rows=tuple(rows),
        )
    ]


def rate_cell(sources: Sources, result: Result) -> Cell:
    """The rejection rate of a result in percent; empty if it was not measured."""
    pair = sources.find_measurement(result)
    if pair is None:
        return EMPTY
    measured, measurement = pair
    rate = _rate(measurement, result)
    value = 100 * rate.value
    how = f"share of {len(measurement)} human tokens that {result.label} rejects, in percent"
    if math.isnan(rate.low):
        return Cell(one_decimal(value), value, jobs=measured.jobs, how=f"{how}; no interval")
    low, high = 100 * rate.low, 100 * rate.high
    text = f"{one_decimal(value)} [{one_decimal(low)}, {one_decimal(high)}]"
    return Cell(text, value, low, high, measured.jobs, f"{how}; 95% interval {_OVER}")


def undecided_cell(sources: Sources, result: Result) -> Cell:
    """The share of tokens whose bounds do not decide, in percent."""
    pair = sources.find_measurement(result)
    if pair is None:
        return EMPTY
    measured, measurement = pair
    value = 100 * _rate(measurement, result).undecided
    how = f"share of human tokens for which the bounds do not decide whether {result.label} rejects them, %"
    return Cell(f"{value:.2g}", value, jobs=measured.jobs, how=how)


def _rate(measurement: Measurement, result: Result) -> Estimate:
    rule = get_rule(result.setting.rule, result.parameter)
    return rejection_rate(measurement, rule, result.setting.constraints or 0, replicates=REPLICATES)


def _table(sources: Sources, name: str, measured: Measured) -> Table:
    measurement = sources.measurement(measured)
    columns = [
        (rule if count is None or len(measured.constraints) == 1 else f"{rule} (c={count})", rule, count)
        for rule in rules_of(sources.results.configs, with_paper=sources.paper)
        if measurement.answers(rule)
        for count in (measured.constraints if get_rule_form(rule).basis_aware else (None,))
    ]
    by_column = [
        parameters_at_rates(measurement, rule, RATES, constraints or 0, replicates=REPLICATES)
        for _, rule, constraints in columns
    ]
    rows = [
        Row(
            f"{100 * rate:.0f}%",
            tuple(
                _parameter_cell(measured, rule, rate, parameters[index])
                for (_, rule, _), parameters in zip(columns, by_column, strict=True)
            ),
        )
        for index, rate in enumerate(RATES)
    ]
    return Table(
        name=name,
        title=f"Parameters by human-text rejection rate, {measured.name}",
        caption=f"The parameter at which each rule rejects a given share of {len(measurement):,} human "
        f"tokens. 95% intervals {_OVER} are in the CSV file. Out of reach: no parameter rejects as much, "
        "or as little.",
        columns=("rejected", *(heading for heading, _, _ in columns)),
        rows=tuple(rows),
        notes=tuple(_reach_notes(measurement, measured.constraints)) if sources.paper else (),
        paper=sources.corresponds_to("rejection"),
    )


def _parameter_cell(measured: Measured, rule: str, rate: float, parameter: Estimate | None) -> Cell:
    if parameter is None:
        how = f"no parameter of {rule} rejects {100 * rate:.0f}% of these tokens"
        return Cell("out of reach", jobs=measured.jobs, how=how)
    text, value = parameter_text(parameter.value), parameter.value
    how = f"the parameter at which {rule} rejects closest to {100 * rate:.0f}% of human tokens"
    if math.isnan(parameter.low):
        return Cell(text, value, jobs=measured.jobs, how=how)
    how += f"; 95% interval {parameter.low:.4g} to {parameter.high:.4g} {_OVER}"
    return Cell(text, value, parameter.low, parameter.high, measured.jobs, how)


def _reach_notes(measurement: Measurement, constraints: Sequence[int]) -> list[str]:
    """The largest rejection rate of BA-nucleus, here and in the paper."""
    notes = []
    # Smaller than the probability of any most likely token, so that no parameter rejects more.
    strictest = get_rule("ba-nucleus", 1e-9)
    for count in constraints:
        most = rejection_rate(measurement, strictest, count, replicates=REPLICATES)
        note = f"BA-nucleus with {count} constraints rejects at most {100 * most.value:.1f}%"
        if not math.isnan(most.low):
            note += f" (95% interval {100 * most.low:.1f} to {100 * most.high:.1f})"
        limit = paper.LARGEST_RATE_OF_BA_NUCLEUS
        where = paper.STATEMENTS["ba-nucleus-rate"].where
        notes.append(f"{note}; in the paper, about {100 * limit:.0f}% ({where}).")
    return notes
