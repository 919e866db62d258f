"""Sets of texts for the tests, and how to ask for one statistic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bat.arrays import FloatArray
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Ratio, Whole
from harness.scoring.statistics import get_statistic
from harness.scoring.texts import Features, TextSet, TokenLikelihood
from workers.traces import Trace


def make_texts(
    token_ids: Sequence[Sequence[int]],
    *,
    places: Sequence[int] | None = None,
    prefixes: int | None = None,
    ended: Sequence[bool] | None = None,
    likelihood: tuple[Sequence[int], Sequence[float]] = ((), ()),
    traces: Sequence[Trace] | None = None,
    strings: Sequence[str] | None = None,
    features: Features | None = None,
) -> TextSet:
    """Texts of a prefix each, unless `places` say otherwise."""
    count = len(token_ids)
    where = np.array(range(count) if places is None else places, dtype=np.int64)
    return TextSet(
        prefixes=count if prefixes is None else prefixes,
        prefix_index=where,
        token_ids=tuple(np.array(ids, dtype=np.int64) for ids in token_ids),
        ended=np.array([False] * count if ended is None else ended, dtype=np.bool_),
        likelihood=TokenLikelihood(
            np.array(likelihood[0], dtype=np.int64), np.array(likelihood[1], dtype=float)
        ),
        traces=None if traces is None else tuple(traces),
        strings=None if strings is None else tuple(strings),
        features=features,
    )


def make_features(texts: int, prefixes: int, seed: int = 0, width: int = 3) -> Features:
    """Random vectors of texts, of human text and of prefixes; generated ones a little to one side."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(texts + 2 * prefixes, width)).astype(np.float32) + np.float32(0.5)
    vectors[:texts] += np.float32(0.3)
    return Features(vectors[:texts], vectors[texts : texts + prefixes], vectors[texts + prefixes :])


def random_token_ids(seed: int, count: int, vocabulary: int = 6, longest: int = 14) -> list[list[int]]:
    """Texts of a few tokens, so that phrases come back; the second is empty, the last a copy of the first."""
    random = np.random.default_rng(seed)
    found = [random.integers(vocabulary, size=random.integers(longest + 1)).tolist() for _ in range(count)]
    found[1] = []
    found[-1] = found[0]
    return found


def several_a_prefix(seed: int = 0) -> TextSet:
    """60 texts of 25 prefixes, some of which have three and some none."""
    places = np.random.default_rng([seed, 1]).integers(25, size=60).tolist()
    return make_texts(random_token_ids(seed, 60, vocabulary=3, longest=18), places=places, prefixes=25)


def make_trace(token_ids: Sequence[int], **columns: Sequence[int]) -> Trace:
    """A trace of these tokens; columns that are not given are zero."""
    zeros = [0] * len(token_ids)

    def column(name: str) -> Sequence[int]:
        return columns.get(name, zeros)

    return Trace(
        token_ids=np.array(token_ids, dtype=np.int32),
        probabilities=np.full(len(token_ids), 0.5, dtype=np.float32),
        thresholds=np.full(len(token_ids), 0.1, dtype=np.float32),
        acceptance=np.array(column("acceptance"), dtype=np.uint8),
        rejections=np.array(column("rejections"), dtype=np.int32),
        undecided=np.array(column("undecided"), dtype=np.int32),
        programs=np.array(column("programs"), dtype=np.int32),
        pivots=np.array(column("pivots"), dtype=np.int32),
        passes=np.array(column("passes"), dtype=np.int32),
        rejected_tokens=np.zeros(sum(column("rejections")), dtype=np.int32),
    )


def find(family: str, name: str, texts: TextSet, resampling: Resampling | None = None) -> Ratio | Whole:
    """The one statistic of that name."""
    found = get_statistic(family)(texts, resampling or Resampling(texts.prefixes, 0))
    (statistic,) = [statistic for statistic in found if statistic.name == name]
    return statistic


def value_of(family: str, name: str, texts: TextSet) -> float:
    """Its value over all texts."""
    statistic = find(family, name, texts)
    if isinstance(statistic, Whole):
        return statistic.value
    return float(statistic.at(np.ones((1, texts.prefixes)), texts.prefix_index)[0])


def left_out_of(family: str, name: str, texts: TextSet, resampling: Resampling) -> FloatArray:
    """Its values with each block left out."""
    statistic = find(family, name, texts, resampling)
    if isinstance(statistic, Whole):
        return statistic.left_out
    return statistic.at(resampling.left_out(), texts.prefix_index)


def remaining(texts: TextSet, resampling: Resampling) -> list[list[list[int]]]:
    """For each block, the token ids of the texts that are not in it."""
    blocks = resampling.blocks()[texts.prefix_index]
    return [
        [ids.tolist() for ids, block in zip(texts.token_ids, blocks, strict=True) if block != left_out]
        for left_out in range(resampling.block_count)
    ]
