"""Numbers as tables show them, and cells from scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace

from harness.report.names import parameter_text
from harness.report.parts import Cell
from harness.report.results import Result
from harness.scoring.differences import Difference, difference
from harness.scoring.estimates import Estimate, Source, estimate
from harness.scoring.scores import ENOUGH_TEXTS, StoredScore
from harness.scoring.summarize import is_share

NOT_DEFINED = "not defined"
EMPTY = Cell("")

# MAUVE is shown in percent, as in the paper.
PERCENT = 100.0

# Beside MAUVE of too few texts, and at the end of every table that has such a number.
FEW_TEXTS_MARK = "†"
FEW_TEXTS_NOTE = (
    f"{FEW_TEXTS_MARK} Too few texts for MAUVE: with fewer than {ENOUGH_TEXTS} prefixes it is too high on "
    "average, and another sample of texts would give a rather different value."
)

Show = Callable[[float], str]


def one_decimal(value: float) -> str:
    """87.8"""
    return f"{value:.1f}"


def significant(value: float) -> str:
    """Three significant digits: 0.500, 12.3, 1234."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}".rstrip(".")


def show_of(name: str) -> Show:
    """How a score is shown: shares with three decimals, others with three significant digits."""
    return three_decimals if is_share(name) else significant


def three_decimals(value: float) -> str:
    """0.005"""
    return f"{value:.3f}"


def signed_decimals(value: float) -> str:
    """+0.005"""
    return f"{value:+.3f}"


def number_cell(
    number: Estimate, jobs: Iterable[str], how: str, show: Show = significant, *, plain: bool = False
) -> Cell:
    """A number with its main interval; with `plain`, the text leaves the interval out."""
    jobs = tuple(dict.fromkeys(jobs))
    if math.isnan(number.value):
        return Cell(NOT_DEFINED, jobs=jobs, how=how)
    main = number.main
    if main is None:
        return Cell(show(number.value), number.value, jobs=jobs, how=f"{how}; no interval")
    how = f"{how}; {interval_words(number)}"
    text = show(number.value)
    if not plain:
        text += f" [{show(main.low)}, {show(main.high)}]"
    return Cell(text, number.value, main.low, main.high, jobs, how)


def interval_words(number: Estimate) -> str:
    """The main interval and its source."""
    main = number.main
    if main is None:
        return "no interval"
    return f"95% interval {main.low:.4g} to {main.high:.4g} over {main.source} ({main.count})"


def scores_of(result: Result, name: str, seeds: Container[int | None] | None = None) -> list[StoredScore]:
    """The score of each seed that has it, optionally only of those in `seeds`."""
    chosen = [scored for scored in result.seeds if seeds is None or scored.seed in seeds]
    return [scored.scores[name] for scored in chosen if name in scored.scores]


def has_score(result: Result, name: str) -> bool:
    """Whether any seed has the score."""
    return bool(scores_of(result, name))


def jobs_of(result: Result, score: str | None = None) -> tuple[str, ...]:
    """The jobs that scored a result, or that one of its scores is from; and those that determined its
    parameter."""
    scoring = [seed.score_job for seed in result.seeds]
    if score is not None:
        scoring = [stored.job_id for stored in scores_of(result, score)]
    deciding = () if result.resolution is None else result.resolution.job_ids
    return (*scoring, *deciding)


def mauve_of(result: Result) -> Estimate:
    """MAUVE times 100, with its intervals; the result must have it."""
    return estimate(scores_of(result, "mauve")).scaled(PERCENT)


def mauve_cell(result: Result, *, bold: bool = False) -> Cell:
    """MAUVE times 100 with its main interval; empty if it was not scored."""
    if not has_score(result, "mauve"):
        return EMPTY
    cell = number_cell(mauve_of(result), jobs_of(result), _how("mauve times 100", result), one_decimal)
    return replace(_with_mark(cell, result), bold=bold)


def has_few_texts(result: Result) -> bool:
    """Whether a result has too few texts for MAUVE."""
    return 0 < result.prefixes < ENOUGH_TEXTS  # 0: unknown


