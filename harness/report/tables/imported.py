"""Imported texts against all other texts that continue the same prefixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from harness.report.parts import Missing, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import has_score
from harness.report.tables.differences import difference_rows
from harness.report.tables.labels import compared

_OTHERS = ("seq-rep-4", "distinct-2", "length")


def imported(sources: Sources) -> list[Table | Missing]:
    """A row for each pair of an import and other texts; no table where a run has no imports."""
    results = [result for result in compared(sources.results) if has_score(result, "mauve")]
    pairs = list(_pairs(results))
    if not pairs:
        return []
    others = [name for name in _OTHERS if any(has_score(first, name) for first, _ in pairs)]
    rows, notes = difference_rows(pairs, others, sign_test=False)
    return [
        Table(
            name="imported",
            title="Imported texts against others after the same prefixes",
            caption="Differences paired by prefix, with 95% intervals. MAUVE is times 100. Imported texts "
            "have no seed: they are compared with the mean over the seeds of the others.",
            columns=("texts", "MAUVE", *others),
            rows=rows,
            notes=notes,
        )
    ]


def _pairs(results: Sequence[Result]) -> Iterator[tuple[Result, Result]]:
    """Each pair once, imported texts first."""
    for first, second in combinations(results, 2):
        alike = (first.model, first.prefix_set) == (second.model, second.prefix_set)
        if alike and (first.is_imported or second.is_imported):
            yield (first, second) if first.is_imported else (second, first)
