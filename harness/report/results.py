"""The results of runs: settings with the scores of each seed, human text, and where both come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from harness.config.expansion import EqualRate, Setting, setting_details
from harness.config.schema import SweepConfig
from harness.report import paper
from harness.report.names import setting_name, with_method
from harness.scoring.scores import StoredScore
from harness.store import Resolution, Run
from workers.measurement_record import Measurement
from workers.time_use import TimeUse


@dataclass(frozen=True, slots=True)
class Scored:
    """The texts of one setting with one seed, and their scores by name; imported texts have no seed."""

    seed: int | None
    score_job: str
    featurize_jobs: tuple[str, ...]
    generate_jobs: tuple[str, ...]
    scores: Mapping[str, StoredScore]


@dataclass(frozen=True, slots=True)
class Result:
    """A setting in a stage for a model, with all of its seeds that are scored."""

    run: str  # its name; with its number if another run of the report has the same name
    stage: str
    split: str
    model: str  # its title in the sweep, such as "Small"
    model_name: str  # the name it was loaded by, such as "openai-community/gpt2"
    method: str  # its title in the sweep
    setting: Setting  # its parameter is known
    asked: Setting  # as in the sweep, where the parameter may be unresolved
    resolution: Resolution | None  # how the parameter was resolved; None if the sweep gives it
    prefix_set: str
    seeds: tuple[Scored, ...]  # at least one
    run_id: int = 0
    prefixes: int = 0  # how many are continued, and so the number of human texts; 0 if unknown
    also_in: tuple[str, ...] = ()  # other runs of the report that share its jobs
    of_several_runs: bool = False  # whether the report has more than one run

    @property
    def comparison_group(self) -> tuple[int, str, str, str, str]:
        """What results that are compared have in common: run, stage, model and prefixes."""
        return (self.run_id, self.run, self.stage, self.model, self.prefix_set)

    @property
    def parameter(self) -> float | None:
        """The rule's parameter, if it takes one."""
        value = self.setting.parameter
        return getattr(value, "value", None)

    @property
    def is_imported(self) -> bool:
        """Whether its texts were made elsewhere."""
        return self.setting.is_imported

    @property
    def label(self) -> str:
        """Such as "ba-eta=0.0153 (c=20)", or "tight (eta=0.0009)" if the sweep names the method."""
        setting = self.setting
        details = (setting.constraints, *setting.temperature_columns)
        return setting_name(self.method, setting.rule, self.parameter, *details)

    @property
    def origin(self) -> str:
        """The runs it is from."""
        return " and ".join((self.run, *self.also_in))

    def shared_with(self, other: Result) -> Result:
        """This result, from the run of another one with the same jobs as well."""
        if other.run in (self.run, *self.also_in):
            return self
        return replace(self, also_in=(*self.also_in, other.run))


@dataclass(frozen=True, slots=True)
class HumanScores:
    """The same statistics of the human continuations of the same prefixes."""

    model: str
    prefix_set: str
    score_job: str
    scores: Mapping[str, StoredScore]


@dataclass(frozen=True, slots=True)
class Measured:
    """Human text that a model has measured, for rejection rates."""

    model: str
    constraints: tuple[int, ...]
    jobs: tuple[str, ...]
    run_id: int = 0
    title: str = ""  # the model, and the run if the report has several

    @property
    def name(self) -> str:
        """What tables and figures call it."""
        return self.title or self.model


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of the linear programs of a result, and the use of its workers' time, by their clocks."""

    tokens: int
    solver_seconds: float
    time_use: TimeUse | None = None  # unknown for texts of older versions


@dataclass(frozen=True, slots=True)
class Results:
    """All results. Runs are in the order given; results in the order of their sweeps."""

    runs: tuple[Run, ...]
    configs: tuple[SweepConfig, ...]  # of the runs, in the same order
    results: tuple[Result, ...]
    human: tuple[HumanScores, ...]
    measured: tuple[Measured, ...]
    unfinished: int  # jobs of the runs that are not done

    def config_of(self, result: Result) -> SweepConfig:
        """The sweep of a result."""
        return next(
            config for run, config in zip(self.runs, self.configs, strict=True) if run.id == result.run_id
        )

    def asked_label(self, result: Result) -> str:
        """A result by what its sweep asks for, which is the same for every model."""
        if result.is_imported:
            return result.label
        asked, plain = str(result.asked), self.plain_of(result)
        if plain is not None and plain.method != plain.setting.rule:
            setting = result.setting
            details = setting_details(setting.rule, setting.constraints, *setting.temperature_columns)
            asked = f"{setting.rule} rejecting as much as {plain.method}{details}"
        return with_method(result.method, result.setting.rule, asked)

    def human_of(self, result: Result) -> HumanScores | None:
        """The scores of the human continuations of a result's prefixes."""
        for human in self.human:
            if (human.model, human.prefix_set) == (result.model, result.prefix_set):
                return human
        return None

    def plain_of(self, result: Result) -> Result | None:
        """The plain result to whose rejection rate a basis-aware result is matched."""
        if not isinstance(result.asked.parameter, EqualRate):
            return None
        reference = result.asked.parameter.reference
        for other in self.results:
            same_group = other.comparison_group == result.comparison_group
            if same_group and reference in (other.asked, other.setting):
                return other
        return None


@dataclass(frozen=True, slots=True)
class Sources:
    """Results, and functions that load what is too large to keep with them."""

    results: Results
    measurement: Callable[[Measured], Measurement]
    cost: Callable[[Result], Cost | None]  # None if unknown
    paper: bool = False  # whether the paper's numbers and statements are shown beside the results

    def corresponds_to(self, part: str) -> str:
        """What a part corresponds to in the paper; empty unless the paper is shown."""
        return paper.source(part) if self.paper else ""

    def paper_says(self, name: str) -> tuple[str, ...]:
        """A statement of the paper as a note; none unless the paper is shown."""
        return (paper.statement(name),) if self.paper else ()

    def find_measurement(self, result: Result) -> tuple[Measured, Measurement] | None:
        """The measured human text from which a result's rejection rate is computed, if there is any.

        Imported texts have no rule that could reject. With a temperature first, a rule rejects by a
        distribution that was not measured.
        """
        setting, constraints = result.setting, result.setting.constraints
        if result.is_imported or (setting.temperature is not None and setting.temperature.is_first):
            return None
        matching = [
            measured
            for measured in self.results.measured
            if measured.model == result.model and (constraints is None or constraints in measured.constraints)
        ]
        if not matching:
            return None
        # Preferably of the same run.
        chosen = min(matching, key=lambda measured: measured.run_id != result.run_id)
        measurement = self.measurement(chosen)
        return (chosen, measurement) if measurement.answers(setting.rule) else None
