from __future__ import annotations

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from bat.errors import InvalidInputError
from harness.report.figures import style
from harness.report.figures.sweep import Line, Spacing, constraints_sweep, draw, eta_sweep

NAN = math.nan
ETA = Line("eta", (0.004, 0.001, 0.002), (0.7, 0.9, 0.8), (0.65, NAN, 0.75), (0.75, NAN, 0.85))
AWARE = Line("ba-eta", (0.001, 0.002, 0.004), (0.91, 0.85, 0.8), (0.9, 0.8, 0.7), (0.92, 0.9, 0.9))


def test_lines_run_along_the_axis_with_their_intervals() -> None:
    with style.settings():
        [axes] = draw([ETA, AWARE], "MAUVE", "eta", Spacing.LOG).axes
        assert axes.get_xscale() == "log"
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.001", "0.002", "0.004"]
    lines = {line.get_label(): line for line in axes.get_lines()}
    for given, values in ((ETA, [0.9, 0.8, 0.7]), (AWARE, [0.91, 0.85, 0.8])):
        assert list(lines[given.label].get_ydata()) == values
        assert list(lines[given.label].get_xdata()) == pytest.approx([0.001, 0.002, 0.004], rel=0.1)
    assert lines["eta"].get_xdata()[0] < lines["ba-eta"].get_xdata()[0], "intervals would be on each other"
    assert (lines["eta"].get_marker(), lines["ba-eta"].get_marker()) == ("o", "D")
    intervals = [tuple(line.get_ydata()) for line in axes.get_lines() if line.get_marker() == "_"]
    assert intervals == [(0.75, 0.85), (0.65, 0.75), (0.9, 0.92), (0.8, 0.9), (0.7, 0.9)]


@pytest.mark.parametrize(
    ("constraints", "labelled"),
    [
        ([0, 20, 100, 576], ["0", "20", "100", "576"]),
        ([0, 5, 20, 21, 576], ["0", "5", "20", "576"]),
        ([0, 20, 100, 140, 576], ["0", "20", "100", "576"]),
        ([0, 20, 100, 540, 576], ["0", "20", "100", "576"]),
        ([0, 100, 1400, 2048], ["0", "100", "2048"]),
        ([0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50], ["0", "5", "10", "15", "25", "35", "50"]),
        ([20], ["20"]),
    ],
)
def test_few_and_all_constraints_have_room_on_one_axis(constraints: list[float], labelled: list[str]) -> None:
    n = len(constraints)
    line = Line("ba-eta", tuple(constraints), (0.8,) * n, (0.7,) * n, (0.95,) * n)
    with style.settings():
        figure = draw([line], "MAUVE", "constraints", Spacing.COUNTS)
        [axes] = figure.axes
        figure.canvas.draw()
    assert list(axes.get_lines()[-1].get_xdata()) == constraints
    labels = [tick for tick in axes.get_xticklabels() if tick.get_text()]
    assert [tick.get_text() for tick in labels] == labelled
    boxes = [tick.get_window_extent() for tick in labels]
    assert all(before.x1 < after.x0 for before, after in pairwise(boxes))
    picture = constraints_sweep([line])
    assert f"ba-eta goes from 0.8 at {labelled[0]}" in picture.alternative
    ElementTree.fromstring(picture.svg)


def test_parameters_can_be_on_an_even_axis() -> None:
    line = Line("top-k", (10.0, 20.0, 50.0), (0.8, 0.85, 0.9), (0.7, 0.8, 0.85), (0.9, 0.9, 0.95))
    with style.settings():
        [axes] = draw([line], "MAUVE", "k", Spacing.LINEAR).axes
    assert axes.get_xscale() == "linear"
    assert list(axes.get_lines()[-1].get_xdata()) == list(line.x)


def test_a_line_of_one_point_can_be_drawn() -> None:
    picture = eta_sweep([Line("eta", (0.002,), (0.9,), (0.8,), (0.95,))])
    ElementTree.fromstring(picture.svg)


def test_lines_that_do_not_fit_are_invalid() -> None:
    with pytest.raises(InvalidInputError, match="2 x, 1 values"):
        Line("eta", (0.1, 0.2), (0.9,), (0.8,), (0.95,))
    with pytest.raises(InvalidInputError, match="at least one"):
        Line("eta", (), (), (), ())
    with pytest.raises(InvalidInputError, match="at least one line"):
        eta_sweep([])


def test_as_many_lines_as_there_are_looks_can_be_drawn() -> None:
    lines = [Line(f"method {index}", ETA.x, ETA.value, ETA.low, ETA.high) for index in range(7)]
    with style.settings():
        [axes] = draw(lines, "MAUVE", "eta", Spacing.LOG).axes
    named = [line for line in axes.get_lines() if line.get_label().startswith("method")]
    assert len({(line.get_linestyle(), line.get_marker()) for line in named}) == len(style.LOOKS)
