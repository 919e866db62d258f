from __future__ import annotations

import numpy as np
import pytest

from bat.errors import InvalidInputError
from workers import models
from workers.encoding import encode
from workers.positions import (
    MAX_CONTEXT_TOKENS,
    MIN_CONTEXT_TOKENS,
    TokenizedDocument,
    draw_positions,
    in_drawing_order,
    spread_evenly,
    tokenize_documents,
)


def documents(*lengths: int, leading: int = 0) -> list[TokenizedDocument]:
    return [
        TokenizedDocument(f"d{index}", np.arange(length), leading) for index, length in enumerate(lengths)
    ]


def plain(drawn: dict[str, np.ndarray]) -> dict[str, list[int]]:
    return {name: positions.tolist() for name, positions in drawn.items()}


def test_positions_have_enough_context_and_no_more_than_allowed() -> None:
    given = documents(0, 1, MIN_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS + 1, 60, 1000)
    drawn = plain(draw_positions(given, count=None, per_document=10_000))
    assert drawn == {
        "d3": [MIN_CONTEXT_TOKENS],
        "d4": list(range(MIN_CONTEXT_TOKENS, 60)),
        "d5": list(range(MIN_CONTEXT_TOKENS, MAX_CONTEXT_TOKENS + 1)),
    }


def test_tokens_before_the_text_are_no_context() -> None:
    drawn = plain(draw_positions(documents(8, 9, 30, leading=2), None, 100, min_context=6, max_context=9))
    assert drawn == {"d1": [8], "d2": [8, 9, 10, 11]}


def test_a_document_s_positions_do_not_depend_on_the_others() -> None:
    given = documents(*range(40, 140))
    together = plain(draw_positions(given, count=None, seed=3))
    assert len(together) == 100
    assert all(len(positions) == len(set(positions)) == 4 for positions in together.values())
    for document in given[:20]:
        assert plain(draw_positions([document], count=None, seed=3)) == {document.id: together[document.id]}
    # The last document drawn gives some of the same positions; all others the very same.
    some = plain(draw_positions(given[::-1], count=30, seed=3))
    assert sum(map(len, some.values())) == 30
    *whole, last = some
    assert {name: some[name] for name in whole} == {name: together[name] for name in whole}
    assert len(some[last]) == 2
    assert set(some[last]) < set(together[last])


def test_the_seed_changes_documents_and_positions() -> None:
    given = documents(*[300] * 100)
    first, other = (plain(draw_positions(given, count=40, seed=seed)) for seed in (0, 1))
    # Chance of the same ten documents in the same order: below 1e-19.
    assert list(first) != list(other)
    assert plain(draw_positions(given, count=40, seed=0)) == first
    everywhere = [plain(draw_positions(given, count=None, seed=seed)) for seed in (0, 1)]
    # Two draws of 4 places among 222 coincide with chance 1e-8.
    assert sum(everywhere[0][name] == everywhere[1][name] for name in everywhere[0]) == 0


def test_the_first_in_drawing_order_are_all_that_is_needed() -> None:
    given = documents(*range(30, 130))
    order = in_drawing_order([document.id for document in given], seed=2)
    assert sorted(order) == sorted(document.id for document in given)
    first = [document for document in given if document.id in order[:20]]
    assert plain(draw_positions(first, 40, seed=2)) == plain(draw_positions(given, 40, seed=2))
    assert in_drawing_order(order[::-1], seed=2) == order
    assert in_drawing_order([]) == []


def test_every_place_is_drawn_equally_often() -> None:
    given = documents(*[45] * 1000)
    drawn = np.concatenate(list(draw_positions(given, count=None, per_document=3).values()))
    counts = np.bincount(drawn - MIN_CONTEXT_TOKENS, minlength=10)
    # 1,000 draws of 3 among 10 places: 300 each, standard deviation 14.5. Beyond six deviations at one of
    # ten places by luck: 2e-8.
    assert len(counts) == 10
    assert np.abs(counts - 300).max() < 6 * 14.5


def test_too_little_text_says_how_much_there_is() -> None:
    with pytest.raises(
        InvalidInputError, match=r"10 positions .* only 5 have 35 tokens before them in 3 documents"
    ):
        draw_positions(documents(10, 36, 50), count=10)
    with pytest.raises(InvalidInputError, match="only 0 have 35 tokens before them in 0 documents"):
        draw_positions([], count=1)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"count": 0}, "count=0 and per_document=4"),
        ({"per_document": 0}, "per_document=0"),
        ({"min_context": 0}, "min_context=0"),
        ({"min_context": 300}, "min_context=300 and max_context=256"),
    ],
)
def test_impossible_requests_are_invalid(request_: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        draw_positions(documents(100), **request_)


def test_two_documents_of_one_id_are_invalid() -> None:
    with pytest.raises(InvalidInputError, match="'d0' twice"):
        draw_positions([*documents(50), *documents(60)], count=1)


@pytest.mark.parametrize("ids", [[[1, 2]], [0.5], ["a"]])
def test_token_ids_must_be_a_flat_list_of_integers(ids: object) -> None:
    with pytest.raises(InvalidInputError, match=r"flat sequence of integers; got .* in document 'x'"):
        TokenizedDocument("x", ids)


def test_documents_are_tokenized_as_far_as_needed() -> None:
    tokenizer = models.load("fake:v=300,d=4").tokenizer
    text = " ".join(f"word{index}" for index in range(500))
    long, short = tokenize_documents(tokenizer, [("long", text), ("short", "a few words")], max_context=50)
    assert (long.id, short.id) == ("long", "short")
    whole = encode(tokenizer, text)
    assert long.token_ids.tolist() == list(whole[: 51 + long.leading])
    assert short.token_ids.tolist() == list(encode(tokenizer, "a few words"))


def test_positions_can_be_spread_evenly() -> None:
    assert spread_evenly(35, 75, 3).tolist() == [35, 54, 74]
    assert spread_evenly(5, 8, 16).tolist() == [5, 6, 7]  # as many as there are
    assert spread_evenly(5, 6, 16).tolist() == [5]
    assert spread_evenly(5, 5, 16).tolist() == []  # nobody went on
    assert len(spread_evenly(0, 256, 16)) == 16
