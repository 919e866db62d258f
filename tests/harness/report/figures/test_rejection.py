from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.report.figures import style
from harness.report.figures.rejection import draw, rejection
from workers.rejection import Curve


def curve(rule: str, rate: list[float], parameters: list[float]) -> Curve:
    value = np.array(rate)
    low, high = np.maximum(value - 0.02, 0.0), value + 0.02
    return Curve(rule, np.array(parameters), value, low, high, np.zeros_like(value))


CURVES = [
    curve("eta", [0.0, 0.0, 0.1, 0.3], [1e-6, 1e-5, 1e-3, 0.1]),
    curve("ba-eta", [0.0, 0.0, 0.05, 0.2], [1e-6, 1e-5, 1e-3, 0.1]),
    curve("nucleus", [0.5, 0.2, 0.05], [0.2, 0.6, 0.95]),
    curve("ba-nucleus", [0.28, 0.15, 0.05], [0.2, 0.6, 0.95]),
    curve("epsilon", [0.0, 0.1, 0.3], [1e-6, 1e-3, 0.1]),
]


def test_rules_share_a_panel_with_their_basis_aware_forms() -> None:
    with style.settings():
        figure = draw(CURVES)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes if axes.axison}
    assert list(panels) == ["eta", "nucleus", "epsilon"]
    scales = {name: axes.get_yscale() for name, axes in panels.items()}
    assert scales == {"eta": "log", "nucleus": "linear", "epsilon": "log"}
    plain, aware = panels["eta"].get_lines()
    assert list(plain.get_xdata()) == pytest.approx([0.0, 0.0, 10.0, 30.0])
    assert list(plain.get_ydata()) == [1e-6, 1e-5, 1e-3, 0.1]
    assert list(aware.get_xdata()) == pytest.approx([0.0, 0.0, 5.0, 20.0])
    assert (plain.get_linestyle(), aware.get_linestyle()) == ("-", "--")
    assert panels["eta"].get_ylim() == pytest.approx((1e-3, 0.1)), "parameters that reject nothing"
    assert len(panels["eta"].collections) == 2
    assert len(panels["epsilon"].get_lines()) == 1


def test_intervals_are_bands_across_the_rate() -> None:
    with style.settings():
        axes = draw(CURVES[2:3]).axes[0]
    [band] = axes.collections
    corners = band.get_paths()[0].vertices
    assert corners[:, 0].min() == pytest.approx(3.0)
    assert corners[:, 0].max() == pytest.approx(52.0)


def test_curves_without_intervals_are_drawn_without_bands() -> None:
    bare = curve("eta", [0.1, 0.2], [1e-3, 1e-2])
    bare = Curve(bare.rule, bare.parameters, bare.value, bare.value * np.nan, bare.value * np.nan, bare.low)
    ElementTree.fromstring(rejection([bare]).svg)


def test_the_picture_says_what_it_shows() -> None:
    picture = rejection(CURVES)
    assert "ba-nucleus rejects 5% to 28% of human text between parameters 0.2 and 0.95" in picture.alternative
    with pytest.raises(InvalidInputError, match="at least one curve"):
        rejection([])


def test_every_number_of_constraints_has_a_line_of_its_own() -> None:
    aware = [dataclasses.replace(CURVES[1], constraints=constraints) for constraints in (100, 20)]
    with style.settings():
        figure = draw([CURVES[0], *aware])
    lines = figure.axes[0].get_lines()
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 3
    [legend] = figure.legends
    explained = ["plain rule", "basis-aware, c = 20", "basis-aware, c = 100"]
    assert [text.get_text() for text in legend.get_texts()] == explained
    assert legend.get_lines()[2].get_color() == lines[1].get_color()


def test_a_legend_of_many_numbers_of_constraints_is_inside_the_figure() -> None:
    aware = [dataclasses.replace(CURVES[1], constraints=constraints) for constraints in (5, 20, 100, 576)]
    with style.settings():
        figure = draw([CURVES[0], *aware])
        figure.draw_without_rendering()
    [legend] = figure.legends
    box = legend.get_window_extent().transformed(figure.transFigure.inverted())
    assert box.x0 >= 0.0
    assert box.x1 <= 1.0
    assert box.y1 <= 1.0
    assert box.y0 >= figure.axes[0].get_position().y1
