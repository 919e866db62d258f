"""A sweep expanded: every setting to run, with a parameter that is known or that results will decide.

    Resolved    a number, or none for a rule that takes none
    AtRate      the parameter with a given human-text rejection rate            needs the measurement
    EqualRate   the parameter that rejects as much as another setting does      needs the measurement
    BestOf      the candidate that scored best in an earlier stage              needs that stage's scores

An `EqualRate` holds the setting that it must equal, whose own parameter can be any of these: resolving is a
recursion that ends. All are frozen, hashable values without state of a run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bat.rules import Rule, get_rule
from bat.rules.form import BASIS_AWARE_PREFIX
from bat.temperature import Temperature
from harness.config.checks import find_selection, get_reference
from harness.config.methods import Best, Choice, Match, Method
from harness.config.sections import Split
from harness.scoring.facts import Better

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from harness.config.stages import Stage


# Used instead of the name of a rule for texts that were made elsewhere.
IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Resolved:
    """A parameter that is known."""

    value: float | None

    def as_dict(self) -> Any:
        """As in YAML."""
        return self.value


@dataclass(frozen=True, slots=True)
class AtRate:
    """The parameter whose human-text rejection rate is `rate`."""

    rate: float

    def as_dict(self) -> Any:
        """As in YAML."""
        return {"hrr": self.rate}


@dataclass(frozen=True, slots=True)
class EqualRate:
    """The parameter that rejects as much human text as `reference` does."""

    reference: Setting

    def as_dict(self) -> Any:
        """As in YAML, except that the other method is written in full."""
        return {"match": self.reference.as_dict()}


@dataclass(frozen=True, slots=True)
class BestOf:
    """The candidate whose `metric`, averaged over seeds, was the best in an earlier stage."""

    metric: str
    stage: str
    split: Split
    candidates: tuple[float | None, ...]
    better: Better = Better.HIGHER

    def as_dict(self) -> Any:
        """As in YAML, with the stage that runs the candidates."""
        among = list(self.candidates)
        best = {"metric": self.metric, "stage": self.stage, "split": self.split, "among": among}
        if self.better is not Better.HIGHER:  # before other directions there was none to store
            best["better"] = self.better.value
        return {"best": best}


Parameter = Resolved | AtRate | EqualRate | BestOf


@dataclass(frozen=True, slots=True)
class Setting:
    """A rule, its parameter, its number of constraints (None for a plain rule) and its temperature.

    Texts made elsewhere have the setting `Setting.imported()`.
    """

    rule: str
    parameter: Parameter
    constraints: int | None = None
    temperature: Temperature | None = None  # with its order; None is 1

    @classmethod
    def imported(cls) -> Setting:
        """The setting of texts made elsewhere."""
        return cls(IMPORTED, Resolved(None))

    @property
    def is_imported(self) -> bool:
        """Whether its texts were made elsewhere."""
        return self.rule == IMPORTED

    @property
    def is_resolved(self) -> bool:
        """Whether its parameter is known, so that it can be run."""
        return isinstance(self.parameter, Resolved)

    @property
    def needs_measurement(self) -> bool:
        """Whether rejection rates decide its parameter, directly or through a reference."""
        match self.parameter:
            case EqualRate() | AtRate():
                return True
        return False

    @property
    def needs_stages(self) -> tuple[str, ...]:
        """The stages whose scores decide its parameter, directly or through a reference."""
        match self.parameter:
            case BestOf(stage=stage):
                return (stage,)
            case EqualRate(reference=reference):
                return reference.needs_stages
        return ()

    def at(self, value: float) -> Setting:
        """The same setting with this parameter; InvalidInputError if it is invalid for the rule."""
        return dataclasses.replace(self, parameter=Resolved(get_rule(self.rule, value).parameter))

    @property
    def known_parameter(self) -> float | None:
        """The parameter, which must be known; None for a rule that takes none."""
        assert isinstance(self.parameter, Resolved), f"the parameter of {self} is not known yet"
        return self.parameter.value

    def known_rule(self) -> Rule:
        """The rule with its parameter, which must be known."""
        return get_rule(self.rule, self.known_parameter)

    @property
    def temperature_columns(self) -> tuple[float | None, str | None]:
        """The temperature and its order, as tables store them: NULL at 1."""
        return (None, None) if self.temperature is None else (self.temperature.value, self.temperature.order)

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, the same for equal settings."""
        plain = {"rule": self.rule, "parameter": self.parameter.as_dict(), "constraints": self.constraints}
        if self.temperature is not None:
            plain |= {"temperature": self.temperature.value, "temperature_order": self.temperature.order}
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Setting:
        """The setting that `as_dict` wrote."""
        heat = Temperature(data["temperature"], data["temperature_order"]) if "temperature" in data else None
        return cls(data["rule"], _parameter_from(data["parameter"]), data["constraints"], heat)

    def __str__(self) -> str:
        if self.is_imported:
            return IMPORTED
        match self.parameter:
            case Resolved(value=value):
                text = str(get_rule(self.rule, value))
            case AtRate(rate=rate):
                text = f"{self.rule} rejecting {100 * rate:g}%"
            case EqualRate(reference=reference):
                text = f"{self.rule} rejecting as much as {reference}"
            case BestOf(metric=metric, split=split):
                text = f"{self.rule} best on {split} by {metric}"
        return text + setting_details(self.rule, self.constraints, *self.temperature_columns)


