"""The tables of a report. Each builder gives its tables, or says what is missing for them.

sources.py         what tables are made from
cells.py           numbers as they are shown; labels.py: which results, under which names
comparison.py      MAUVE by method and model; differences at equal rejection rates
imported.py        imported texts against all others of the same prefixes
statistics.py      other statistics of texts, beside human text
sampling.py        how tokens were accepted, and what it cost
lower_entropy.py   the paper's Table 1
sweeps.py          MAUVE along eta, and along the number of constraints
rejection.py       human-text rejection rates
selection.py       parameters chosen on validation text; matching.py: by rejection rate
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace

from harness.report.parts import Missing, Table

# Modules, not functions: several functions have the name of their module, which they must not hide.
from harness.report.tables import (
    comparison,
    imported,
    lower_entropy,
    matching,
    rejection,
    sampling,
    selection,
    statistics,
    sweeps,
)
from harness.report.tables.sources import Sources

__all__ = ["TABLES", "Builder", "Sources", "build"]

Builder = Callable[[Sources], list[Table | Missing]]

# By the name of the table. Where there is one for each model, names go on with the model's: statistics-xl.
TABLES: Mapping[str, Builder] = {
    "comparison": comparison.comparison,
    "differences": comparison.differences,
    "imported": imported.imported,
    "statistics": statistics.statistics,
    "sampling": sampling.sampling,
    "lower-entropy": lower_entropy.lower_entropy,
    "eta-sweep": sweeps.eta_sweep,
    "constraints": sweeps.constraints,
    "rejection": rejection.rejection,
    "rates": rejection.rates,
    "selection": selection.selection,
    "matching": matching.matching,
}


def build(sources: Sources) -> list[Table | Missing]:
    """All tables in the order of TABLES; a measurement is asked for once."""
    cached = replace(sources, measurement=functools.cache(sources.measurement))
    return [part for builder in TABLES.values() for part in builder(cached)]
