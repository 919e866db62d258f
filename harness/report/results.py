"""What runs have to show: settings with the scores of each seed, human text, and how it all came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.config.expansion import EqualRate, Setting
from harness.config.schema import SweepConfig
from harness.report.names import short_name
from harness.scoring.scores import StoredScore
from harness.store import Resolution, Run


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
    model_name: str  # what it was loaded as, such as "openai-community/gpt2"
    method: str  # its title in the sweep
    setting: Setting  # its parameter is known
    asked: Setting  # as the sweep has it, perhaps to be matched or the best of several
    resolution: Resolution | None  # how the parameter was found; None where it was written down
    prefix_set: str
    seeds: tuple[Scored, ...]  # at least one
    run_id: int = 0  # runs of one name may differ

    @property
    def place(self) -> tuple[int, str, str, str, str]:
        """What settings that are compared have in common: run, stage, model and prefixes."""
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
        """Rule, parameter and number of constraints, in a few letters; the name of what was imported."""
        if self.is_imported:
            return f"{self.method} ({self.setting})"
        return short_name(self.setting.rule, self.parameter, self.setting.constraints)


@dataclass(frozen=True, slots=True)
class HumanScores:
    """The same statistics of what people wrote, for the prefixes of a model's results."""

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
    """What the programs of a result cost, as the workers' clocks had it."""

    tokens: int
    solver_seconds: float


@dataclass(frozen=True, slots=True)
class Results:
    """All of it. Runs are in the order asked for; results in the order of their sweeps."""

    runs: tuple[Run, ...]
    configs: tuple[SweepConfig, ...]  # of the runs, in the same order
    results: tuple[Result, ...]
    human: tuple[HumanScores, ...]
    measured: tuple[Measured, ...]
    unfinished: int  # jobs of the runs that are not done

    def human_of(self, result: Result) -> HumanScores | None:
        """What people wrote after the prefixes of a result."""
        for found in self.human:
            if (found.model, found.prefix_set) == (result.model, result.prefix_set):
                return found
        return None

    def plain_of(self, result: Result) -> Result | None:
        """The result in the same stage whose rejection rate a basis-aware one was to equal."""
        if not isinstance(result.asked.parameter, EqualRate):
            return None
        reference = result.asked.parameter.reference
        for other in self.results:
            if other.place == result.place and reference in (other.asked, other.setting):
                return other
        return None