def _with_mark(cell: Cell, *results: Result) -> Cell:
    """The cell, marked if it is MAUVE of too few texts."""
    few = [result.prefixes for result in results if has_few_texts(result)]
    if cell.value is None or not few:
        return cell
    how = f"{cell.how}; from {min(few)} prefixes, too few for MAUVE"
    return replace(cell, text=f"{cell.text} {FEW_TEXTS_MARK}", how=how)


def score_cell(result: Result, name: str, *, plain: bool = False) -> Cell:
    """Any other score; empty if it was not computed."""
    scores = scores_of(result, name)
    if not scores:
        return EMPTY
    return number_cell(
        estimate(scores), jobs_of(result, name), _how(name, result), show_of(name), plain=plain
    )


def find_difference(first: Result, second: Result, name: str) -> Difference | None:
    """First minus second in one score, if both have it; paired if they continue the same prefixes."""
    paired = first.prefix_set == second.prefix_set
    # Only seeds that both have, so that the random numbers are the same on both sides.
    shared: set[int | None] | None = None
    if paired and not first.is_imported and not second.is_imported:
        shared = {scored.seed for scored in first.seeds} & {scored.seed for scored in second.seeds}
    left, right = scores_of(first, name, shared), scores_of(second, name, shared)
    return difference(left, right, paired=paired) if left and right else None


def difference_cell(first: Result, second: Result, name: str = "mauve") -> Cell:
    """First minus second with its interval, MAUVE times 100; empty if one side is missing."""
    difference = find_difference(first, second, name)
    if difference is None:
        return EMPTY
    jobs = (*jobs_of(first, name), *jobs_of(second, name))
    pairs = "paired by prefix" if difference.paired else "not paired"
    how = f"{name} of {first.label} minus that of {second.label}, {pairs}"
    if name == "mauve":
        cell = number_cell(difference.scaled(PERCENT), jobs, f"{how}, times 100", signed_decimal)
        return _with_mark(cell, first, second)
    return number_cell(difference, jobs, how, signed_decimals if is_share(name) else signed)


def signed_decimal(value: float) -> str:
    """+0.6"""
    return f"{value:+.1f}"


def signed(value: float) -> str:
    """Three significant digits with a sign: +0.500."""
    return f"+{significant(value)}" if value > 0 else significant(value)


def spread_cell(number: Estimate, source: Source, jobs: Sequence[str]) -> Cell:
    """The interval of one source."""
    interval = number.interval(source)
    if interval is None:
        return EMPTY
    text = f"[{one_decimal(interval.low)}, {one_decimal(interval.high)}]"
    how = f"95% interval of the mean over {interval.count} {source}, Student's t"
    return Cell(text, number.value, interval.low, interval.high, tuple(jobs), how)


def sign_cell(difference: Difference, first: Result, second: Result) -> Cell:
    """On how many blocks of prefixes the first is higher; empty if there is no sign test."""
    test = difference.sign_test
    if test is None:
        return EMPTY
    return Cell(
        text=f"{test.better} of {test.blocks}, p = {test.p_value:.2g}" if test.blocks else "equal on all",
        value=test.p_value,
        jobs=tuple(dict.fromkeys((*jobs_of(first), *jobs_of(second)))),
        how=f"blocks on which {first.label} has the higher MAUVE, by jackknife pseudo-values, {test.over}",
    )


def parameter_cell(result: Result) -> Cell:
    """The parameter of a result, and how it was resolved."""
    resolution = result.resolution
    if resolution is None:
        return Cell(parameter_text(result.parameter), result.parameter, how="given in the sweep")
    return Cell(
        parameter_text(result.parameter), result.parameter, jobs=resolution.job_ids, how=resolution.how
    )


def _how(name: str, result: Result) -> str:
    count = len(scores_of(result, name.split()[0]))
    seeds = "one seed" if count == 1 else f"mean over {count} seeds"
    how = f"{name} of {result.label}" if result.is_imported else f"{name} of {result.label}, {seeds}"
    resolution = result.resolution
    return how if resolution is None else f"{how}; its parameter: {resolution.value:.6g}, {resolution.how}"
