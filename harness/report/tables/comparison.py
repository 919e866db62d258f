"""MAUVE by method and model, and the differences between basis-aware methods and plain ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from harness.report import paper
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import (
    EMPTY,
    PERCENT,
    difference_cell,
    find_difference,
    has_score,
    jobs_of,
    mauve_cell,
    mauve_of,
    one_decimal,
    spread_cell,
)
from harness.report.tables.labels import compared, config_of, distinct, labels, models_of, table_names
from harness.scoring.estimates import Difference, Source, words
from harness.words import counted


def comparison(sources: Sources) -> list[Table | Missing]:
    """MAUVE with intervals; for one model, with a column for the interval of each source."""
    results = [result for result in compared(sources.results, by_role=True) if has_score(result, "mauve")]
    if not results:
        why = "no texts of methods to compare have been scored"
        return [Missing("Methods by MAUVE", why, "bat-harness run configs/paper/comparison.yaml")]
    one_model = len(models_of(results)) == 1
    if one_model:  # then labels have parameters, and each setting has one row
        results = distinct(results)
    columns, rows = (_spreads if one_model else _by_model)(results, _best(results))
    return [
        Table(
            name="comparison",
            title="Methods by MAUVE",
            caption=_caption(sources, results),
            columns=columns,
            rows=rows,
            notes=tuple(_spread_notes(results)),
            paper=f"{paper.SOURCES['comparison']} of the paper",
        ),
        *([] if one_model else _spread_tables(results)),
    ]


def _spread_tables(results: Sequence[Result]) -> list[Table | Missing]:
    """For each of several models, a table with a column for the interval of each source."""
    models = list(models_of(results))
    tables: list[Table | Missing] = []
    for name, model in zip(table_names("spreads", models), models, strict=True):
        own = distinct(result for result in results if result.model == model)
        columns, rows = _spreads(own, _best(own))
        caption = "MAUVE times 100, and its 95% intervals by what was varied; in brackets: prefixes."
        tables.append(Table(name, f"MAUVE and its sources of variation, {model}", caption, columns, rows))
    return tables


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
        return [Missing("Differences by MAUVE", why, "bat-harness run configs/paper/comparison.yaml")]
    others = [
        name
        for name in ("perplexity", "seq-rep-4")
        if any(has_score(result, name) and has_score(plain, name) for result, plain in pairs)
    ]
    both = {id(result): f"{result.label} minus {plain.label}" for result, plain in pairs}
    row_labels = labels([result for result, _ in pairs], lambda result: both[id(result)])
    rows, notes, shown = [], [], 0
    for label, (result, plain) in zip(row_labels, pairs, strict=True):
        difference = find_difference(result, plain, "mauve")
        assert difference is not None, "both sides have it"
        difference = difference.scaled(PERCENT)
        shown += difference.is_shown
        cells = [difference_cell(result, plain), _sign_cell(difference, result, plain)]
        cells += [difference_cell(result, plain, name) for name in others]
        rows.append(Row(label, tuple(cells)))
        sentence = words(
            difference, first=result.label, second=plain.label, unit="points of MAUVE", show=one_decimal
        )
        notes.append(f"{label.removesuffix(both[id(result)])}{sentence}.")
    notes.append(
        f"The interval excludes zero for {shown} of {counted(len(pairs), 'pair')}; without any difference, "
        "that happens by chance for one in twenty."
    )
    return [
        Table(
            name="differences",
            title="Basis-aware methods against plain ones at the same rejection rate",
            caption="Basis-aware minus plain, paired by prefix, with 95% intervals. MAUVE is times 100. The "
            "sign test counts the blocks of prefixes on which the difference is positive, by jackknife "
            "pseudo-values (exact, two-sided).",
            columns=("methods", "MAUVE", "sign test", *others),
            rows=tuple(rows),
            notes=tuple(notes),
        )
    ]


def _spreads(results: Sequence[Result], best: set[int]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    estimates = [mauve_of(result) for result in results]
    sources = [
        source
        for source in (Source.KMEANS, Source.GENERATION)
        if any(estimate.interval(source) is not None for estimate in estimates)
    ]
    rows = [
        Row(
            label,
            (
                mauve_cell(result, bold=index in best),
                *(spread_cell(estimates[index], source, jobs_of(result)) for source in sources),
            ),
        )
        for index, (label, result) in enumerate(zip(labels(results), results, strict=True))
    ]
    return ("method", "MAUVE", *(f"over {source}" for source in sources)), tuple(rows)


def _by_model(results: Sequence[Result], best: set[int]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    models = list(models_of(results))
    row_labels = labels(results, _asked, by_model=True)
    cells: dict[str, dict[str, Cell]] = {}
    for index, (label, result) in enumerate(zip(row_labels, results, strict=True)):
        cell = mauve_cell(result, bold=index in best)
        # Resolved parameters differ between models, so they cannot be in the label.
        cells.setdefault(label, {})[result.model] = replace(cell, how=f"{result.label}: {cell.how}")
    rows = [Row(label, tuple(row.get(model, EMPTY) for model in models)) for label, row in cells.items()]
    return ("method", *models), tuple(rows)


def _asked(result: Result) -> str:
    return result.label if result.is_imported else str(result.asked)


def _best(results: Sequence[Result]) -> set[int]:
    """The indices of the results with the highest MAUVE of each model, for the same prefixes."""
    groups: dict[tuple[str, str], dict[int, float]] = {}
    for index, result in enumerate(results):
        value = mauve_of(result).value
        if not math.isnan(value):
            groups.setdefault((result.model, result.prefix_set), {})[index] = value
    return {
        index
        for values in groups.values()
        if len(values) > 1
        for index, value in values.items()
        if value == max(values.values())
    }


def _caption(sources: Sources, results: Sequence[Result]) -> str:
    estimates = [mauve_of(result) for result in results]
    prefixes = sorted({config_of(sources.results, result).prefixes.count for result in results})
    seeds = sorted({len(result.seeds) for result in results if not result.is_imported})
    drawn = f"generation seeds: {' or '.join(map(str, seeds))}" if seeds else "all of them are imported"
    kinds = sorted({estimate.main.source for estimate in estimates if estimate.main is not None})
    intervals = f"with the 95% interval over {' or '.join(kinds)}" if kinds else "without intervals"
    return (
        f"MAUVE times 100, higher is better, {intervals}. "
        f"Texts continue {' or '.join(f'{count:,}' for count in prefixes)} prefixes; "
        f"{drawn}. The highest value of each model is bold."
    )


def _spread_notes(results: Sequence[Result]) -> list[str]:
    notes = []
    for source in (Source.KMEANS, Source.GENERATION):
        widths = [
            interval.half_width for result in results if (interval := mauve_of(result).interval(source))
        ]
        if widths:
            notes.append(f"Over {source}, 95% intervals are at most {max(widths):.1f} to either side.")
        else:
            notes.append(f"There is no interval over {source}: every score has only one such seed.")
    if any(result.is_imported for result in results):
        notes.append(
            "Imported texts were made elsewhere, not by a model of this sweep. They are cut to as many "
            "tokens as the others."
        )
    notes.append("Bold marks the highest number. Whether it differs from the others is a separate question.")
    return notes


def _sign_cell(difference: Difference, result: Result, plain: Result) -> Cell:
    test = difference.sign_test
    if test is None:
        return EMPTY
    blocks = test.better + test.worse
    return Cell(
        text=f"{test.better} of {blocks}, p = {test.p_value:.2g}",
        value=test.p_value,
        jobs=tuple(dict.fromkeys((*jobs_of(result), *jobs_of(plain)))),
        how=f"blocks on which {result.label} has the higher MAUVE, by jackknife pseudo-values, {test.over}",
    )
