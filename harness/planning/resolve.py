"""Parameters that results decide: by a rejection rate, the rate of another setting, or the best score.

The `detail` of a resolution has the numbers that `how` describes:

    a rate, or an equal one   low, high: the ends of the parameter's 95% interval; None if there is none
    an equal rate             rate, reference, reference_rate: what the rule and its reference reject
    the best score            averages: candidates, each with its score averaged over seeds
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bat.errors import BatError, InvalidInputError
from bat.suggestions import did_you_mean
from harness.config.expansion import AtRate, BestOf, EqualRate, MethodInstance, Resolved, Setting
from harness.jobs import MeasureHumanText, ScoreGenerated, ScoreHuman
from harness.scoring.facts import Better
from harness.store import Reader, Resolution
from workers.measurement_record import Measurement
from workers.rejection import Estimate, matching_parameter, parameter_at_rate, rates_agree

if TYPE_CHECKING:
    from harness.planning.planner import PlannedSetting


@dataclass(frozen=True)
class Candidates:
    """The score jobs of each candidate of a selection, one for each seed."""

    by_value: tuple[tuple[float | None, tuple[ScoreGenerated, ...]], ...]
    human: ScoreHuman | None = None  # of the same prefixes, if candidates are compared with it

    @property
    def ids(self) -> list[str]:
        """The jobs whose results decide."""
        own = [job.id for _, jobs in self.by_value for job in jobs]
        return own if self.human is None else [*own, self.human.id]


class Evidence:
    """The results that decide the parameters of a model.

    Methods return None while results are missing, and raise if the results do not determine a parameter.
    """

    def __init__(self, reader: Reader, measure_jobs: Sequence[MeasureHumanText]) -> None:
        self._reader = reader
        self._measure_ids = [job.id for job in measure_jobs]
        self._measurement: Measurement | None = None

    def measurement(self) -> Measurement | None:
        """The measurement, once it is complete."""
        if self._measurement is None and self._measure_ids:
            if len(self._reader.done_ids(self._measure_ids)) < len(self._measure_ids):
                return None
            self._measurement = self._reader.measurement(self._measure_ids)
        return self._measurement

    def resolve(
        self, name: str, setting: Setting, candidates: Candidates | None
    ) -> tuple[Setting, list[Resolution]] | None:
        """The setting with its parameter, and how it was resolved; None while results are missing.

        `candidates` are those of the selection that decides it, or that decides the setting it must equal.
        """
        match setting.parameter:
            case Resolved():
                return setting, []
            case AtRate(rate=rate):
                return self._at_rate(name, setting, rate)
            case EqualRate(reference=reference):
                resolved = self.resolve(f"{name}: {reference}", reference, candidates)
                return None if resolved is None else self._equal_rate(name, setting, *resolved)
            case BestOf():
                return None if candidates is None else self._best(name, setting, candidates)

    def _at_rate(self, name: str, setting: Setting, rate: float) -> tuple[Setting, list[Resolution]] | None:
        measurement = self.measurement()
        if measurement is None:
            return None
        parameter = parameter_at_rate(measurement, setting.rule, rate, setting.constraints or 0)
        how = f"its rejection rate is nearest {rate:.6g} (95%: {parameter.low:.4g} to {parameter.high:.4g})"
        return self._conclude(name, setting, parameter.value, how, _ends(parameter), self._measure_ids)

    def _equal_rate(
        self, name: str, setting: Setting, reference: Setting, before: list[Resolution]
    ) -> tuple[Setting, list[Resolution]] | None:
        measurement = self.measurement()
        if measurement is None:
            return None
        rule = reference.known_rule()
        match = matching_parameter(measurement, rule, setting.rule, setting.constraints or 0)
        rates = match.rate.value, match.reference_rate.value
        shown = rule.name if rule.parameter is None else f"{rule.name}={rule.parameter:.6g}"
        how = (
            f"rejects {rates[0]:.2%} of human text, {shown} {rates[1]:.2%} "
            f"(95%: {match.parameter.low:.4g} to {match.parameter.high:.4g})"
            f"{'' if rates_agree(*rates) else '; no parameter comes nearer'}"
        )
        detail = _ends(match.parameter) | {
            "rate": rates[0],
            "reference": str(rule),
            "reference_rate": rates[1],
        }
        return self._conclude(name, setting, match.parameter.value, how, detail, self._measure_ids, before)

    def _best(
        self, name: str, setting: Setting, candidates: Candidates
    ) -> tuple[Setting, list[Resolution]] | None:
        assert isinstance(setting.parameter, BestOf)
        metric, better = setting.parameter.metric, setting.parameter.better
        ids = candidates.ids
        if not ids or len(self._reader.done_ids(ids)) < len(set(ids)):
            return None
        scores = {score.job_id: score.value for score in self._reader.scores(ids) if score.name == metric}
        averages = {}
        for value, jobs in candidates.by_value:
            by_seed = [score for job in jobs if (score := self._find(scores, job.id, metric)) is not None]
            if len(by_seed) == len(jobs):
                averages[value] = sum(by_seed) / len(by_seed)
        if not averages:
            raise InvalidInputError(
                f"the best of several candidates is one with a {metric}; on {setting.parameter.split} it is "
                "not defined for any of them. Choose by another score, or give other candidates."
            )
        superlative, target = f"the {_SUPERLATIVES.get(better)} {metric}", 0.0
        if better is Better.HUMAN:
            assert candidates.human is not None
            human = self._find(scores, candidates.human.id, metric)
            if human is None:
                raise InvalidInputError(
                    f"human text must have a {metric} for the closest one to be chosen; it is not defined. "
                    "Choose by another score."
                )
            superlative, target = f"the {metric} closest to that of human text, {human:.4g},", human
        # On ties, the first candidate in the sweep wins.
        best = min(averages, key=lambda value: _distance(averages[value], better, target))
        listed = ", ".join(
            f"{value:g}: {average:.4f}" for value, average in averages.items() if value is not None
        )
        how = f"{superlative} on {setting.parameter.split} ({listed})"
        assert best is not None
        return self._conclude(name, setting, best, how, {"averages": list(averages.items())}, ids)

    def _find(self, scores: Mapping[str, float | None], job_id: str, metric: str) -> float | None:
        """The score of a job, None if it is not defined; raises if there is none of that name."""
        if job_id not in scores:
            names = sorted({score.name for score in self._reader.scores([job_id])})
            raise InvalidInputError(
                f"the score that a parameter is chosen by must be one of {', '.join(names)}; got {metric!r}."
                f"{did_you_mean(metric, names)}"
            )
        return scores[job_id]

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
        resolved = setting.at(value)
        assert isinstance(resolved.parameter, Resolved)
        resolution = Resolution(
            name, setting.as_dict(), how, resolved.parameter.value, tuple(job_ids), detail
        )
        return resolved, [*before, resolution]


_SUPERLATIVES = {Better.HIGHER: "highest", Better.LOWER: "lowest"}


def _distance(average: float, better: Better, human: float) -> float:
    """How far a score is from the best; lower is better."""
    match better:
        case Better.HIGHER:
            return -average
        case Better.LOWER:
            return average
        case Better.HUMAN:
            return abs(average - human)


class Resolver:
    """Resolves the parameters of a sweep: those known before are not resolved again."""

    def __init__(
        self,
        reader: Reader | None,
        known: Sequence[Resolution],
        measure_jobs: Mapping[str, Sequence[MeasureHumanText]],
    ) -> None:
        self._reader = reader
        self._known = {resolution.parameter: resolution for resolution in known}
        self._measure_jobs = measure_jobs  # by model
        self._evidence: dict[str, Evidence] = {}  # by model
        self.new: list[Resolution] = []
        self.unresolvable: dict[str, str] = {}  # why, by the name of the resolution

    def resolve(self, instance: MethodInstance, planned: Iterable[PlannedSetting]) -> Setting | None:
        """The setting of an instance with its parameter; None while it is unresolved.

        `planned` are settings of earlier stages, whose scores may decide it.
        """
        setting = instance.setting
        if isinstance(setting.parameter, Resolved):
            return setting
        name = instance.resolution_name
        before = self._known.get(name)
        if before is not None and before.asked == setting.as_dict():
            return setting.at(before.value)
        if self._reader is None:
            return None
        evidence = self._evidence.setdefault(
            instance.model, Evidence(self._reader, self._measure_jobs.get(instance.model, []))
        )
        try:
            answer = evidence.resolve(name, setting, find_candidates(instance, planned))
        except BatError as error:  # such as a rate that the rule cannot reach; other settings can be run
            self.unresolvable[name] = str(error)
            return None
        if answer is None:
            return None
        resolved, resolutions = answer
        for resolution in resolutions:
            if resolution.parameter not in self._known:
                self._known[resolution.parameter] = resolution
                self.new.append(resolution)
        return resolved


def find_candidates(instance: MethodInstance, planned: Iterable[PlannedSetting]) -> Candidates | None:
    """The scores that decide a selection. Stages are planned in order, so these are planned already."""
    selection = _selection(instance.setting)
    if selection is None:
        return None
    selected, best = selection
    by_value = []
    for value in best.candidates:
        jobs = tuple(
            other.jobs.score
            for other in planned
            if other.instance.stage == best.stage
            and other.instance.model == instance.model
            and other.setting.rule == selected.rule
            and other.setting.constraints == selected.constraints
            and other.setting.temperature == selected.temperature
            and other.setting.parameter == Resolved(value)
        )
        if not jobs:
            return None
        by_value.append((value, jobs))
    if best.better is not Better.HUMAN:
        return Candidates(tuple(by_value))
    human = next(
        (
            other.jobs.human_score
            for other in planned
            if other.instance.stage == best.stage and other.instance.model == instance.model
        ),
        None,
    )
    return None if human is None else Candidates(tuple(by_value), human)


def _selection(setting: Setting) -> tuple[Setting, BestOf] | None:
    """The setting, this one or the one it must equal, whose parameter is the best of a selection."""
    match setting.parameter:
        case BestOf() as best:
            return setting, best
        case EqualRate(reference=reference):
            return _selection(reference)
    return None


def _ends(estimate: Estimate) -> dict[str, Any]:
    """The ends of an interval as JSON, which has no NaN."""
    ends = {"low": estimate.low, "high": estimate.high}
    return {name: None if math.isnan(end) else end for name, end in ends.items()}
