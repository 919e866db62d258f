"""Human-text rejection rates: the parameters at given rates, and the rates at a run's own parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bat.rules import get_rule, get_rule_class
from harness.report import paper
from harness.report.names import parameter_text
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Measured, Result
from harness.report.tables.cells import EMPTY, one_decimal
from harness.report.tables.labels import labels, table_names
from harness.report.tables.sources import Sources
from workers.measurement_record import Measurement
from workers.rejection import Estimate, parameters_at_rates, rejection_rate

RATES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
RULES = ("eta", "ba-eta", "epsilon", "ba-epsilon", "nucleus", "ba-nucleus", "top-k", "min-p")

# Intervals need fewer than a sweep's own, which decide nothing here.
REPLICATES = 200

_COMMAND = "bat-harness run configs/paper/rejection-curves.yaml"
_OVER = "over resampled documents"


def rejection(sources: Sources) -> list[Table | Missing]:
    """For every model measured, the parameter of each rule at rates from 5 to 30%."""
    measured = sources.results.measured
    if not measured:
        why = "no human text has been measured by all of its jobs"
        return [Missing("Parameters by rejection rate (Figure 8 of the paper)", why, _COMMAND)]
    names = table_names("rejection", [one.model for one in measured])
    return [_table(sources, name, one) for name, one in zip(names, measured, strict=True)]


def rates(sources: Sources) -> list[Table | Missing]:
    """The rejection rate of every setting that was run."""
    found: dict[tuple[str, object], Result] = {}
    for result in sources.results.results:
        if not result.is_imported and sources.find_measurement(result) is not None:
            found.setdefault((result.model, result.setting), result)
    results = list(found.values())
    if not results:
        why = "no setting was run for a model that has measured human text"
        return [Missing("Rejection rates of what was run", why, _COMMAND)]
    rows = [
        Row(label, (rate_cell(sources, result), undecided_cell(sources, result)))
        for label, result in zip(labels(results, by_split=False), results, strict=True)
    ]
    return [
        Table(
            name="rates",
            title="Human-text rejection rates of what was run",
            caption="The share of what people wrote that each setting would have refused, in percent, with "
            f"95% intervals {_OVER}. Undecided tokens count as accepted; the intervals allow for either.",
            columns=("method", "rejected, %", "undecided, %"),
            rows=tuple(rows),
        )
    ]


def rate_cell(sources: Sources, result: Result) -> Cell:
    """The rejection rate of a result in percent; empty where it was not measured."""
    found = sources.find_measurement(result)
    if found is None:
        return EMPTY
    measured, measurement = found
    rate = _rate(measurement, result)
    value = 100 * rate.value
    how = f"share of {len(measurement)} human tokens that {result.label} refuses, in percent"
    if math.isnan(rate.low):
        return Cell(one_decimal(value), value, jobs=measured.jobs, how=f"{how}; there is no interval")
    low, high = 100 * rate.low, 100 * rate.high
    text = f"{one_decimal(value)} [{one_decimal(low)}, {one_decimal(high)}]"
    return Cell(text, value, low, high, measured.jobs, f"{how}; 95% interval {_OVER}")


def undecided_cell(sources: Sources, result: Result) -> Cell:
    """The share of tokens whose interval does not tell, in percent."""
    found = sources.find_measurement(result)
    if found is None:
        return EMPTY
    measured, measurement = found
    value = 100 * _rate(measurement, result).undecided
    how = f"share of human tokens of which no bound tells whether {result.label} refuses them, in percent"
    return Cell(f"{value:.2g}", value, jobs=measured.jobs, how=how)


def _rate(measurement: Measurement, result: Result) -> Estimate:
    rule = get_rule(result.setting.rule, result.parameter)
    return rejection_rate(measurement, rule, result.setting.constraints or 0, replicates=REPLICATES)


def _table(sources: Sources, name: str, measured: Measured) -> Table:
    measurement = sources.measurement(measured)
    columns = [
        (rule if size is None or len(measured.basis_sizes) == 1 else f"{rule} (c={size})", rule, size)
        for rule in RULES
        for size in (measured.basis_sizes if get_rule_class(rule).basis_aware else (None,))
    ]
    found = [
        parameters_at_rates(measurement, rule, RATES, size or 0, replicates=REPLICATES)
        for _, rule, size in columns
    ]
    rows = [
        Row(
            f"{100 * rate:.0f}%",
            tuple(
                _parameter_cell(measured, rule, rate, parameters[place])
                for (_, rule, _), parameters in zip(columns, found, strict=True)
            ),
        )
        for place, rate in enumerate(RATES)
    ]
    return Table(
        name=name,
        title=f"Parameters by human-text rejection rate, {measured.model}",
        caption=f"The parameter at which each rule refuses a given share of {len(measurement):,} human "
        f"tokens. 95% intervals {_OVER} are in the CSV file. Out of reach: no parameter refuses as much, "
        "or as little.",
        columns=("rejected", *(heading for heading, _, _ in columns)),
        rows=tuple(rows),
        notes=tuple(_reach_notes(measurement, measured.basis_sizes)),
        paper=f"{paper.PLACES['rejection']} of the paper",
    )


def _parameter_cell(measured: Measured, rule: str, rate: float, found: Estimate | None) -> Cell:
    if found is None:
        how = f"no parameter of {rule} refuses {100 * rate:.0f}% of these tokens"
        return Cell("out of reach", jobs=measured.jobs, how=how)
    how = f"the parameter at which {rule} refuses nearest to {100 * rate:.0f}% of human tokens"
    if math.isnan(found.low):
        return Cell(parameter_text(found.value), found.value, jobs=measured.jobs, how=how)
    how += f"; 95% interval {found.low:.4g} to {found.high:.4g} {_OVER}"
    return Cell(parameter_text(found.value), found.value, found.low, found.high, measured.jobs, how)


def _reach_notes(measurement: Measurement, sizes: Sequence[int]) -> list[str]:
    """What is the most that BA-nucleus can refuse, here and in the paper."""
    notes = []
    # Smaller than the probability of any likeliest token, so that no parameter refuses more.
    strictest = get_rule("ba-nucleus", 1e-9)
    for size in sizes:
        most = rejection_rate(measurement, strictest, size, replicates=REPLICATES)
        said = f"BA-nucleus with {size} constraints refuses {100 * most.value:.1f}% at most"
        if not math.isnan(most.low):
            said += f" (95% interval {100 * most.low:.1f} to {100 * most.high:.1f})"
        limit = paper.LARGEST_RATE_OF_BA_NUCLEUS
        where = paper.STATEMENTS["ba-nucleus-rate"].where
        notes.append(f"{said}; the paper has about {100 * limit:.0f}% ({where}).")
    return notes
