from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from bat.errors import InvalidInputError
from harness.report.figures import style
from harness.report.figures.comparison import Bar, comparison, draw, in_pairs

BARS = [
    Bar("Small", "ba-eta=0.05", 0.9, 0.88, 0.93),
    Bar("Small", "nucleus=0.9", 0.8, 0.75, 0.84),
    Bar("Small", "eta=0.002", 0.7),
    Bar("XL", "eta=0.002", 0.95, math.nan, math.nan),
]


def test_basis_aware_methods_follow_their_plain_forms() -> None:
    assert in_pairs(["ba-eta", "top-k", "eta", "ba-epsilon", "eta", "epsilon"]) == [
        "eta",
        "ba-eta",
        "top-k",
        "epsilon",
        "ba-epsilon",
    ]


def test_every_score_stands_at_its_method_with_its_interval() -> None:
    with style.settings():
        figure = draw(BARS, "MAUVE")
        small, large = figure.axes
    labels = [label.get_text() for label in small.get_yticklabels()]
    assert labels == ["eta=0.002", "ba-eta=0.05", "nucleus=0.9"]
    points, intervals = {}, {}
    for line in small.get_lines():
        x, y = (list(part) for part in line.get_data())
        if line.get_marker() in ("o", "D"):
            points[labels[y[0]]] = (x[0], line.get_marker())
        elif line.get_marker() == "|":
            intervals[labels[y[0]]] = x
    assert points == {"eta=0.002": (0.7, "o"), "ba-eta=0.05": (0.9, "D"), "nucleus=0.9": (0.8, "o")}
    assert intervals == {"ba-eta=0.05": [0.88, 0.93], "nucleus=0.9": [0.75, 0.84]}
    assert [line.get_marker() for line in large.get_lines()] == ["o"]
    assert small.get_title(loc="left") == "Small"
    assert small.get_xlim() == large.get_xlim()


def test_the_picture_says_what_it_shows() -> None:
    picture = comparison(BARS)
    assert picture.name == "comparison"
    assert picture.paper == "Figure 5 of the paper"
    assert "Small: ba-eta=0.05 at 0.9; XL: eta=0.002 at 0.95" in picture.alternative
    ElementTree.fromstring(picture.svg)


def test_no_scores_are_invalid() -> None:
    with pytest.raises(InvalidInputError, match="at least one score"):
        comparison([])
