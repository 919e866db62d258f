"""The results of runs: settings with the scores of each seed, human text, and where both come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from harness.config.expansion import EqualRate, Setting
from harness.config.schema import SweepConfig
from harness.report.names import short_name
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

    run: str
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
    run_id: int = 0  # two runs may have the same name

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
        """Such as "ba-eta=0.0153 (c=20)"; for imported texts, the name of their method."""
        if self.is_imported:
            return f"{self.method} ({self.setting})"
        return short_name(self.setting.rule, self.parameter, self.setting.constraints)


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
    basis_sizes: tuple[int, ...]
    jobs: tuple[str, ...]
    run_id: int = 0


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

    def find_measurement(self, result: Result) -> tuple[Measured, Measurement] | None:
        """The measured human text from which a result's rejection rate is computed, if there is any."""
        constraints = result.setting.constraints
        matching = [
            measured
            for measured in self.results.measured
            if measured.model == result.model and (constraints is None or constraints in measured.basis_sizes)
        ]
        if not matching:
            return None
        # Preferably of the same run.
        chosen = min(matching, key=lambda measured: measured.run_id != result.run_id)
        return chosen, self.measurement(chosen)