def setting_details(
    rule: str, constraints: int | None, temperature: float | None = None, order: str | None = None
) -> str:
    """What follows a rule and its parameter: " (c=20, T=0.7)". An unusual order follows: " (T=2 last)"."""
    details = [] if constraints is None else [f"c={constraints}"]
    if temperature is not None:
        usual = "last" if rule.startswith(BASIS_AWARE_PREFIX) else "first"
        details.append(f"T={temperature:g}" if order == usual else f"T={temperature:g} {order}")
    return f" ({', '.join(details)})" if details else ""


def _parameter_from(data: Any) -> Parameter:
    match data:
        case {"hrr": rate}:
            return AtRate(float(rate))
        case {"match": reference}:
            return EqualRate(Setting.from_dict(reference))
        case {"best": best}:
            candidates = tuple(None if value is None else float(value) for value in best["among"])
            better = Better(best.get("better", Better.HIGHER))
            return BestOf(best["metric"], best["stage"], best["split"], candidates, better)
    return Resolved(None if data is None else float(data))


@dataclass(frozen=True, slots=True)
class MethodInstance:
    """A setting in a stage, for a model and a seed: every prefix is continued with it, `samples` times.

    Texts made elsewhere are an instance, too, with one text per prefix and no seed.
    """

    stage: str
    split: Split
    model: str  # its title in the sweep
    method: str  # its title in the sweep
    setting: Setting
    seed: int | None

    @property
    def resolution_name(self) -> str:
        """The name in the store of a parameter that results decide: the same for every seed."""
        return f"{self.stage}: {self.method} on {self.model}: {self.setting}"

    @property
    def name(self) -> str:
        """The name of the instance in the store."""
        return self.resolution_name if self.seed is None else f"{self.resolution_name}, seed {self.seed}"


@dataclass(frozen=True, slots=True)
class MeasureInstance:
    """Human text measured by a model, as the sweep's `measurement` says."""

    stage: str
    split: Split
    model: str  # its title in the sweep


def expand(config: SweepConfig) -> list[MethodInstance]:
    """List what is generated: by stage, model, method, constraints, temperature, parameter and seed.

    Imports of a model come after its methods.
    """
    return [
        instance
        for stage in config.stages
        for model in config.models_of(stage)
        for instance in (*_generated(config, stage, model.title), *_imported(config, stage, model.title))
    ]


def _generated(config: SweepConfig, stage: Stage, model: str) -> Iterator[MethodInstance]:
    for method in config.methods_of(stage):
        for setting in settings(config, stage, model, method):
            for seed in config.seeds_of(stage):
                yield MethodInstance(stage.name, stage.text_split, model, method.title, setting, seed)


def _imported(config: SweepConfig, stage: Stage, model: str) -> Iterator[MethodInstance]:
    for source in config.imports_of(stage, model):
        yield MethodInstance(stage.name, stage.text_split, model, source.name, Setting.imported(), None)


def measurements(config: SweepConfig) -> list[MeasureInstance]:
    """List what is measured: each model at most once."""
    return [
        MeasureInstance(stage.name, config.measurement.split, model.title)
        for stage in config.stages
        if stage.kind == "measure"
        for model in config.models_of(stage)
    ]


def settings(config: SweepConfig, stage: Stage, model: str, method: Method) -> list[Setting]:
    """List the settings of a method in a stage, for a model."""
    return [
        Setting(method.rule, parameter, constraints, temperature)
        for constraints in method.constraint_counts
        for temperature in method.temperatures
        for parameter in _parameters(config, stage, model, method, temperature)
    ]


def _parameters(
    config: SweepConfig, stage: Stage, model: str, method: Method, temperature: Temperature | None
) -> Iterator[Parameter]:
    match method.parameter:
        case Choice(hrr=tuple() as rates):
            yield from map(AtRate, rates)
        case Choice(match=Match() as match):
            references = settings(config, stage, model, get_reference(config, match))
            yield from map(EqualRate, _at_temperature(references, temperature))
        case Choice(best=Best() as best) if best.split != stage.text_split:
            selection = find_selection(config, stage, model, method)
            assert selection is not None, "checked when the sweep was loaded"
            candidates = tuple(get_rule(method.rule, value).parameter for _, value in method.literals())
            assert best.direction is not None, "checked when the sweep was loaded"
            yield BestOf(best.metric, selection.name, best.split, candidates, best.direction)
        case None:
            yield Resolved(None)
        case _:
            yield from (Resolved(get_rule(method.rule, value).parameter) for _, value in method.literals())


def _at_temperature(references: list[Setting], temperature: Temperature | None) -> list[Setting]:
    """The settings that a setting with a temperature is matched to: those with the same, if there are any.

    Rejection rates do not depend on it, so otherwise each reference counts once, at temperature 1; one whose
    parameter is the best of a selection counts at the temperatures that were selected for.
    """
    same = [reference for reference in references if reference.temperature == temperature]
    return same or list(
        dict.fromkeys(
            each if each.needs_stages else dataclasses.replace(each, temperature=None) for each in references
        )
    )
