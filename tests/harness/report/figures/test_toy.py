from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import bat
from harness.report.figures import toy

WEIGHT = np.array([0.55, 0.71, 0.29])


@pytest.fixture(scope="module")
def shapes() -> toy.Shapes:
    return toy.compute_shapes()


def test_outputs_are_the_softmax_of_the_weights(shapes: toy.Shapes) -> None:
    expected = np.exp(WEIGHT * 2.55) / np.exp(WEIGHT * 2.55).sum()
    assert shapes.output == pytest.approx(expected)
    # On the curve of possible outputs, log-ratios of tokens stay in the ratio of their weights' differences.
    logs = np.log(shapes.possible[150:251])
    ratio = (WEIGHT[0] - WEIGHT[2]) / (WEIGHT[1] - WEIGHT[2])
    assert logs[:, 0] - logs[:, 2] == pytest.approx(ratio * (logs[:, 1] - logs[:, 2]), abs=1e-9)
    assert shapes.possible[[0, -1]] == pytest.approx(np.eye(3)[[2, 1]], abs=1e-3)


def test_the_line_keeps_what_the_weights_see(shapes: toy.Shapes) -> None:
    assert shapes.indistinguishable.sum(axis=1) == pytest.approx([1.0, 1.0])
    assert shapes.indistinguishable @ WEIGHT == pytest.approx([shapes.output @ WEIGHT] * 2)
    assert shapes.indistinguishable.min(axis=1) == pytest.approx([0.0, 0.0], abs=1e-12), (
        "it ends at the edges"
    )


def test_the_area_is_what_truncation_allows(shapes: toy.Shapes) -> None:
    from matplotlib.path import Path

    limits = 1.9 * shapes.output
    assert (shapes.allowed <= limits + 1e-12).all()
    area = Path(shapes.allowed[:, :2])
    inside = 0
    for one in np.random.default_rng(0).dirichlet(np.ones(3), size=500):
        allowed = bool((one <= limits).all())
        assert area.contains_point(one[:2]) == allowed
        inside += allowed
    assert 100 < inside < 400


def test_the_witness_is_where_line_and_area_meet_the_edge_of_token_0(shapes: toy.Shapes) -> None:
    ends = sorted(map(tuple, shapes.indistinguishable))
    assert shapes.witness == pytest.approx(ends[0], abs=1e-9)
    assert shapes.witness[0] == 0.0
    assert (shapes.witness <= 1.9 * shapes.output).all()
    # At the line's other end token 2 would have nothing, but token 0 more than is allowed.
    assert ends[1][2] == pytest.approx(0.0, abs=1e-12)
    assert ends[1][0] > 1.9 * shapes.output[0]
    basis = bat.Basis.from_matrix(WEIGHT[:, None], constraints=1)
    each = np.repeat(shapes.output[None], 3, axis=0)
    verdicts = bat.decide(basis, each, [0, 1, 2], toy.THRESHOLD).verdicts
    assert [str(verdict) for verdict in verdicts] == ["reject", "accept", "accept"]


def test_the_picture_says_what_it_shows() -> None:
    picture = toy.toy()
    assert picture.paper == "Figure 3 of the paper"
    assert "(0.33, 0.50, 0.17)" in picture.caption
    assert "so token 0 is rejected" in picture.caption  # counted as in the rest of the project
    assert "the paper counts them from 1" in picture.caption
    assert "edge of token 0" in picture.alternative
    assert "(0.00, 0.70, 0.30)" in picture.alternative
    ElementTree.fromstring(picture.svg)
