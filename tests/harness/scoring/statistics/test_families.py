"""What holds for every family: the names, and texts that are hardly there."""

from __future__ import annotations

import numpy as np
import pytest

from harness.config import experiment
from harness.scoring.facts import SCORES
from harness.scoring.resampling import Resampling
from harness.scoring.statistic import Whole
from harness.scoring.statistics import STATISTIC_NAMES, get_statistic
from harness.scoring.summarize import summarize
from harness.scoring.texts import TextSet
from tests.harness.scoring.statistics.text_sets import (
    make_features,
    make_texts,
    make_trace,
    random_token_ids,
)

# Defined even where there is not a single token.
OF_TEXTS = {"looping", "length", "ended", "empty", "coherence"}
NAMES = {
    "perplexity": ["perplexity"],
    "entropy": ["entropy"],
    "compression": ["compression-ratio"],
    "support": ["precision", "recall"],
    "coherence": ["coherence"],
    "repetition": ["seq-rep-2", "seq-rep-3", "seq-rep-4", "looping"],
    "distinct": ["distinct-1", "distinct-2", "distinct-3", "distinct-4"],
    "zipf": ["zipf"],
    "self-bleu": ["self-bleu"],
    "length": ["length", "ended", "empty"],
    "sampling": [
        "accepted-threshold",
        "accepted-certificate",
        "accepted-greedy-fallback",
        "accepted-exact-fallback",
        "rejections",
        "undecided",
        "programs",
        "pivots",
        "passes",
    ],
}


def with_traces(token_ids: list[list[int]], places: list[int] | None = None) -> TextSet:
    tokens = [(text, -0.5) for text, ids in enumerate(token_ids) for _ in ids]
    prefixes = len(token_ids) if places is None else max(places) + 1
    return make_texts(
        token_ids,
        places=places,
        prefixes=None if places is None else max(places) + 1,
        likelihood=([text for text, _ in tokens], [log_prob for _, log_prob in tokens]),
        traces=[make_trace(ids) for ids in token_ids],
        strings=[" ".join(map(str, ids)) for ids in token_ids],
        features=make_features(len(token_ids), prefixes),
    )


def test_the_families_are_those_a_sweep_can_name() -> None:
    assert set(NAMES) == set(STATISTIC_NAMES) == {*experiment.Scoring().statistics, "coherence"}
    families = {name: family for family, names in NAMES.items() for name in names}
    assert families == {name: facts.family for name, facts in SCORES.items() if facts.family is not None}


@pytest.mark.parametrize("family", NAMES)
def test_names(family: str) -> None:
    texts = with_traces(random_token_ids(0, 8))
    assert [found.name for found in get_statistic(family)(texts, Resampling(8, 0))] == NAMES[family]


@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize("resamples", [0, 7])
def test_texts_without_any_token_are_not_defined_where_tokens_are_needed(family: str, resamples: int) -> None:
    texts = with_traces([[], [], []])
    resampling = Resampling(3, resamples)
    for entry in summarize(get_statistic(family)(texts, resampling), texts, resampling):
        assert (entry.value is not None) == (entry.name in OF_TEXTS), entry.name
        if entry.name != "coherence":  # of vectors, which differ
            assert entry.low is None, entry.name  # all texts are alike, and not one differs under resampling


@pytest.mark.parametrize("family", NAMES)
def test_one_prefix_has_values_and_no_interval(family: str) -> None:
    texts = with_traces([[1, 2, 1, 2, 1, 2], [3, 4, 5], [1, 2, 1, 2, 9]], places=[0, 0, 0])
    resampling = Resampling(1, 10)
    entries = summarize(get_statistic(family)(texts, resampling), texts, resampling)
    assert [entry.name for entry in entries] == NAMES[family]
    for entry in entries:
        # There are no programs, and one human text has no third nearest neighbour.
        assert (entry.value is None) == (entry.name in ("pivots", "passes", "precision", "recall"))
        assert (entry.low, entry.high) == (None, None)
        assert entry.detail["left_out"] == [None]


@pytest.mark.parametrize("family", NAMES)
def test_one_value_is_left_for_each_block(family: str) -> None:
    texts = with_traces(random_token_ids(2, 45), places=[place % 30 for place in range(45)])
    resampling = Resampling(30, 0)
    for statistic in get_statistic(family)(texts, resampling):
        if isinstance(statistic, Whole):
            assert statistic.left_out.shape == (20,)
        else:
            assert statistic.at(resampling.left_out(), texts.prefix_index).shape == (20,)


@pytest.mark.parametrize("family", NAMES)
def test_the_same_texts_give_the_same_entries_and_other_texts_others(family: str) -> None:
    def entries(seed: int) -> list[object]:
        token_ids = random_token_ids(seed, 30)
        random = np.random.default_rng(seed)
        traces = [
            make_trace(
                ids,
                acceptance=random.integers(4, size=len(ids)).tolist(),
                programs=random.integers(3, size=len(ids)).tolist(),
            )
            for ids in token_ids
        ]
        rows = [text for text, ids in enumerate(token_ids) for _ in ids]
        logs = np.log(random.uniform(0.1, 1, size=len(rows))).tolist()
        texts = make_texts(
            token_ids,
            likelihood=(rows, logs),
            traces=traces,
            strings=[" ".join(map(str, ids)) for ids in token_ids],
            features=make_features(30, 30, seed),
        )
        resampling = Resampling(30, 20)
        return list(summarize(get_statistic(family)(texts, resampling), texts, resampling))

    assert entries(3) == entries(3)
    assert entries(3) != entries(4)
