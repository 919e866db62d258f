"""The tables of a report. Each builder returns its tables, or what is missing for them.

cells.py           numbers as text; labels.py: which results, under which names
comparison.py      MAUVE by method and model
differences.py     pairs: at equal rejection rates, or chosen by the user (comparing.py)
distances.py       divergences on MAUVE's clusters, precision and recall
leaderboard.py     settings of all runs ranked, ties shown as ties
imported.py        imported texts against all others of the same prefixes
statistics.py      other statistics of texts, beside human text
sampling.py        how tokens were accepted, and at what cost
lower_entropy.py   the paper's Table 1
sweeps.py          MAUVE along eta, and along the number of constraints
rejection.py       human-text rejection rates
tuning.py          how many settings each method was given on validation text
selection.py       parameters chosen on validation text; matching.py: by rejection rate
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace

from harness.report.parts import Missing, Table
from harness.report.results import Sources

# Modules, not functions: several functions have the name of their module and would hide it.
from harness.report.tables import (
    comparison,
    differences,
    distances,
    imported,
    leaderboard,
    lower_entropy,
    matching,
    rejection,
    sampling,
    selection,
    statistics,
    sweeps,
    tuning,
)
from harness.report.tables.cells import FEW_TEXTS_MARK, FEW_TEXTS_NOTE

__all__ = ["TABLES", "Builder", "Sources", "build", "with_footnotes"]

Builder = Callable[[Sources], list[Table | Missing]]

# By the name of the table. If there is one for each model, the model is added: statistics-xl.
TABLES: Mapping[str, Builder] = {
    "comparison": comparison.comparison,
    "leaderboard": leaderboard.leaderboard,
    "distances": distances.distances,
    "all-scores": statistics.all_scores,
    "differences": differences.differences,
    "imported": imported.imported,
    "statistics": statistics.statistics,
    "sampling": sampling.sampling,
    "lower-entropy": lower_entropy.lower_entropy,
    "eta-sweep": sweeps.eta_sweep,
    "constraints": sweeps.constraints,
    "rejection": rejection.rejection,
    "rates": rejection.rates,
    "tuning": tuning.tuning,
    "selection": selection.selection,
    "matching": matching.matching,
}


def build(sources: Sources) -> list[Table | Missing]:
    """All tables in the order of TABLES; each measurement is loaded once."""
    cached = replace(sources, measurement=functools.cache(sources.measurement))
    return [with_footnotes(part) for builder in TABLES.values() for part in builder(cached)]


def with_footnotes(part: Table | Missing) -> Table | Missing:
    """A table with the explanation of a mark, if one of its cells has it."""
    if isinstance(part, Missing):
        return part
    marked = any(cell.text.endswith(FEW_TEXTS_MARK) for row in part.rows for cell in row.cells)
    return replace(part, notes=(FEW_TEXTS_NOTE, *part.notes)) if marked else part
