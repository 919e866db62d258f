from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from harness.scoring.statistic import Ratio
from harness.scoring.statistics.self_bleu import bleu_against_others, evenly_spaced
from tests.harness.scoring.statistics.text_sets import (
    find,
    make_texts,
    random_token_ids,
    several_a_prefix,
    value_of,
)


def windows_of(ids: list[int], order: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(ids[start : start + order]) for start in range(len(ids) - order + 1))


def naive_bleu(text: list[int], references: list[list[int]]) -> float:
    """Papineni et al. 2002, a sentence at a time, 0.1 for no matches, weights over the orders there are."""
    logs = []
    for order in range(1, min(4, len(text)) + 1):
        counts = windows_of(text, order)
        matches = sum(
            min(count, max(windows_of(reference, order)[window] for reference in references))
            for window, count in counts.items()
        )
        if order == 1 and matches == 0:
            return 0.0
        logs.append(math.log((matches or 0.1) / sum(counts.values())))
    closest = min((len(reference) for reference in references), key=lambda n: (abs(n - len(text)), n))
    penalty = 1.0 if len(text) >= closest else math.exp(1 - closest / len(text))
    return penalty * math.exp(sum(logs) / len(logs))


def naive_self_bleu(token_ids: list[list[int]]) -> float:
    written = [ids for ids in token_ids if ids]
    scores = [naive_bleu(ids, written[:place] + written[place + 1 :]) for place, ids in enumerate(written)]
    return sum(scores) / len(scores)


@pytest.mark.parametrize("vocabulary", [2, 6, 40])
@pytest.mark.parametrize("seed", range(4))
def test_is_bleu_of_each_against_the_others(seed: int, vocabulary: int) -> None:
    token_ids = random_token_ids(seed, 9, vocabulary)
    written = [ids for ids in token_ids if ids]
    expected = [naive_bleu(ids, written[:place] + written[place + 1 :]) for place, ids in enumerate(written)]
    assert bleu_against_others([np.array(ids) for ids in written]) == pytest.approx(expected)
    assert value_of("self-bleu", "self-bleu", make_texts(token_ids)) == pytest.approx(np.mean(expected))


def test_several_texts_of_a_prefix_and_weights() -> None:
    texts = several_a_prefix()
    assert value_of("self-bleu", "self-bleu", texts) == pytest.approx(
        naive_self_bleu([ids.tolist() for ids in texts.token_ids])
    )
    statistic = find("self-bleu", "self-bleu", texts)
    assert isinstance(statistic, Ratio)
    weights = np.random.default_rng(0).integers(3, size=(1, 25)).astype(float)
    of_texts = weights[0, texts.prefix_index] * statistic.denominators
    expected = np.average(statistic.numerators, weights=of_texts)
    assert statistic.at(weights, texts.prefix_index) == pytest.approx(expected)


@pytest.mark.parametrize("ids", [[3], [3, 4], [3, 4, 3], [1, 2, 3, 4], [1, 2, 1, 2, 1, 2, 5]])
def test_copies_are_entirely_alike_however_short(ids: list[int]) -> None:
    other = [90, 91, 92, 93, 94]
    found = bleu_against_others([np.array(ids), np.array(other), np.array(ids)])
    assert found == pytest.approx([1, 0, 1])


def test_a_text_that_shares_no_token_has_nothing_in_common() -> None:
    assert value_of("self-bleu", "self-bleu", make_texts([[1, 2, 3, 4], [5, 6, 7, 8]])) == 0


def test_the_count_to_match_is_that_of_one_other_text_not_of_all() -> None:
    # Each other text has token 1 once, so of three only one is matched: precision 1/3 at a length of its own.
    found = bleu_against_others([np.array([1, 1, 1]), np.array([1, 2, 3]), np.array([1, 4, 5])])
    assert found[0] == pytest.approx(((1 / 3) * (0.1 / 2) * (0.1 / 1)) ** (1 / 3))


def test_brevity_takes_the_closest_length_and_the_shorter_of_two() -> None:
    lengths = [4, 6, 8, 20]
    found = bleu_against_others([np.ones(length, dtype=np.int64) for length in lengths])
    # Six is as close to four as to eight, and eight is closer to six than to twenty: neither is too short.
    last = math.exp(np.mean([math.log((9 - n) / (21 - n)) for n in range(1, 5)]))
    assert found == pytest.approx([math.exp(1 - 6 / 4), 1, 1, last])


def test_empty_texts_are_neither_scored_nor_compared_with() -> None:
    token_ids = [[1, 2, 3], [], [1, 2, 4, 5], []]
    statistic = find("self-bleu", "self-bleu", make_texts(token_ids))
    assert isinstance(statistic, Ratio)
    assert statistic.denominators.tolist() == [1, 0, 1, 0]
    assert value_of("self-bleu", "self-bleu", make_texts(token_ids)) == pytest.approx(
        naive_self_bleu([[1, 2, 3], [1, 2, 4, 5]])
    )


@pytest.mark.parametrize("token_ids", [[[1, 2, 3]], [[1, 2, 3], []], [[], []]])
def test_not_defined_without_two_texts_to_compare(token_ids: list[list[int]]) -> None:
    assert math.isnan(value_of("self-bleu", "self-bleu", make_texts(token_ids)))


def test_a_sample_of_many_texts_is_scored_as_if_there_were_no_others() -> None:
    token_ids = random_token_ids(5, 2500, vocabulary=40)
    sample = [2500 * place // 1000 for place in range(1000)]
    statistic = find("self-bleu", "self-bleu", make_texts(token_ids))
    assert isinstance(statistic, Ratio)
    assert np.flatnonzero(statistic.denominators).tolist() == [i for i in sample if token_ids[i]]
    alone = value_of("self-bleu", "self-bleu", make_texts([token_ids[place] for place in sample]))
    assert value_of("self-bleu", "self-bleu", make_texts(token_ids)) == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(("count", "largest"), [(0, 5), (3, 5), (5, 5), (6, 5), (5000, 1000), (1001, 1000)])
def test_evenly_spaced_places(count: int, largest: int) -> None:
    places = evenly_spaced(count, largest)
    assert len(set(places.tolist())) == min(count, largest)
    assert all(0 <= place < count for place in places.tolist())
    steps = np.diff(places)
    assert steps.size == 0 or steps.max() - steps.min() <= 1
