"""Numbers as tables show them, and cells made of scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence

from harness.report.names import parameter_text
from harness.report.parts import Cell
from harness.report.results import Result
from harness.scoring.estimates import Difference, Estimate, Source, difference, estimate
from harness.scoring.scores import StoredScore
from harness.scoring.summarize import is_share

NOT_DEFINED = "not defined"
EMPTY = Cell("")

# MAUVE is shown as in the paper.
PERCENT = 100.0

Show = Callable[[float], str]


def one_decimal(value: float) -> str:
    """87.8"""
    return f"{value:.1f}"


def significant(value: float) -> str:
    """Three significant digits: 0.500, 12.3, 1234."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")


def show_of(name: str) -> Show:
    """How a score is shown: shares with three decimals, all else with three digits."""
    return three_decimals if is_share(name) else significant


def three_decimals(value: float) -> str:
    """0.005"""
    return f"{value:.3f}"


def signed_decimals(value: float) -> str:
    """+0.005"""
    return f"{value:+.3f}"


def number_cell(
    found: Estimate, jobs: Iterable[str], how: str, show: Show = significant, *, plain: bool = False
) -> Cell:
    """A number with its main interval; `plain` leaves the interval to those who look closer."""
    jobs = tuple(dict.fromkeys(jobs))
    if math.isnan(found.value):
        return Cell(NOT_DEFINED, jobs=jobs, how=how)
    main = found.main
    if main is None:
        return Cell(show(found.value), found.value, jobs=jobs, how=f"{how}; there is no interval")
    how = f"{how}; {interval_words(found)}"
    text = show(found.value)
    if not plain:
        text += f" [{show(main.low)}, {show(main.high)}]"
    return Cell(text, found.value, main.low, main.high, jobs, how)


def interval_words(found: Estimate) -> str:
    """The main interval and what is behind it."""
    main = found.main
    if main is None:
        return "no interval"
    return f"95% interval {main.low:.4g} to {main.high:.4g} over {main.source} ({main.count})"


def scores_of(result: Result, name: str, seeds: Container[int | None] | None = None) -> list[StoredScore]:
    """A score of each seed that has it, or of those among `seeds`."""
    chosen = [scored for scored in result.seeds if seeds is None or scored.seed in seeds]
    return [scored.scores[name] for scored in chosen if name in scored.scores]


def has_score(result: Result, name: str) -> bool:
    """Whether any seed has the score."""
    return bool(scores_of(result, name))


def jobs_of(result: Result) -> tuple[str, ...]:
    """The jobs that scored a result, and those that decided its parameter."""
    decided = () if result.resolution is None else result.resolution.job_ids
    return (*(seed.score_job for seed in result.seeds), *decided)


def mauve_of(result: Result) -> Estimate:
    """MAUVE times 100, with its intervals; the result must have it."""
    return estimate(scores_of(result, "mauve")).scaled(PERCENT)


def mauve_cell(result: Result, *, bold: bool = False) -> Cell:
    """MAUVE times 100 with its main interval; empty where there is none."""
    if not has_score(result, "mauve"):
        return EMPTY
    made = number_cell(mauve_of(result), jobs_of(result), _how("mauve times 100", result), one_decimal)
    return Cell(made.text, made.value, made.low, made.high, made.jobs, made.how, bold)


def score_cell(result: Result, name: str, *, plain: bool = False) -> Cell:
    """Any other score; empty where there is none."""
    found = scores_of(result, name)
    if not found:
        return EMPTY
    return number_cell(estimate(found), jobs_of(result), _how(name, result), show_of(name), plain=plain)


def find_difference(first: Result, second: Result, name: str) -> Difference | None:
    """First minus second in one score, where both have it."""
    # The same random numbers on both sides: seeds that only one of them has are left out.
    shared: set[int | None] | None = None
    if not first.is_imported and not second.is_imported:
        shared = {scored.seed for scored in first.seeds} & {scored.seed for scored in second.seeds}
    one, other = scores_of(first, name, shared), scores_of(second, name, shared)
    return difference(one, other) if one and other else None


def difference_cell(first: Result, second: Result, name: str = "mauve") -> Cell:
    """First minus second with its interval, MAUVE times 100; empty where one side is missing."""
    found = find_difference(first, second, name)
    if found is None:
        return EMPTY
    jobs = (*jobs_of(first), *jobs_of(second))
    how = f"{name} of {first.label} minus that of {second.label}, paired by prefix"
    if name == "mauve":
        return number_cell(found.scaled(PERCENT), jobs, f"{how}, times 100", signed_decimal)
    return number_cell(found, jobs, how, signed_decimals if is_share(name) else signed)


def signed_decimal(value: float) -> str:
    """+0.6"""
    return f"{value:+.1f}"


def signed(value: float) -> str:
    """Three significant digits with a sign: +0.500."""
    return f"+{significant(value)}" if value > 0 else significant(value)


def spread_cell(found: Estimate, source: Source, jobs: Sequence[str]) -> Cell:
    """The interval of one source alone."""
    interval = found.interval(source)
    if interval is None:
        return EMPTY
    text = f"[{one_decimal(interval.low)}, {one_decimal(interval.high)}]"
    how = f"95% interval of the mean over {interval.count} {source}, Student's t"
    return Cell(text, found.value, interval.low, interval.high, tuple(jobs), how)


def parameter_cell(result: Result) -> Cell:
    """A result's parameter, and how it was found."""
    resolution = result.resolution
    if resolution is None:
        return Cell(parameter_text(result.parameter), result.parameter, how="as the sweep has it")
    return Cell(
        parameter_text(result.parameter), result.parameter, jobs=resolution.job_ids, how=resolution.how
    )


def _how(name: str, result: Result) -> str:
    count = len(scores_of(result, name.split()[0]))
    seeds = "one seed" if count == 1 else f"mean over {count} seeds"
    how = f"{name} of {result.label}" if result.is_imported else f"{name} of {result.label}, {seeds}"
    decided = result.resolution
    return how if decided is None else f"{how}; its parameter: {decided.value:.6g}, {decided.how}"
