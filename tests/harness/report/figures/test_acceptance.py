from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import bat
from bat.errors import InvalidInputError
from bat.rules import get_rule
from bat.thresholds import Verdict
from harness.explore.next_token import Method, NextTokens, Row, tabulate, verdict_words
from harness.report.figures import style
from harness.report.figures.acceptance import Panel, acceptance, draw

RULES = [get_rule(name) for name in ("eta=0.05", "ba-epsilon=0.05", "ba-eta=0.2", "typical=0.5")]


@pytest.fixture(scope="module")
def panels() -> list[Panel]:
    rng = np.random.default_rng(1)
    basis = bat.Basis.from_matrix(rng.normal(size=(200, 12)), constraints=6)
    made = []
    for prompt, tokens in (("Taylor", 8), ("The capital of a country far away is", 6), ("日本", 5)):
        found = tabulate(bat.softmax(rng.normal(scale=2.0, size=(1, 200)))[0], RULES, basis, tokens=tokens)
        made.append(Panel(prompt, found, tuple(f"␣$w{row.token}$東" for row in found.rows)))
    return made


def test_words_tell_how_a_token_was_accepted() -> None:
    aware, plain, other = get_rule("ba-eta=0.2"), get_rule("eta=0.05"), get_rule("typical=0.5")
    methods = [Method(aware, 0.1), Method(plain, 0.02), Method(other, None)]
    yes, no, unknown = Verdict.ACCEPT, Verdict.REJECT, Verdict.UNDECIDED

    def words(probability: float, *verdicts: Verdict) -> list[str]:
        return verdict_words(Row(0, 7, probability, verdicts), methods)

    assert words(0.1, yes, yes, yes) == ["yes", "yes", "yes"]
    assert words(0.05, yes, yes, no) == ["basis", "yes", "no"]
    assert words(0.01, unknown, no, yes) == ["?", "no", "yes"]


def test_every_token_has_a_bar_and_every_method_a_mark(panels: list[Panel]) -> None:
    with style.settings():
        figure = draw(panels)
    axes = figure.axes
    assert len(axes) == 2 * len(panels) + 1
    for panel, bars, marks in zip(panels, axes[0:6:2], axes[1:6:2], strict=True):
        assert [bar.get_width() for bar in bars.patches] == [row.probability for row in panel.tokens.rows]
        judged = [verdict_words(row, panel.tokens.methods)[2] for row in panel.tokens.rows]
        assert [bool(bar.get_hatch()) for bar in bars.patches] == [word in ("no", "?") for word in judged]
        shown = {}
        for line in marks.get_lines():
            word = {"o": "yes", "D": "basis", "x": "no", "s": "?"}[str(line.get_marker())]
            shown.update({(y, x): word for x, y in zip(*line.get_data(), strict=True)})
        assert shown == {
            (y, x): word
            for y, row in enumerate(panel.tokens.rows)
            for x, word in enumerate(verdict_words(row, panel.tokens.methods))
        }
        assert [text.get_text() for text in marks.texts] == ["η", "BA-ε", "BA-η", "typical"]


def test_texts_stay_within_the_figure_and_off_each_other(panels: list[Panel]) -> None:
    with style.settings():
        figure = draw(panels)
        figure.draw_without_rendering()
        boxes = [text.get_window_extent() for text in figure.texts if text.get_text()]
    for place, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height
        for other in boxes[:place]:
            across = min(box.x1, other.x1) - max(box.x0, other.x0)
            up = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert across <= 0 or up <= 0.25 * min(box.height, other.height), "letters would touch"


def test_the_picture_says_what_it_shows(panels: list[Panel]) -> None:
    picture = acceptance(panels)
    assert picture.paper == "Figures 1 and 4 of the paper"
    assert "solid where ba-eta=0.2 accepts" in picture.caption
    own = [verdict_words(row, panels[0].tokens.methods)[2] for row in panels[0].tokens.rows]
    said = f"after 'Taylor', ba-eta=0.2 accepts {own.count('yes')} for their probability"
    assert said in picture.alternative
    ElementTree.fromstring(picture.svg)
    assert acceptance(panels).svg == picture.svg


def test_plain_methods_alone_can_be_drawn(panels: list[Panel]) -> None:
    found = panels[0].tokens
    rows = tuple(replace(row, verdicts=row.verdicts[:1]) for row in found.rows)
    plain = Panel("Taylor", NextTokens(found.entropy, found.methods[:1], rows), panels[0].texts)
    assert "hatched" not in acceptance([plain]).caption


def test_panels_that_do_not_fit_are_invalid(panels: list[Panel]) -> None:
    with pytest.raises(InvalidInputError, match="at least one prompt"):
        acceptance([])
    with pytest.raises(InvalidInputError, match="7 texts for 8 tokens after 'Taylor'"):
        acceptance([replace(panels[0], texts=panels[0].texts[1:])])
    found = panels[1].tokens
    rows = tuple(replace(row, verdicts=row.verdicts[:1]) for row in found.rows)
    fewer = replace(panels[1], tokens=NextTokens(found.entropy, found.methods[:1], rows))
    with pytest.raises(InvalidInputError, match="the same methods"):
        acceptance([panels[0], fewer])
