"""Differences between pairs of results: matched by rejection rate, or chosen by the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.report.parts import Missing, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import (
    EMPTY,
    PERCENT,
    difference_cell,
    find_difference,
    has_score,
    one_decimal,
    sign_cell,
)
from harness.report.tables.comparing import Comparison, Pair
from harness.report.tables.labels import distinct, joined, labels
from harness.report.tables.matching import unequal_rates
from harness.scoring.differences import words
from harness.words import counted

_SIGN_TEST = (
    "The sign test counts the blocks of prefixes on which the difference of MAUVE is positive, by jackknife "
    "pseudo-values (exact, two-sided)."
)


def differences(sources: Sources) -> list[Table | Missing]:
    """Every basis-aware result against the plain one with the same rejection rate."""
    pairs = [
        (result, plain)
        for result in distinct(sources.results.results, by_role=True)
        if (plain := sources.results.plain_of(result)) is not None
        and has_score(result, "mauve")
        and has_score(plain, "mauve")
    ]
    if not pairs:
        why = "no basis-aware method and plain method with the same rejection rate are both scored"
        command = "bat-harness run configs/paper/comparison.yaml"
        return [Missing("Differences at equal rejection rates", why, command, of_paper=True)]
    shown = sum(difference.is_shown for pair in pairs if (difference := find_difference(*pair, "mauve")))
    rows, notes = difference_rows(pairs, _others(pairs, ("perplexity", "seq-rep-4")))
    return [
        Table(
            name="differences",
            title="Basis-aware methods against plain ones at the same rejection rate",
            caption="Basis-aware minus plain, paired by prefix, with 95% intervals. MAUVE is times 100. "
            f"{_SIGN_TEST}",
            columns=("methods", "MAUVE", "sign test", *_others(pairs, ("perplexity", "seq-rep-4"))),
            rows=rows,
            notes=(
                *notes,
                *unequal_rates(result for result, _ in pairs),
                f"The interval excludes zero for {shown} of {counted(len(pairs), 'pair')}; without any "
                "difference, that happens by chance for one in twenty.",
            ),
        )
    ]


def comparison_table(comparison: Comparison, name: str) -> Table:
    """What a user asked to compare, pair by pair."""
    pairs = comparison.pairs
    others = _others(pairs, ("perplexity", "seq-rep-4", "distinct-2", "length"))
    unpaired = [pair for pair in pairs if pair[0].prefix_set != pair[1].prefix_set]
    paired = "paired by prefix" if not unpaired else "not paired where noted"
    sign_test = len(unpaired) < len(pairs)
    if not sign_test:
        paired = "not paired"
    rows, notes = difference_rows(pairs, others, sign_test=sign_test)
    return Table(
        name=name,
        title=f"{comparison.first} against {comparison.second}",
        caption=f"{comparison.first} minus {comparison.second}, {paired}, with 95% intervals. MAUVE is times "
        f"100.{f' {_SIGN_TEST}' if sign_test else ''}",
        columns=("pair", "MAUVE", *(("sign test",) if sign_test else ()), *others),
        rows=rows,
        notes=(*notes, *dict.fromkeys(map(_why_unpaired, unpaired))),
    )


def difference_rows(
    pairs: Sequence[Pair], others: Sequence[str], *, sign_test: bool = True
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """A row for each pair with MAUVE, its sign test and other scores; and a sentence for each."""
    names = [(_told_from(first, second), _told_from(second, first, with_run=True)) for first, second in pairs]
    both = [" minus ".join(pair) for pair in names]
    rows, notes = [], []
    row_labels = labels([first for first, _ in pairs], both)
    for label, name, (first, second), base in zip(row_labels, names, pairs, both, strict=True):
        cells = [difference_cell(first, second)]
        difference = find_difference(first, second, "mauve")
        if difference is not None:
            scaled = difference.scaled(PERCENT)
            said = words(scaled, first=name[0], second=name[1], unit="points of MAUVE", show=one_decimal)
            notes.append(f"{label.removesuffix(base)}{said}.")
        if sign_test:
            cells.append(EMPTY if difference is None else sign_cell(difference, first, second))
        cells += [difference_cell(first, second, score) for score in others]
        rows.append(Row(label, tuple(cells), first.setting.rule))
    return tuple(rows), tuple(notes)


# What may tell the two sides of a pair apart besides their labels.
_SIDES: tuple[Callable[[Result], str], ...] = (lambda result: result.model, lambda result: result.stage)


def _told_from(result: Result, other: Result, *, with_run: bool = False) -> str:
    """The label of one side of a pair, after what distinguishes it from the other side.

    With the run, that alone is enough if both have the same label.
    """
    getters = ((lambda each: each.origin), *_SIDES) if with_run else _SIDES
    origin = [get(result) for get in getters if get(result) != get(other)]
    if with_run and origin and result.label == other.label:
        return ", ".join(origin)
    return joined(origin, result.label)


def _others(pairs: Sequence[Pair], names: Sequence[str]) -> list[str]:
    """The scores that both sides of any pair have."""
    return [name for name in names if any(all(has_score(side, name) for side in pair) for pair in pairs)]


def _why_unpaired(pair: Pair) -> str:
    first, second = pair
    sentence = (
        f"{first.origin} and {second.origin} continue different prefixes, so these differences are not "
        "paired, and their intervals are wider: the errors of both sides add up."
    )
    if first.prefixes != second.prefixes:
        sentence += (
            f" MAUVE also depends on the number of texts, {first.prefixes:,} and {second.prefixes:,}: it "
            "tends to fall as texts are added."
        )
    return sentence
