"""The results of a study as tables of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.judge.design import PairDesign
from harness.judge.results import Outcome, StudyResults
from harness.judge.shares import Estimate, PairResult
from harness.report import paper
from harness.report.parts import Cell, Row, Table
from harness.words import counted, duration

NAME = "human-evaluation"

_CAPTION = (
    "Shares of all votes, with 95% intervals resampled over prefixes and judges together. The sign test is "
    "exact and two-sided; each prefix counts for the setting with more of its votes."
)
_NOBODY_LEFT = (
    "All judges who voted are in this table, so nobody is left: the other tables count everyone, and what "
    "they show cannot be trusted."
)


def study_tables(results: StudyResults, suffix: str = "") -> list[Table]:
    """The paper's Table 2 for a study, how far its judges can be trusted, and strengths of three settings."""
    kept = results.outcome
    tables = []
    if kept is not None:
        tables.append(_preferences(results, kept, f"{NAME}{suffix}", _title(results)))
    if results.excluded:
        everyone = _preferences(
            results, results.with_all, f"{NAME}-everyone{suffix}", f"{_title(results)}, with all judges"
        )
        tables += [everyone, _excluded(results, suffix)]
    trusted = kept or results.with_all
    tables.append(_judges(results, trusted, suffix))
    if trusted.strengths:
        tables.append(_strengths(results, trusted, suffix))
    return tables


def _title(results: StudyResults) -> str:
    return f"What people prefer: {results.name}"


def _preferences(results: StudyResults, outcome: Outcome, name: str, title: str) -> Table:
    rows, notes = [], []
    for number, (pair, result) in enumerate(outcome.pairs):
        label = f"{pair.first} : {pair.second}"
        if result is None:
            notes.append(f"{label}: no votes yet.")
            continue
        jobs = results.votes.jobs[number] if results.votes.jobs else ()
        rows.append(Row(label, tuple(_cells(result, jobs))))
        notes.append(preference_words(pair, result))
    of_paper = [each for each in paper.HUMAN_EVALUATION if _is_about(outcome, each)]
    rows += [_row_of_paper(each) for each in of_paper]
    notes += [note for pair, _ in outcome.pairs for note in _notes_of(pair)]
    if of_paper:
        notes.append(paper.statement("human-evaluation") + " It gives neither counts nor intervals.")
    return Table(
        name=name,
        title=title,
        caption=_CAPTION,
        columns=("first : second", "first wins", "second wins", "ties", "difference", "sign test", "votes"),
        rows=tuple(rows),
        notes=tuple(notes),
        paper=paper.source(NAME) if of_paper else "",
    )


def _cells(result: PairResult, jobs: tuple[str, ...]) -> Iterator[Cell]:
    who = f"{counted(result.prefixes, 'prefix', 'prefixes')} and {counted(result.judges, 'judge')}"
    for what, share in (("first", result.first), ("second", result.second), ("ties", result.ties)):
        yield _cell(share, jobs, f"share of votes for {what}, over {who}")
    difference = result.difference
    text = f"{difference.value:+.0%} [{difference.low:+.0%}, {difference.high:+.0%}]"
    how = f"share for the first minus share for the second, over {who}"
    yield Cell(text, difference.value, difference.low, difference.high, jobs, how, bold=result.is_shown)
    test = result.sign_test
    yield Cell(
        f"{test.first} of {test.prefixes}, p = {test.p_value:.2g}" if test.prefixes else "all tied",
        test.p_value,
        jobs=jobs,
        how="prefixes with more votes for the first, of those without a tie",
    )
    yield Cell(f"{result.votes:,}", float(result.votes), jobs=jobs, how=f"over {who}")


def _cell(share: Estimate, jobs: tuple[str, ...], how: str) -> Cell:
    text = f"{share.value:.0%} [{share.low:.0%}, {share.high:.0%}]"
    return Cell(text, share.value, share.low, share.high, jobs, how)


def preference_words(pair: PairDesign, result: PairResult) -> str:
    """Whether a preference is shown, in a sentence."""
    low, high = result.difference.low, result.difference.high
    interval = f"{result.difference.value:+.0%} [{low:+.0%}, {high:+.0%}]"
    if result.is_shown:
        better, worse = (pair.first, pair.second) if low > 0 else (pair.second, pair.first)
        return f"{better} is preferred to {worse}: {interval} of votes, p = {result.sign_test.p_value:.2g}."
    words = f"{pair.first} against {pair.second}: no preference shown ({interval} of votes, "
    words += f"p = {result.sign_test.p_value:.2g})."
    if result.sign_test.p_value < 0.05:
        words += " The sign test alone would show one; the interval over judges does not."
    elif result.difference.excludes_zero:
        words += " The interval alone would show one; the sign test over prefixes does not."
    return words


