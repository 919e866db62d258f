"""How often intervals of MAUVE contain the mean, and how wide they are: a simulation of several ways.

    python -m benchmarks.coverage                 histograms drawn from known shares of clusters
    python -m benchmarks.coverage --vectors weak  vectors, clustered by mauve-text

Every prefix has a human text, a text of a first and a text of a second method. With `--vectors` they are
normal, and a method's are shifted along one direction (see VECTORS). Otherwise the cluster of a text is drawn
from the shares of its side; a method's are those of people, tilted. Both methods use the same random number
for half of the prefixes. docs/design/scoring.md has the tables, and explains the ways.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from harness.config.experiment import Mauve
from harness.scoring.clustering import cluster
from harness.scoring.divergences import HistogramScore, histogram_scores
from harness.scoring.resampling import STEP, FloatArray, IntArray, Resampling
from harness.scoring.summarize import (
    interval_from_blocks,
    interval_from_resamples,
    interval_from_reweighting,
    interval_of_known_clusters,
)

TEXTS = 500
RESAMPLES = 200
TILTS = ((0.0, 0.0), (0.0, 0.15), (0.2, 0.3), (0.4, 0.5), (0.8, 0.9))
SHIFTS = ((0.0, 0.0), (0.3, 0.5), (0.6, 0.8), (1.0, 1.2))  # in standard deviations of their direction
# Standard deviations along each direction, and the direction of the shifts. Variances of the demo's vectors
# fall about as 1 / k, and the largest shifts of its methods are along the fourth to sixth direction.
_FALLING = 1 / np.sqrt(np.arange(1, 65))
VECTORS = {"equal": (np.ones(16), 0), "leading": (_FALLING, 0), "weak": (_FALLING, 4)}
# One short run of k-means for each seed, to save time: a sweep makes five long ones.
QUICK = Mauve(kmeans_redo=1, kmeans_max_iterations=20)
SCORES = {score.name: score for score in histogram_scores(Mauve().model_dump())}

Values = dict[str, FloatArray]  # of a score, by how prefixes were weighed
Labels = list[tuple[IntArray, IntArray]]  # clusters of human texts and of a method's, for each k-means seed


def weights(resampling: Resampling, *, all_ways: bool) -> Values:
    """The weights of prefixes, [r, prefixes] each, of the main ways or of all."""
    random = np.random.default_rng([resampling.seed, 3])
    order = random.random((RESAMPLES, resampling.prefixes)).argsort(axis=1)
    weighed, opposite = _joined(resampling.reweightings())
    raised, lowered = _joined(resampling.reweightings(symmetric=True))
    main = {
        "value": np.ones((1, resampling.prefixes)),
        "resampled": np.concatenate(list(resampling.draws())),
        "left_out": resampling.left_out(),
        "weighed": weighed,
        "opposite": opposite,
    }
    more = {
        "raised": raised,
        "lowered": lowered,
        "half": (order < resampling.prefixes // 2).astype(np.float64),
        "eighth": (order < resampling.prefixes // 8).astype(np.float64),
    }
    return {**main, **more} if all_ways else main


def _joined(pairs: Iterable[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    up, down = zip(*pairs, strict=True)
    return np.concatenate(up), np.concatenate(down)


def values_of(score: HistogramScore, labels: Labels, buckets: int, weighed: Values) -> Values:
    """The score under all weights, mean over k-means seeds."""
    total: Values = {}
    for human, generated in labels:
        sides = [np.eye(buckets)[side] for side in (human, generated)]
        for name, rows in weighed.items():
            found = score.of(rows @ sides[0], rows @ sides[1])
            total[name] = total.get(name, 0.0) + found / len(labels)
    return total


# Around the value, so that 0 stands for it.
Interval = tuple[float, float]


def _around(variance: float) -> Interval:
    half_width = 1.96 * float(np.sqrt(variance))
    return -half_width, half_width


def _defined(interval: tuple[float | None, float | None]) -> Interval:
    low, high = interval
    assert low is not None
    assert high is not None
    return low, high


def _orders(up: FloatArray, down: FloatArray) -> tuple[float, float, float]:
    """F, S and C: the variances of the first-order and second-order effects of weights; their covariance."""
    (first, both), (_, second) = np.cov((up - down) / (2 * STEP), (up + down) / (2 * STEP**2))
    return float(first), float(second), float(both)


def _subsampled(values: Values) -> Interval:
    """Subsamples of two sizes: the rate at which their spread falls is continued to all prefixes."""
    half, eighth = (
        np.var(values[name], ddof=1) / (1 - share) for name, share in (("half", 0.5), ("eighth", 0.125))
    )
    return _around(float(half * 0.5 ** (np.log(eighth / half) / np.log(4))))


def _symmetric(values: Values, variance: Callable[[float, float], float]) -> Interval:
    first, second, _ = _orders(values["raised"], values["lowered"])
    return _around(variance(first, second))


def _proportional(first: float, second: float) -> float:
    return first - 2 * second**2 / first if 2 * second < first else second


def _blended(values: Values) -> Interval:
    """Drawn with replacement where S is below F / 10, F - 2 S^2 / F where it is above F / 5."""
    first, second, _ = _orders(values["raised"], values["lowered"])
    share = float(np.clip(2 - 10 * second / first, 0, 1))
    drawn = float(np.var(values["resampled"], ddof=1))
    return _around(share * drawn + (1 - share) * _proportional(first, second))


def _skewed(values: Values) -> Interval:
    first, second, both = _orders(values["weighed"], values["opposite"])
    return _around(max(first - second - 2 * both, second))


Ways = dict[str, Callable[[Values], Interval]]

MAIN_WAYS: Ways = {
    "resampled with replacement": lambda v: _defined(interval_from_resamples(0.0, v["resampled"])),
    "20 blocks left out": lambda v: _defined(interval_from_blocks(0.0, v["left_out"])),
    "F - S - 2C": _skewed,
    "F - S - 2C, shifted": lambda v: _defined(interval_of_known_clusters(0.0, v["weighed"], v["opposite"])),
    "adopted: + (F - 2S) / 5, shifted": lambda v: _defined(
        interval_from_reweighting(0.0, v["weighed"], v["opposite"])
    ),
}
# With known clusters only, to save time.
OTHER_WAYS: Ways = {
    "subsamples, rate from two sizes": _subsampled,
    "first order: F": lambda v: _symmetric(v, lambda first, second: first),
    "F - S": lambda v: _symmetric(v, lambda first, second: max(first - second, second)),
    "F - 2 S^2 / F": lambda v: _symmetric(v, _proportional),
    "the same, or with replacement": _blended,
}


@dataclass
class Outcomes:
    """Values, and intervals by each way, of many simulated experiments."""

    ways: Ways
    values: list[float] = field(default_factory=list)
    intervals: dict[str, list[Interval]] = field(default_factory=lambda: defaultdict(list))

    def add(self, values: Values) -> None:
        self.values.append(float(values["value"][0]))
        for way, interval in self.ways.items():
            self.intervals[way].append(interval(values))

    def rows(self) -> Iterator[tuple[str, float, float, float, float]]:
        """Each way: width over the true one, shares of intervals above and below the mean, and without 0."""
        values = np.array(self.values)
        mean, true = values.mean(), 1.96 * values.std(ddof=1)
        for way, around in self.intervals.items():
            low, high = values + np.array(around).T
            yield (
                way,
                float(np.sqrt(np.mean(((high - low) / 2) ** 2)) / true),
                float(np.mean(low > mean)),
                float(np.mean(high < mean)),
                float(np.mean((low > 0) | (high < 0))),
            )


Draw = Callable[[np.random.Generator], tuple[list[Labels], int]]


def from_shares(tilts: tuple[float, float], seed: int) -> Draw:
    """Draw clusters from shares: of people, and the same tilted for each method."""
    buckets = TEXTS // 10
    random = np.random.default_rng([seed, 0])
    people, direction = random.dirichlet(np.full(buckets, 3.0)), random.normal(size=buckets)
    tilted = [people * np.exp(tilt * direction) for tilt in (0.0, *tilts)]
    bounds = [np.cumsum(shares / shares.sum()) for shares in tilted]

    def draw(random: np.random.Generator) -> tuple[list[Labels], int]:
        uniforms = random.random((3, TEXTS))
        shared = random.random(TEXTS) < 0.5
        uniforms[2, shared] = uniforms[1, shared]
        human, *methods = (
            np.minimum(np.searchsorted(bound, uniform), buckets - 1)
            for bound, uniform in zip(bounds, uniforms, strict=True)
        )
        return [[(human, method)] for method in methods], buckets

    return draw


def from_vectors(shifts: tuple[float, float], kind: str, clustering: Mauve) -> Draw:
    """Draw normal vectors, a method's shifted along one direction, and cluster them with five seeds."""
    deviations, direction = VECTORS[kind]
    settings = clustering.model_dump()

    def draw(random: np.random.Generator) -> tuple[list[Labels], int]:
        vectors = random.normal(size=(3, TEXTS, len(deviations)))
        shared = random.random(TEXTS) < 0.5
        vectors[2, shared] = vectors[1, shared]
        vectors[1:, :, direction] += np.array(shifts)[:, None]
        human, *methods = (vectors * deviations).astype(np.float32)
        made = [cluster(human, method, settings) for method in methods]
        return [[(each.human, each.generated) for each in seeds] for seeds in made], made[0][0].buckets

    return draw


