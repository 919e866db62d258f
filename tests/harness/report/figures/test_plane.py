from __future__ import annotations

from xml.etree import ElementTree

import pytest

from bat.errors import InvalidInputError
from harness.report.figures import style
from harness.report.figures.plane import Axis, Curve, Point, _draw, look_of, plane
from harness.report.pictures import pictures_of_plane
from tests.harness.report.made_results import STATISTICS, make_results, make_sources, sweep

NUCLEUS = Curve("nucleus", (Point("0.5", 0.2, 0.9, 60.0), Point("0.9", 0.6, 0.7, 10.0)))
GREEDY = Curve("greedy", (Point("", 0.1, 0.95, None),))


def test_curves_run_along_the_parameter_and_grow_with_the_rejection_rate() -> None:
    with style.settings():
        [axes] = _draw([NUCLEUS, GREEDY], Axis("recall", 0.55), Axis("precision"), sized=True).axes
        lines = [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()]
        assert lines[0] == ([0.2, 0.6], [0.9, 0.7])
        assert lines[-1][0] == [0.55, 0.55]  # human text
        sizes = [points.get_sizes().tolist() for points in axes.collections[:2]]
        assert sizes[0][0] > 2 * sizes[0][1]
        assert [text.get_text() for text in axes.texts] == ["0.5", "0.9", ""]
    picture = plane([NUCLEUS, GREEDY], Axis("recall", 0.55), Axis("precision"))
    ElementTree.fromstring(picture.svg)
    assert "recall of human text is 0.55" in picture.caption
    described = "nucleus goes from precision 0.9 and recall 0.2 at 0.5 to 0.7 and 0.6 at 0.9"
    assert described in picture.alternative


def test_many_methods_look_different_without_colour() -> None:
    looks = [look_of(index) for index in range(12)]
    assert len({(look.marker, look.colour) for look in looks}) == 12
    assert len({look.marker for look in looks}) == 12


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(InvalidInputError, match="at least one method"):
        plane([], Axis("recall"), Axis("precision"))


@pytest.mark.parametrize(
    ("more", "title"),
    [({"precision": 0.8, "recall": 0.4}, "precision against recall"), ({}, "MAUVE against distinct-2")],
)
def test_the_plane_is_drawn_from_what_was_scored(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, float], title: str
) -> None:
    monkeypatch.setattr("harness.report.tables.rejection.REPLICATES", 10)
    methods = [{"rule": "nucleus", "parameter": [0.5, 0.9]}, {"rule": "greedy"}]
    results = make_results(sweep(methods=methods), statistics={**STATISTICS, **more})
    [picture] = pictures_of_plane(make_sources(results))
    assert picture.title == title
    assert ("distinct-2 of human text is 0.9" in picture.caption) == (not more)
    assert list(pictures_of_plane(make_sources(make_results(sweep(methods=[{"rule": "greedy"}]))))) == []


def test_curves_run_along_the_temperature_if_only_that_varies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.report.tables.rejection.REPLICATES", 10)
    methods = [
        {"rule": "nucleus", "parameter": 0.9, "temperature": [1.5, 0.7, 1.0]},
        {"rule": "min-p", "parameter": [0.1, 0.05], "temperature": [0.7, 1.0]},
    ]
    [picture] = pictures_of_plane(make_sources(make_results(sweep(methods=methods), statistics=STATISTICS)))
    for described in (
        "nucleus goes from",
        "at T=0.7 to",
        "min-p (T=0.7) goes from",
        "at 0.05 to",
        "at T=1.5",
    ):
        assert described in picture.alternative
    assert picture.alternative.count(" goes from ") == 3
