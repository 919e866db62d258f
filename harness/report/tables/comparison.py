"""MAUVE by method and model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result, Results, Sources
from harness.report.tables.cells import (
    EMPTY,
    has_score,
    jobs_of,
    mauve_cell,
    mauve_of,
    spread_cell,
)
from harness.report.tables.labels import compared, distinct, labels, models_of, table_names
from harness.scoring.estimates import Source


def comparison(sources: Sources) -> list[Table | Missing]:
    """MAUVE with intervals; for one model, with a column for the interval of each source."""
    results = [result for result in compared(sources.results, by_role=True) if has_score(result, "mauve")]
    if not results:
        why = "no texts of methods to compare have been scored"
        return [Missing("Methods by MAUVE", why, "bat-harness run configs/paper/comparison.yaml")]
    one_model = len(models_of(results)) == 1
    if one_model:  # then labels have parameters, and each setting has one row
        results = distinct(results)
        columns, rows = _spreads(results, _best(results))
    else:
        columns, rows = _by_model(sources.results, results, _best(results))
    return [
        Table(
            name="comparison",
            title="Methods by MAUVE",
            caption=_caption(results),
            columns=columns,
            rows=rows,
            notes=(*_notes_on_prefixes(results), *_spread_notes(results)),
            paper=sources.corresponds_to("comparison"),
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
            result.setting.rule,
        )
        for index, (label, result) in enumerate(zip(labels(results), results, strict=True))
    ]
    return ("method", "MAUVE", *(f"over {source}" for source in sources)), tuple(rows)


def _by_model(
    every: Results, results: Sequence[Result], best: set[int]
) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    models = list(models_of(results))
    row_labels = labels(results, [every.asked_label(result) for result in results], by_model=True)
    cells: dict[str, dict[str, Cell]] = {}
    rules = dict(zip(row_labels, (result.setting.rule for result in results), strict=True))
    for index, (label, result) in enumerate(zip(row_labels, results, strict=True)):
        cell = mauve_cell(result, bold=index in best)
        # Resolved parameters differ between models, so they cannot be in the label.
        cells.setdefault(label, {})[result.model] = replace(cell, how=f"{result.label}: {cell.how}")
    rows = [
        Row(label, tuple(row.get(model, EMPTY) for model in models), rules[label])
        for label, row in cells.items()
    ]
    return ("method", *models), tuple(rows)


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


def _caption(results: Sequence[Result]) -> str:
    estimates = [mauve_of(result) for result in results]
    prefixes = sorted({result.prefixes for result in results})
    seeds = sorted({len(result.seeds) for result in results if not result.is_imported})
    drawn = f"generation seeds: {' or '.join(map(str, seeds))}" if seeds else "all of them are imported"
    kinds = sorted({estimate.main.source for estimate in estimates if estimate.main is not None})
    intervals = f"with the 95% interval over {' or '.join(kinds)}" if kinds else "without intervals"
    return (
        f"MAUVE times 100, higher is better, {intervals}. "
        f"Texts continue {' or '.join(f'{count:,}' for count in prefixes)} prefixes; "
        f"{drawn}. The highest value of each model is bold."
    )


def _notes_on_prefixes(results: Sequence[Result]) -> list[str]:
    """That rows cannot be compared one by one, where runs continue different prefixes of one model."""
    by_group: dict[tuple[str, str], dict[str, str]] = {}
    for result in results:
        by_group.setdefault((result.model, result.split), {}).setdefault(result.prefix_set, result.origin)
    notes = [
        f"The rows of {' and those of '.join(origins.values())} continue different prefixes ({split}), so "
        "they differ by the prefixes, too."
        for (_, split), origins in by_group.items()
        if len(origins) > 1
    ]
    return list(dict.fromkeys(notes))


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
