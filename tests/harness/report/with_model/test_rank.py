from __future__ import annotations

import numpy as np
import pytest

import bat
from bat.errors import InvalidInputError
from bat.rules import get_rule
from harness.report.names import by_name
from harness.report.with_model.rank import (
    UNTRUNCATED,
    RankPoint,
    default_counts,
    rank_against_prefixes,
    rank_picture,
    ranks_of_first_rows,
)
from workers import models
from workers.models import LanguageModel
from workers.positions import TokenizedDocument

RULES = [get_rule(name) for name in ("nucleus=0.8", "eta=0.01", "epsilon=0.02")]
COUNTS = [60, 8, 16, 30]
# Of the largest singular value; fake models are small, and so is what rounding adds up to.
TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def fake() -> LanguageModel:
    return models.load("fake:v=300,d=16", device="cpu")


@pytest.fixture(scope="module")
def documents() -> list[TokenizedDocument]:
    rng = np.random.default_rng(3)
    return [TokenizedDocument(f"d{place}", rng.integers(0, 256, size=80)) for place in range(3)]


@pytest.fixture(scope="module")
def points(fake: LanguageModel, documents: list[TokenizedDocument]) -> list[RankPoint]:
    return rank_against_prefixes(fake, documents, COUNTS, by_name(RULES))


def ranks(points: list[RankPoint], rule: str) -> dict[int, int]:
    return {point.prefixes: point.rank for point in points if point.rule == rule}


def test_without_truncation_the_rank_stops_one_above_the_hidden_size(points: list[RankPoint]) -> None:
    assert ranks(points, UNTRUNCATED) == {8: 8, 16: 16, 30: 17, 60: 17}


def test_truncation_passes_the_hidden_size(points: list[RankPoint]) -> None:
    for rule in RULES:
        found = ranks(points, str(rule))
        assert list(found) == [8, 16, 30, 60]
        assert found[60] > 40
        assert all(rank <= prefixes for prefixes, rank in found.items())


def test_what_stands_for_rejected_tokens_hardly_matters(
    fake: LanguageModel, documents: list[TokenizedDocument], points: list[RankPoint]
) -> None:
    lower = rank_against_prefixes(fake, documents, COUNTS, by_name(RULES), floor=1e-30)
    assert ranks(lower, UNTRUNCATED) == ranks(points, UNTRUNCATED)
    for one, other in zip(points, lower, strict=True):
        assert (one.rule, one.prefixes) == (other.rule, other.prefixes)
        assert abs(one.rank - other.rank) <= 1


def test_ranks_are_those_of_the_definition(fake: LanguageModel) -> None:
    """One document with as many places as are asked for, so that every one of them is drawn."""
    import torch

    ids = np.random.default_rng(4).integers(0, 256, size=70)
    found = rank_against_prefixes(fake, [TokenizedDocument("d", ids)], [35], by_name(RULES), TOLERANCE)
    with torch.inference_mode():
        logits = fake.model(input_ids=torch.from_numpy(ids)[None]).logits[0, 34:69].double().numpy()
    probs = bat.softmax(logits)
    expected = {UNTRUNCATED: np.log(probs)}
    for rule in RULES:
        kept = np.where(rule.keep(probs), probs, 0.0)
        kept /= kept.sum(axis=1, keepdims=True)
        expected[str(rule)] = np.log(np.where(kept > 0.0, kept, 1e-12))
    for point in found:
        values = np.linalg.svd(expected[point.rule], compute_uv=False)
        assert point.rank == (values > TOLERANCE * values[0]).sum()


def test_ranks_of_first_rows_are_those_of_a_matrix_of_known_rank() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=(50, 7)) @ rng.normal(size=(7, 400)) + 1e-9 * rng.normal(size=(50, 400))
    matrix[20:] += 1e-4 * rng.normal(size=(30, 2)) @ rng.normal(size=(2, 400))
    assert ranks_of_first_rows(matrix, [5, 20, 21, 50], 1e-6) == [5, 7, 8, 9]
    assert ranks_of_first_rows(matrix, [5, 20, 21, 50], 1e-2) == [5, 7, 7, 7]
    assert ranks_of_first_rows(matrix[:, :4], [20], 1e-6) == [4], "fewer columns than rows"


def test_counts_reach_twice_the_hidden_size_if_memory_allows() -> None:
    assert default_counts(576, 49_152) == [144, 288, 432, 576, 720, 864, 1008, 1152]
    assert default_counts(8192, 250_000)[-1] == 1000
    assert default_counts(2, 10) == [1, 2, 3, 4]


def test_the_picture_has_a_line_for_each_rule(
    fake: LanguageModel, documents: list[TokenizedDocument]
) -> None:
    told: list[int] = []
    picture = rank_picture(fake, documents, by_name(RULES[:1]), told.append)
    assert told == [1, 2]
    assert "untruncated: 17 after 32 prefixes; nucleus=0.8: " in picture.alternative


def test_models_with_short_contexts_are_read_as_far_as_they_can() -> None:
    short = models.load("fake:v=300,d=4,context=20", device="cpu")
    document = TokenizedDocument("d", np.arange(100))
    [point] = rank_against_prefixes(short, [document], [1], {})
    assert point == RankPoint(UNTRUNCATED, 1, 1)


def test_impossible_requests_are_invalid(fake: LanguageModel, documents: list[TokenizedDocument]) -> None:
    def ask(counts: list[int], *rules: str, **more: float) -> None:
        rank_against_prefixes(fake, documents, counts, {rule: get_rule(rule) for rule in rules}, **more)  # type: ignore[arg-type]

    with pytest.raises(InvalidInputError, match="at least one number of prefixes"):
        ask([])
    with pytest.raises(InvalidInputError, match="each at least 1; got \\[0, 5\\]"):
        ask([0, 5])
    with pytest.raises(
        InvalidInputError, match=r"only be computed for plain rules; got ba-eta=0\.2.*Give eta=0\.2"
    ):
        ask([5], "ba-eta=0.2")
    with pytest.raises(InvalidInputError, match="tolerance must lie in"):
        ask([5], tolerance=1e-9)
    with pytest.raises(InvalidInputError, match="floor must lie in"):
        ask([5], floor=0.0)
    with pytest.raises(InvalidInputError, match="10,000 positions were asked for"):
        ask([10_000])