def _notes_of(pair: PairDesign) -> Iterator[str]:
    if pair.identical:
        yield (
            f"{pair.first} and {pair.second} wrote the same text after {pair.identical} of {pair.prefixes} "
            "prefixes. These were not judged, and would be ties."
        )


def _is_about(outcome: Outcome, printed: paper.Preference) -> bool:
    """Whether the study compares the same two rules as a row of the paper."""
    rules = {frozenset((pair.first_rule, pair.second_rule)) for pair, _ in outcome.pairs}
    return frozenset(side.split("=")[0].split(" ")[0] for side in (printed.first, printed.second)) in rules


def _row_of_paper(printed: paper.Preference) -> Row:
    shares = (printed.first_wins, printed.second_wins, printed.ties)
    difference = printed.first_wins - printed.second_wins
    how = "as printed in Table 2 of the paper"
    return Row(
        f"paper: {printed.first} : {printed.second}",
        (
            *(Cell(f"{share:.0%}", share, how=how) for share in shares),
            Cell(f"{difference:+.0%}", difference, how=how),
            Cell(""),
            Cell(""),
        ),
    )


def _excluded(results: StudyResults, suffix: str) -> Table:
    return Table(
        name=f"{NAME}-excluded{suffix}",
        title=f"Judges left out: {results.name}",
        caption=results.rules.words,
        columns=("judge", "answers", "reason"),
        rows=tuple(
            Row(each.judge, (Cell(str(each.answers), float(each.answers)), Cell(each.reason)))
            for each in results.excluded
        ),
        notes=() if results.outcome else (_NOBODY_LEFT,),
    )


def _judges(results: StudyResults, outcome: Outcome, suffix: str) -> Table:
    own = outcome.agreement
    bias = outcome.shown_first
    alpha = "not defined" if own.alpha is None else f"{own.alpha:.2f}"
    rows = [
        ("judges", Cell(str(outcome.judges), float(outcome.judges))),
        ("agreement (Krippendorff's alpha)", Cell(alpha, own.alpha, how=f"ordinal, {own.items} items")),
        ("self-agreement", _count(own.alike, own.repeated, "repeated items answered alike")),
        ("attention checks passed", _count(own.passed_checks, own.checks, "of the judges in the table")),
    ]
    if not math.isnan(bias.value):
        how = "share of non-ties for the text shown first, which is 50% without a bias"
        rows.append(("chose the text shown first", _cell(bias, (), how)))
    if own.median_seconds is not None:
        time = Cell(duration(own.median_seconds), own.median_seconds, how="by the browser's clock")
        rows += [
            ("median time for an answer", time),
            ("time in all", Cell(duration(own.seconds), own.seconds)),
        ]
    return Table(
        name=f"{NAME}-judges{suffix}",
        title=f"How far the judges agree: {results.name}",
        caption="Alpha is 1 if judges agree and 0 if they agree no more than by chance. Repeated items are "
        "shown the other way round.",
        columns=("", "value"),
        rows=tuple(Row(label, (cell,)) for label, cell in rows),
    )


def _count(part: int, whole: int, how: str) -> Cell:
    return Cell(f"{part} of {whole}", part / whole, how=how) if whole else Cell("none asked")


def _strengths(results: StudyResults, outcome: Outcome, suffix: str) -> Table:
    rows = [
        Row(
            each.setting,
            (
                Cell(
                    f"{each.strength.value:+.2f} [{each.strength.low:+.2f}, {each.strength.high:+.2f}]",
                    *(each.strength.value, each.strength.low, each.strength.high),
                    how="log-strength against the mean of all settings",
                ),
                Cell(f"{each.votes:,}", float(each.votes)),
            ),
        )
        for each in outcome.strengths
    ]
    return Table(
        name=f"{NAME}-strengths{suffix}",
        title=f"All settings together: {results.name}",
        caption="Bradley-Terry strengths with ties (Davidson's model), as logarithms against their mean, "
        "with 95% intervals resampled over prefixes and judges. e to the difference of two is the odds of "
        "the first.",
        columns=("setting", "strength", "votes"),
        rows=tuple(rows),
    )


def suffixes(names: Sequence[str]) -> list[str]:
    """What is added to the names of tables; nothing for a single study."""
    return [""] if len(names) == 1 else [f"-{name}" for name in names]
