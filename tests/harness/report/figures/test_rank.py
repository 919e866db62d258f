from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bat.errors import InvalidInputError
from harness.report.figures import style
from harness.report.figures.rank import RankLine, draw, rank

LINES = [
    RankLine("untruncated", (10, 20, 40), (10, 17, 17)),
    RankLine("eta=0.002", (10, 20, 40), (9, 19, 37)),
]


def test_lines_and_the_hidden_size_are_drawn() -> None:
    with style.settings():
        [axes] = draw(LINES, 16).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    for given in LINES:
        assert tuple(lines[given.label].get_xdata()) == given.prefixes
        assert tuple(lines[given.label].get_ydata()) == given.rank
    assert [16, 16] in [list(line.get_ydata()) for line in axes.get_lines()]
    assert axes.texts[0].get_text() == "hidden size d = 16"
    assert axes.get_ylim()[1] > 40


def test_the_picture_says_what_it_shows() -> None:
    picture = rank(LINES, 16)
    assert picture.paper == "Figure 10 of the paper"
    assert "untruncated: 17 after 40 prefixes; eta=0.002: 37 after 40" in picture.alternative
    assert "d + 1 = 17" in picture.caption
    ElementTree.fromstring(picture.svg)
    with pytest.raises(InvalidInputError, match="at least one line"):
        rank([], 16)
