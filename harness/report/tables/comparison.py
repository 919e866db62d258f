"""MAUVE by method and model, and the differences between basis-aware methods and plain ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from harness.report import paper
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result
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
from harness.report.tables.sources import Sources
from harness.scoring.estimates import Difference, Source, words
from harness.words import counted


def comparison(sources: Sources) -> list[Table | Missing]:
    """MAUVE with intervals; for one model, with the interval of each source in a column of its own."""
    results = [result for result in compared(sources.results, by_role=True) if has_score(result, "mauve")]
    if not results:
        why = "no texts on which methods are compared have been scored"
        return [Missing("Methods by MAUVE", why, "bat-harness run configs/paper/comparison.yaml")]
    one_model = len(models_of(results)) == 1
    if one_model:  # labels have parameters then, and one setting needs one row
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
            paper=f"{paper.PLACES['comparison']} of the paper",
        ),
        *([] if one_model else _spread_tables(results)),
    ]


def _spread_tables(results: Sequence[Result]) -> list[Table | Missing]:
    """For each of several models, the interval of each source in a column of its own."""
    models = list(models_of(results))
    tables: list[Table | Missing] = []
    for name, model in zip(table_names("spreads", models), models, strict=True):
        own = distinct(result for result in results if result.model == model)
        columns, rows = _spreads(own, _best(own))
        caption = "MAUVE times 100, and its 95% intervals by what was varied: prefixes in brackets beside it."
        tables.append(Table(name, f"MAUVE and what it varies with, {model}", caption, columns, rows))
    return tables


def differences(sources: Sources) -> list[Table | Missing]:
    """Every basis-aware result against the plain one whose rejection rate it equals."""
    pairs = [
        (result, plain)
        for result in distinct(sources.results.results, by_role=True)
        if (plain := sources.results.plain_of(result)) is not None
        and has_score(result, "mauve")
        and has_score(plain, "mauve")
    ]
    if not pairs:
        why = "no basis-aware method and plain method of equal rejection rate are both scored"
        return [Missing("Differences by MAUVE", why, "bat-harness run configs/paper/comparison.yaml")]
    others = [
        name
        for name in ("perplexity", "seq-rep-4")
        if any(has_score(result, name) and has_score(plain, name) for result, plain in pairs)
    ]
    both = {id(result): f"{result.label} minus {plain.label}" for result, plain in pairs}
    named = labels([result for result, _ in pairs], lambda result: both[id(result)])
    rows, notes, seen = [], [], 0
    for label, (result, plain) in zip(named, pairs, strict=True):
        found = find_difference(result, plain, "mauve")
        assert found is not None, "both sides have it"
        found = found.scaled(PERCENT)
        seen += found.is_shown
        cells = [difference_cell(result, plain), _sign_cell(found, result, plain)]
        cells += [difference_cell(result, plain, name) for name in others]
        rows.append(Row(label, tuple(cells)))
        said = words(found, first=result.label, second=plain.label, unit="points of MAUVE", show=one_decimal)
        notes.append(f"{label.removesuffix(both[id(result)])}{said}.")
    notes.append(
        f"The interval leaves out zero for {seen} of {counted(len(pairs), 'pair')}; where nothing differs, "
        "chance alone makes that happen for one in twenty."
    )
    return [
        Table(
            name="differences",
            title="Basis-aware methods against plain ones of equal rejection rate",
            caption="Basis-aware minus plain, paired by prefix, with 95% intervals. MAUVE is times 100. The "
            "sign test asks on how many of the blocks of prefixes the difference is positive, by jackknife "
            "pseudo-values (exact, two-sided).",
            columns=("methods", "MAUVE", "sign test", *others),
            rows=tuple(rows),
            notes=tuple(notes),
        )
    ]


def _spreads(results: Sequence[Result], best: set[int]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    found = [mauve_of(result) for result in results]
    sources = [
        source
        for source in (Source.KMEANS, Source.GENERATION)
        if any(one.interval(source) is not None for one in found)
    ]
    rows = [
        Row(
            label,
            (
                mauve_cell(result, bold=place in best),
                *(spread_cell(found[place], source, jobs_of(result)) for source in sources),
            ),
        )
        for place, (label, result) in enumerate(zip(labels(results), results, strict=True))
    ]
    return ("method", "MAUVE", *(f"over {source}" for source in sources)), tuple(rows)


def _by_model(results: Sequence[Result], best: set[int]) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    models = list(models_of(results))
    named = labels(results, _asked, by_model=True)
    cells: dict[str, dict[str, Cell]] = {}
    for place, (label, result) in enumerate(zip(named, results, strict=True)):
        made = mauve_cell(result, bold=place in best)
        # Parameters that follow from results differ from model to model, so the label cannot have them.
        cells.setdefault(label, {})[result.model] = replace(made, how=f"{result.label}: {made.how}")
    rows = [Row(label, tuple(row.get(model, EMPTY) for model in models)) for label, row in cells.items()]
    return ("method", *models), tuple(rows)


def _asked(result: Result) -> str:
    return result.label if result.is_imported else str(result.asked)


def _best(results: Sequence[Result]) -> set[int]:
    """The places of the highest MAUVE of each model's continuations of the same prefixes."""
    groups: dict[tuple[str, str], dict[int, float]] = {}
    for place, result in enumerate(results):
        value = mauve_of(result).value
        if not math.isnan(value):
            groups.setdefault((result.model, result.prefix_set), {})[place] = value
    return {
        place
        for values in groups.values()
        if len(values) > 1
        for place, value in values.items()
        if value == max(values.values())
    }


def _caption(sources: Sources, results: Sequence[Result]) -> str:
    found = [mauve_of(result) for result in results]
    prefixes = sorted({config_of(sources.results, result).prefixes.count for result in results})
    seeds = sorted({len(result.seeds) for result in results if not result.is_imported})
    drawn = f"generation seeds: {' or '.join(map(str, seeds))}" if seeds else "all of them are imported"
    kinds = sorted({one.main.source for one in found if one.main is not None})
    between = f"with the 95% interval over {' or '.join(kinds)}" if kinds else "without intervals"
    return (
        f"MAUVE times 100, the higher the better, {between}. "
        f"Texts continue {' or '.join(f'{count:,}' for count in prefixes)} prefixes; "
        f"{drawn}. The highest of each model is bold."
    )


def _spread_notes(results: Sequence[Result]) -> list[str]:
    notes = []
    for source in (Source.KMEANS, Source.GENERATION):
        widths = [one.half_width for result in results if (one := mauve_of(result).interval(source))]
        if widths:
            notes.append(f"Over {source}, 95% intervals reach {max(widths):.1f} to either side at most.")
        else:
            notes.append(f"There is no interval over {source}: every score has one seed of that kind.")
    if any(result.is_imported for result in results):
        notes.append(
            "Imported texts were made elsewhere, not by a model of this sweep. They are cut to as many "
            "tokens as the others."
        )
    notes.append("Bold marks the highest number, not a difference that is shown: see the differences.")
    return notes


def _sign_cell(found: Difference, result: Result, plain: Result) -> Cell:
    test = found.sign_test
    if test is None:
        return EMPTY
    blocks = test.better + test.worse
    return Cell(
        text=f"{test.better} of {blocks}, p = {test.p_value:.2g}",
        value=test.p_value,
        jobs=tuple(dict.fromkeys((*jobs_of(result), *jobs_of(plain)))),
        how=f"blocks on which {result.label} has the higher MAUVE by jackknife pseudo-values, {test.over}",
    )
