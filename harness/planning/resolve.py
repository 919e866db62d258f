"""Parameters that follow from results: a rejection rate, the rate of another setting, the best score.

The `detail` of a resolution has the numbers that `how` says in words:

    a rate, or an equal one   low, high: the ends of the parameter's 95% interval; None if there is none
    an equal rate             rate, reference, reference_rate: what the rule, and the one it equals, refuse
    the best score            averages: candidates, each with its score averaged over seeds
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.config.expansion import AtRate, BestOf, EqualRate, Resolved, Setting
from harness.jobs import MeasureHumanText, ScoreGenerated
from harness.store import Reader, Resolution
from workers.measurement_record import Measurement
from workers.rejection import Estimate, matching_parameter, parameter_at_rate


@dataclass(frozen=True)
class Candidates:
    """The score jobs of each candidate of a selection: one for each seed and sample."""

    by_value: tuple[tuple[float | None, tuple[ScoreGenerated, ...]], ...]


class Evidence:
    """The results that decide the parameters of one model. None where they are not there yet."""

    def __init__(self, reader: Reader, measure_jobs: Sequence[MeasureHumanText]) -> None:
        self._reader = reader
        self._measure_ids = [job.id for job in measure_jobs]
        self._measurement: Measurement | None = None

    def measurement(self) -> Measurement | None:
        """What was measured, once all of it is."""
        if self._measurement is None and self._measure_ids:
            if len(self._reader.done_ids(self._measure_ids)) < len(self._measure_ids):
                return None
            self._measurement = self._reader.measurement(self._measure_ids)
        return self._measurement

    def resolve(
        self, name: str, setting: Setting, candidates: Candidates | None
    ) -> tuple[Setting, list[Resolution]] | None:
        """The setting with its parameter known, and how it came to be; None while something is missing.

        `candidates` are those of the selection that decides it, or the setting it is to equal.
        """
        match setting.parameter:
            case Resolved():
                return setting, []
            case AtRate(rate=rate):
                return self._at_rate(name, setting, rate)
            case EqualRate(reference=reference):
                found = self.resolve(f"{name}: {reference}", reference, candidates)
                return None if found is None else self._equal_rate(name, setting, *found)
            case BestOf():
                return None if candidates is None else self._best(name, setting, candidates)

    def _at_rate(self, name: str, setting: Setting, rate: float) -> tuple[Setting, list[Resolution]] | None:
        measurement = self.measurement()
        if measurement is None:
            return None
        found = parameter_at_rate(measurement, setting.rule, rate, setting.constraints or 0)
        how = f"its rejection rate is nearest {rate:.6g} (95%: {found.low:.4g} to {found.high:.4g})"
        return self._conclude(name, setting, found.value, how, _ends(found), self._measure_ids)

    def _equal_rate(
        self, name: str, setting: Setting, reference: Setting, before: list[Resolution]
    ) -> tuple[Setting, list[Resolution]] | None:
        measurement = self.measurement()
        if measurement is None:
            return None
        rule = reference.known_rule()
        found = matching_parameter(measurement, rule, setting.rule, setting.constraints or 0)
        how = (
            f"rejects {found.rate.value:.4%} of human text, {rule} {found.reference_rate.value:.4%} "
            f"(95%: {found.parameter.low:.4g} to {found.parameter.high:.4g})"
        )
        detail = _ends(found.parameter) | {
            "rate": found.rate.value,
            "reference": str(rule),
            "reference_rate": found.reference_rate.value,
        }
        return self._conclude(name, setting, found.parameter.value, how, detail, self._measure_ids, before)

    def _best(
        self, name: str, setting: Setting, candidates: Candidates
    ) -> tuple[Setting, list[Resolution]] | None:
        assert isinstance(setting.parameter, BestOf)
        metric = setting.parameter.metric
        ids = [job.id for _, jobs in candidates.by_value for job in jobs]
        if not ids or len(self._reader.done_ids(ids)) < len(set(ids)):
            return None
        scores = {score.job_id: score.value for score in self._reader.scores(ids) if score.name == metric}
        averages = {}
        for value, jobs in candidates.by_value:
            known = [scores[job.id] for job in jobs]
            if any(score is None for score in known):
                continue
            averages[value] = sum(score for score in known if score is not None) / len(known)
        if not averages:
            return None
        # The first of equals: the order is that of the configuration.
        winner = max(averages, key=lambda value: averages[value])
        listed = ", ".join(
            f"{value:g}: {average:.4f}" for value, average in averages.items() if value is not None
        )
        how = f"the highest {metric} on {setting.parameter.split} ({listed})"
        assert winner is not None
        return self._conclude(name, setting, winner, how, {"averages": list(averages.items())}, ids)

    def _conclude(
        self,
        name: str,
        setting: Setting,
        value: float,
        how: str,
        detail: dict[str, Any],
        job_ids: Sequence[str],
        before: Sequence[Resolution] = (),
    ) -> tuple[Setting, list[Resolution]]:
        known = setting.at(value)
        assert isinstance(known.parameter, Resolved)
        asked = setting.as_dict()
        resolution = Resolution(name, asked, how, known.parameter.value, tuple(job_ids), detail)
        return known, [*before, resolution]


def _ends(found: Estimate) -> dict[str, Any]:
    """The ends of an interval as JSON, which has no NaN."""
    ends = {"low": found.low, "high": found.high}
    return {name: None if math.isnan(end) else end for name, end in ends.items()}
