"""Imported texts against all other texts that continue the same prefixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from harness.report.parts import Missing, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import PERCENT, difference_cell, find_difference, has_score, one_decimal
from harness.report.tables.labels import compared, labels
from harness.scoring.estimates import words

_OTHERS = ("seq-rep-4", "distinct-2", "length")


def imported(sources: Sources) -> list[Table | Missing]:
    """A row for each pair of an import and other texts; no table where a run has no imports."""
    results = [result for result in compared(sources.results) if has_score(result, "mauve")]
    pairs = list(_pairs(results))
    if not pairs:
        return []
    named = dict(zip(map(id, results), labels(results), strict=True))
    others = [name for name in _OTHERS if any(has_score(first, name) for first, _ in pairs)]
    rows, notes = [], []
    for first, second in pairs:
        names = named[id(first)], named[id(second)]
        cells = [difference_cell(first, second, name) for name in ("mauve", *others)]
        rows.append(Row(" minus ".join(names), tuple(cells)))
        found = find_difference(first, second, "mauve")
        assert found is not None, "both sides have it"
        found = found.scaled(PERCENT)
        said = words(found, first=names[0], second=names[1], unit="points of MAUVE", show=one_decimal)
        notes.append(f"{said}.")
    return [
        Table(
            name="imported",
            title="Imported texts against others after the same prefixes",
            caption="Differences paired by prefix, with 95% intervals. MAUVE is times 100. Imported texts "
            "have no seed: they are compared with the mean over the seeds of the others.",
            columns=("texts", "MAUVE", *others),
            rows=tuple(rows),
            notes=tuple(notes),
        )
    ]


def _pairs(results: Sequence[Result]) -> Iterator[tuple[Result, Result]]:
    """Each pair once, imported texts first."""
    for first, second in combinations(results, 2):
        alike = (first.model, first.prefix_set) == (second.model, second.prefix_set)
        if alike and (first.is_imported or second.is_imported):
            yield (first, second) if first.is_imported else (second, first)