def simulate(name: str, draw: Draw, experiments: int, seed: int, *, all_ways: bool) -> None:
    """Print a table of one score for one pair of methods: the first one's value, and their difference."""
    weighed = weights(Resampling(TEXTS, RESAMPLES, seed), all_ways=all_ways)
    ways = {**MAIN_WAYS, **OTHER_WAYS} if all_ways else MAIN_WAYS
    random = np.random.default_rng([seed, 1])
    single, difference = Outcomes(ways), Outcomes(ways)
    for _ in range(experiments):
        methods, buckets = draw(random)
        first, second = (values_of(SCORES[name], labels, buckets, weighed) for labels in methods)
        single.add(first)
        difference.add({key: first[key] - second[key] for key in first})
    for what, outcomes in (("value", single), ("difference", difference)):
        mean, deviation = np.mean(outcomes.values), np.std(outcomes.values, ddof=1)
        print(f"  {what} {mean:.4f}, standard deviation {deviation:.4f}")
        for way, width, above, below, excluded in outcomes.rows():
            shown = f"   shown {excluded:6.1%}" if outcomes is difference else ""
            print(
                f"    {way:32} width / true {width:5.2f}   covers {1 - above - below:6.1%}"
                f"   above {above:5.1%}   below {below:5.1%}{shown}",
                flush=True,
            )


def main() -> None:
    """Run the simulation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", choices=VECTORS, help="cluster vectors instead of drawing histograms")
    parser.add_argument("--long", action="store_true", help="run k-means for as long as a sweep does")
    parser.add_argument("--score", default="mauve", choices=SCORES)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    clustering = Mauve() if asked.long else QUICK
    for pair in SHIFTS if asked.vectors else TILTS:
        print(f"{asked.score}, {TEXTS} prefixes, {'shifts' if asked.vectors else 'tilts'} {pair}")
        if asked.vectors:
            draw = from_vectors(pair, asked.vectors, clustering)
        else:
            draw = from_shares(pair, asked.seed)
        simulate(asked.score, draw, asked.experiments, asked.seed, all_ways=not asked.vectors)


if __name__ == "__main__":
    main()
