"""From statistics to scores: value, 95% interval, and the values behind the interval.

Resampled values and values with a block left out are stored with each score, because differences between two
methods are computed from them, resampling by resampling and block by block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from bat.errors import InvalidInputError
from harness.scoring.facts import facts_of
from harness.scoring.mauve_score import ClusterScore
from harness.scoring.resampling import STEP, FloatArray, Resampling
from harness.scoring.scores import ScoreEntry
from harness.scoring.statistic import Ratio, Statistic, Whole
from harness.scoring.texts import TextSet

RESAMPLED = "resampled prefixes"
REWEIGHTED = "reweighted prefixes"
LEFT_OUT = "blocks of prefixes left out"

Interval = tuple[float, float] | tuple[None, None]
NO_INTERVAL: Interval = (None, None)

# Thousands of resampled values are stored; more digits of them are not needed.
_DIGITS = 7
_NORMAL_QUANTILE = 1.96


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
            entries.append(_entry(statistic.name, statistic.value, {"left_out": statistic.left_out}))
        else:
            value = float(statistic.at(np.ones((1, texts.prefixes)), texts.prefix_index)[0])
            behind = {"left_out": statistic.at(resampling.left_out(), texts.prefix_index)}
            draws = next(resampled)
            if draws is not None:
                behind["resampled"] = draws
            entries.append(_entry(statistic.name, value, behind))
    return entries


def cluster_entry(kmeans_seeds: Sequence[int], score: ClusterScore) -> ScoreEntry:
    """A score of clusters as an entry: the mean over k-means seeds, with its interval over prefixes."""
    if len(kmeans_seeds) != len(score.values) or not kmeans_seeds:
        raise InvalidInputError(
            f"{score.name} must have one value for each k-means seed, and at least one; got "
            f"{len(score.values)} values for {len(kmeans_seeds)} seeds."
        )
    seeds = {"kmeans_seeds": [int(seed) for seed in kmeans_seeds], "values": rounded(score.values)}
    return _entry(score.name, float(np.mean(score.values)), score.behind, seeds)


def interval_over_prefixes(
    value: float | None, behind: Mapping[str, npt.ArrayLike]
) -> tuple[str, Interval, int]:
    """What was varied, the interval, and how many values are behind it.

    `behind` has the values by name. If those of one way give no interval, such as a single resampling, the
    next way is taken.
    """
    ways: tuple[tuple[str, tuple[str, ...], Callable[..., Interval]], ...] = (
        (REWEIGHTED, ("weighed", "opposite"), interval_from_reweighting),
        (REWEIGHTED, ("raised", "lowered"), interval_from_symmetric_reweighting),
        (RESAMPLED, ("resampled",), interval_from_resamples),
        (LEFT_OUT, ("left_out",), interval_from_blocks),
    )
    varied, interval, count = LEFT_OUT, NO_INTERVAL, 0
    for source, names, interval_from in ways:
        if all(name in behind for name in names) and interval == NO_INTERVAL:
            varied, interval = source, interval_from(value, *(behind[name] for name in names))
            count = sum(_finite(behind[name]).size for name in names)
    return varied, interval, count


def interval_from_reweighting(
    value: float | None, weighed: npt.ArrayLike, opposite: npt.ArrayLike
) -> Interval:
    """An interval that is right to second order, from pairs of opposite, skewed weights of the prefixes.

    Half the difference of a pair is the first-order effect of the weights, and half its sum the second-order
    one. F and S are their variances, and C is their covariance.

    Width. The slope behind F is that of the sample, and varies with it. To second order, the variance of a
    score is F - S - 2C. It is at least S, its value where a score is best and has no slope, as MAUVE near 1
    (Efron and Stein 1981: F is 2S there).

    Position. Near its best value, a score varies less. A sample that happens to score well then seems to be
    more certain than it is, so the interval has to reach further to the other side. How fast the standard
    deviation changes with the score follows from the covariance of the second-order effect with the square
    of the first-order one. The shift is that of an expansion of the studentized score (Hall 1992), limited so
    that the value stays inside.

    docs/design/scoring.md has the derivation, and a simulation of this and other ways.
    """
    effects = _effects_of_weights(weighed, opposite)
    if not _is_number(value) or effects is None:
        return NO_INTERVAL
    first, second = effects
    (f, c), (_, s) = np.cov(first, second)
    half_width = _NORMAL_QUANTILE * math.sqrt(max(f - s - 2 * c, s))
    if half_width == 0:
        return _around(value, 0.0)
    # F is at least 2S, up to noise.
    change = float(np.mean(first**2 * second)) / max(f, 2 * s) ** 1.5
    shift = change * (_NORMAL_QUANTILE**2 + 1) / (2 * _NORMAL_QUANTILE)  # in half-widths
    return _around(value + half_width * shift / (1 + abs(shift)), half_width)


def interval_from_symmetric_reweighting(
    value: float | None, raised: npt.ArrayLike, lowered: npt.ArrayLike
) -> Interval:
    """1.96 standard deviations to either side of the value: for score jobs of version 2.

    Symmetric weights have no C (see above). The variance is then taken to be F - 2 S^2 / F, which is F where
    a score has a slope, and S where it has none.
    """
    effects = _effects_of_weights(raised, lowered)
    if not _is_number(value) or effects is None:
        return NO_INTERVAL
    first, second = (float(effect.var(ddof=1)) for effect in effects)
    variance = first - 2 * second**2 / first if 2 * second < first else second
    return _around(value, _NORMAL_QUANTILE * math.sqrt(variance))


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
    """An interval limited to the range of a score."""
    facts = facts_of(name)
    return max(low, facts.low), min(high, facts.high)


def is_point(low: float, high: float) -> bool:
    """Whether an interval has no width, up to rounding.

    Then the score did not vary in this sample, which says nothing about other samples: what happens in no
    text of a sample may well happen in another.
    """
    return math.isclose(low, high, rel_tol=1e-9, abs_tol=1e-12)


def is_share(name: str) -> bool:
    """Whether a score of that name lies between 0 and 1."""
    facts = facts_of(name)
    return (facts.low, facts.high) == (0, 1)


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
    name: str, value: float, behind: Mapping[str, FloatArray], more: Mapping[str, object] | None = None
) -> ScoreEntry:
    source, (low, high), _ = interval_over_prefixes(value, behind)
    stored = {key: rounded(values) for key, values in behind.items()}
    detail: dict[str, object] = {"source": source, **(more or {}), **stored}
    if low is not None and high is not None:
        low, high = NO_INTERVAL if is_point(low, high) else held_to_range(name, low, high)
    return ScoreEntry(name, value if math.isfinite(value) else None, low, high, detail)


def _effects_of_weights(
    weighed: npt.ArrayLike, opposite: npt.ArrayLike
) -> tuple[FloatArray, FloatArray] | None:
    """The first-order and the second-order effect of each pair of weights, less their means.

    None if there are fewer than two pairs.
    """
    pairs = np.array([np.asarray(side, dtype=np.float64).ravel() for side in (weighed, opposite)])
    up, down = pairs[:, np.isfinite(pairs).all(axis=0)]
    if len(up) < 2:
        return None
    first, second = (up - down) / (2 * STEP), (up + down) / (2 * STEP**2)
    return first - first.mean(), second - second.mean()


def _finite(values: npt.ArrayLike) -> FloatArray:
    numbers = np.asarray(values, dtype=np.float64).ravel()  # None becomes NaN
    return numbers[np.isfinite(numbers)]


def _is_number(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _around(value: float, half_width: float) -> tuple[float, float]:
    return value - half_width, value + half_width
