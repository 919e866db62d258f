"""Statistics of texts beside MAUVE, by the names that a sweep's scoring.statistics has for them.

docs/scores.md defines every score. All n-grams are of the model's own tokens. A statistic of your own is a
function of the same shape: docs/extending.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bat.plugins import Registry

if TYPE_CHECKING:
    from harness.scoring.resampling import Resampling
    from harness.scoring.statistic import Statistic
    from harness.scoring.texts import TextSet

    Family = Callable[[TextSet, Resampling], list[Statistic]]

# Named, not imported: whoever checks a sweep needs the names alone.
STATISTICS: Registry[Family] = Registry(
    group="bat_harness.statistics",
    noun="statistic",
    builtins={
        "perplexity": "harness.scoring.statistics.perplexity:perplexity",
        "entropy": "harness.scoring.statistics.entropy:entropy",
        "repetition": "harness.scoring.statistics.repetition:repetition",
        "distinct": "harness.scoring.statistics.distinct:distinct",
        "compression": "harness.scoring.statistics.compression:compression",
        "zipf": "harness.scoring.statistics.zipf:zipf",
        "self-bleu": "harness.scoring.statistics.self_bleu:self_bleu",
        "length": "harness.scoring.statistics.length:length",
        "support": "harness.scoring.statistics.support:support",
        "coherence": "harness.scoring.statistics.coherence:coherence",
        "sampling": "harness.scoring.statistics.sampling:sampling",
    },
    accepts=callable,
    requirement="must be a function of a TextSet and a Resampling that gives a list of Ratio and Whole",
)
STATISTIC_NAMES = tuple(STATISTICS.builtins)

# Coherence needs vectors of prefixes, which nothing else does, so it is computed only if it is named.
DEFAULT_STATISTICS = tuple(name for name in STATISTIC_NAMES if name != "coherence")


def check_statistic(name: str) -> str:
    """Return the name of a statistic if there is one."""
    return STATISTICS.check(name)


def get_statistic(name: str) -> Family:
    """Return the function that computes the scores of that name."""
    return STATISTICS.get(name)


def provenance(name: str) -> dict[str, str] | None:
    """Return what scores must record about where they came from: None for the project's own."""
    return STATISTICS.provenance(name)
