"""Statistics of texts beside MAUVE, by the names that a sweep's scoring.statistics has for them.

docs/scores.md defines every score. All n-grams are of the model's own tokens.
"""

from collections.abc import Callable

from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Statistic
from harness.scoring.statistics import distinct, length, perplexity, repetition, sampling, self_bleu, zipf
from harness.scoring.texts import TextSet

Family = Callable[[TextSet, Resampling], list[Statistic]]

FAMILIES: dict[str, Family] = {
    "perplexity": perplexity.perplexity,
    "repetition": repetition.repetition,
    "distinct": distinct.distinct,
    "zipf": zipf.zipf,
    "self-bleu": self_bleu.self_bleu,
    "length": length.length,
    "sampling": sampling.sampling,
}

__all__ = ["FAMILIES", "Family"]
