"""The engine on a real model over human text: the figures of ``benchmarks`` rest on the same contexts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import bat
from tests import exact
from workers.corpora import open_corpus
from workers.models import LanguageModel
from workers.positions import draw_from_corpus
from workers.reading import read

pytestmark = pytest.mark.model

COUNT = 200


@pytest.fixture(scope="module")
def basis(demo_model: LanguageModel) -> bat.Basis:
    return demo_model.basis(20)


@pytest.fixture(scope="module")
def contexts(demo_model: LanguageModel) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    drawn = draw_from_corpus(open_corpus("news", split="all"), demo_model.tokenizer, COUNT)
    batches = list(read(demo_model, *drawn))
    probs = bat.softmax(np.concatenate([batch.logits for batch in batches]))
    return probs, np.concatenate([batch.tokens for batch in batches])


@pytest.fixture(scope="module")
def answer(
    basis: bat.Basis, contexts: tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
) -> bat.CriticalThresholds:
    return bat.critical_thresholds(basis, *contexts)


def test_every_interval_closes(
    contexts: tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]], answer: bat.CriticalThresholds
) -> None:
    probs, tokens = contexts
    assert answer.closed.all()
    assert (answer.upper - answer.lower <= 1e-6 * answer.upper).all()
    assert (answer.lower >= probs[np.arange(COUNT), tokens]).all()


def test_certificates_check_independently(
    basis: bat.Basis,
    contexts: tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]],
    answer: bat.CriticalThresholds,
) -> None:
    probs, tokens = contexts
    for row in range(0, COUNT, 10):
        bounds = answer.lower[row], answer.upper[row], answer.certificates[row]
        exact.check_interval(basis.rows, probs[row], int(tokens[row]), *bounds, exact=False)


@pytest.mark.parametrize(("solver", "rows"), [("highs", (3, 60, 150)), ("cbc", (3, 60))])
def test_reference_solvers_agree(
    solver: str,
    rows: tuple[int, ...],
    basis: bat.Basis,
    contexts: tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]],
    answer: bat.CriticalThresholds,
) -> None:
    probs, tokens = contexts
    # from the least likely human token to a likely one
    order = np.argsort(probs[np.arange(COUNT), tokens])
    chosen = order[list(rows)]
    theirs = bat.critical_thresholds(basis, probs[chosen], tokens[chosen], solver=solver, threads=1)
    assert theirs.closed.all()
    assert (theirs.lower <= answer.upper[chosen]).all()
    assert (answer.lower[chosen] <= theirs.upper).all()


def test_a_whole_vocabularys_candidate_set(
    basis: bat.Basis,
    contexts: tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]],
) -> None:
    probs, _ = contexts
    found = bat.candidate_set(basis, probs[0], 0.02)
    assert found.exact
    above = np.flatnonzero(probs[0] >= 0.02)
    assert set(above) < set(found.accepted)  # the basis lets in tokens below the threshold
    assert found.programs < 1000
    # Members and the likeliest non-members, asked one by one.
    outside = np.setdiff1d(np.argsort(-probs[0])[:120], found.accepted)[:10]
    asked = np.concatenate([found.accepted[:10], outside])
    alone = bat.critical_thresholds(basis, np.repeat(probs[:1], len(asked), axis=0), asked)
    inside = np.isin(asked, found.accepted)
    assert (alone.lower[inside] > 0.02).all()
    assert (alone.upper[~inside] <= 0.02).all()
