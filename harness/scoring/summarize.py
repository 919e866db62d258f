"""From statistics to scores: value, 95% interval, and the values behind the interval.

Resampled values and values with a block left out are stored with each score, because differences between two
methods are computed from them, resampling by resampling and block by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from harness.scoring.resampling import FloatArray, Resampling
from harness.scoring.scores import ScoreEntry
from harness.scoring.statistic import Ratio, Statistic, Whole
from harness.scoring.texts import TextSet

RESAMPLED = "resampled prefixes"
LEFT_OUT = "blocks of prefixes left out"

Interval = tuple[float, float] | tuple[None, None]
NO_INTERVAL: Interval = (None, None)

# Thousands of resampled values are stored; more digits of them are not needed.
_DIGITS = 7
_NORMAL_QUANTILE = 1.96

# Beginnings of the names of scores that are at most one.
_SHARES = ("mauve", "seq-rep", "looping", "distinct", "self-bleu", "ended", "empty", "accepted")


class MauveLike(Protocol):
    """MAUVE for each seed of k-means; under resamplings and with blocks left out, their mean over seeds."""

    @property
    def values(self) -> Sequence[float]: ...

    @property
    def resampled(self) -> FloatArray: ...

    @property
    def left_out(self) -> FloatArray: ...


def summarize(statistics: Iterable[Statistic], texts: TextSet, resampling: Resampling) -> list[ScoreEntry]:
    """One entry for each statistic, in the same order."""
    if resampling.prefixes != texts.prefixes:
        raise InvalidInputError(
            f"a resampling must have as many prefixes as the texts, {texts.prefixes}; got one of "
            f"{resampling.prefixes}. Create it with Resampling(texts.prefixes)."
        )
    in_order = list(statistics)
    ratios = [statistic for statistic in in_order if isinstance(statistic, Ratio)]
    resampled = iter(_resampled(ratios, texts, resampling))
    entries = []
    for statistic in in_order:
        if isinstance(statistic, Whole):
            entries.append(_entry(statistic.name, statistic.value, None, statistic.left_out))
        else:
            value = float(statistic.at(np.ones((1, texts.prefixes)), texts.prefix_index)[0])
            left_out = statistic.at(resampling.left_out(), texts.prefix_index)
            entries.append(_entry(statistic.name, value, next(resampled), left_out))
    return entries


def mauve_entry(kmeans_seeds: Sequence[int], scores: MauveLike) -> ScoreEntry:
    """MAUVE as an entry: the mean over k-means seeds, with the interval over resampled prefixes."""
    if len(kmeans_seeds) != len(scores.values) or not kmeans_seeds:
        raise InvalidInputError(
            f"MAUVE must have one value for each k-means seed, and at least one; got {len(scores.values)} "
            f"values for {len(kmeans_seeds)} seeds."
        )
    seeds = {"kmeans_seeds": [int(seed) for seed in kmeans_seeds], "values": rounded(scores.values)}
    resampled = scores.resampled if len(scores.resampled) else None
    return _entry("mauve", float(np.mean(scores.values)), resampled, scores.left_out, seeds)


def interval_from_resamples(value: float | None, resampled: npt.ArrayLike) -> Interval:
    """1.96 sample standard deviations of the resampled values to either side of the value.

    Resamplings without a value (NaN or None) are skipped; with fewer than two others there is no interval.
    """
    defined = _finite(resampled)
    if not _is_number(value) or defined.size < 2:
        return NO_INTERVAL
    return _around(value, _NORMAL_QUANTILE * float(defined.std(ddof=1)))


def interval_from_blocks(value: float | None, left_out: npt.ArrayLike) -> Interval:
    """The delete-a-block jackknife with Student's t, of the values with each block left out.

    There is no interval if the value is not defined without one of the blocks.
    """
    from scipy.stats import t  # here, because importing it takes half a second

    defined = _finite(left_out)
    count = np.size(np.asarray(left_out))
    if not _is_number(value) or defined.size < max(2, count):
        return NO_INTERVAL
    error = math.sqrt((count - 1) / count * float(np.square(defined - defined.mean()).sum()))
    return _around(value, float(t.ppf(0.975, count - 1)) * error)


def held_to_range(name: str, low: float, high: float) -> tuple[float, float]:
    """An interval limited to the range of a score: no score is negative, and shares are at most 1."""
    return max(low, 0.0), min(high, 1.0) if is_share(name) else high


def is_point(low: float, high: float) -> bool:
    """Whether an interval has no width, up to rounding.

    Then the score did not vary in this sample, which says nothing about other samples: what happens in no
    text of a sample may well happen in another.
    """
    return math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12)


def is_share(name: str) -> bool:
    """Whether a score of that name lies between 0 and 1."""
    return name.startswith(_SHARES)


def rounded(values: npt.ArrayLike) -> list[float | None]:
    """The values to seven significant digits, for JSON; None for what is not a finite number."""
    numbers = np.asarray(values, dtype=np.float64).ravel().tolist()
    return [float(f"{number:.{_DIGITS}g}") if math.isfinite(number) else None for number in numbers]


def _resampled(ratios: Sequence[Ratio], texts: TextSet, resampling: Resampling) -> list[FloatArray | None]:
    """The values of each ratio under all resamplings, or None if there are none.

    A single prefix is not resampled: every draw is the same, and the interval would have no width.
    """
    if resampling.resamples == 0 or resampling.prefixes < 2:
        return [None] * len(ratios)
    # Drawing takes longer than weighing, so every chunk of draws is used for all ratios.
    parts: list[list[FloatArray]] = [[] for _ in ratios]
    if ratios:
        for weights in resampling.draws():
            for part, ratio in zip(parts, ratios, strict=True):
                part.append(ratio.at(weights, texts.prefix_index))
    return [np.concatenate(part) for part in parts]


def _entry(
    name: str,
    value: float,
    resampled: FloatArray | None,
    left_out: FloatArray,
    more: dict[str, object] | None = None,
) -> ScoreEntry:
    detail: dict[str, object] = {"source": LEFT_OUT if resampled is None else RESAMPLED, **(more or {})}
    if resampled is None:
        interval = interval_from_blocks(value, left_out)
    else:
        interval = interval_from_resamples(value, resampled)
        detail["resampled"] = rounded(resampled)
    detail["left_out"] = rounded(left_out)
    low, high = interval
    if low is not None and high is not None:
        low, high = NO_INTERVAL if is_point(low, high) else held_to_range(name, low, high)
    return ScoreEntry(name, value if math.isfinite(value) else None, low, high, detail)


def _finite(values: npt.ArrayLike) -> FloatArray:
    numbers = np.asarray(values, dtype=np.float64).ravel()  # None becomes NaN
    return numbers[np.isfinite(numbers)]


def _is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _around(value: float, half_width: float) -> tuple[float, float]:
    return value - half_width, value + half_width
