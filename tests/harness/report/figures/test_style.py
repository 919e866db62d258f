from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath

from harness.report.figures import style


def draw_dollars() -> Figure:
    figure = style.new_figure(3.0)
    axes = figure.add_subplot()
    axes.plot([0, 1], [1, 0], label="$x$ and $")
    axes.fill_between([0, 1], [0, 1], hatch="//")
    axes.legend()
    return figure


def test_drawings_are_the_same_bytes_every_time_and_bring_their_letters() -> None:
    first = style.render(draw_dollars)
    assert style.render(draw_dollars) == first
    root = ElementTree.fromstring(first)
    assert root.attrib["width"] == f"{12 / 2.54 * 72:.6f}".rstrip("0") + "pt"
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert "path" in tags
    assert not tags & {"text", "date", "image", "script"}
    # Dollar signs are dollar signs: the same text twice, each in outlines.
    assert b"<!-- $x$ and $ -->" in first


def test_settings_of_the_user_are_left_alone_and_do_not_show() -> None:
    plain = style.render(draw_dollars)
    with matplotlib.rc_context({"font.size": 30.0, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert style.render(draw_dollars) == plain
        assert matplotlib.rcParams["font.size"] == 30.0
        assert matplotlib.rcParams["svg.hashsalt"] == "other"


def test_no_figure_stays_open_and_nothing_is_imported_early() -> None:
    program = (
        "import sys; from harness.report.figures import comparison, sweep, rank, acceptance; "
        "assert 'matplotlib' not in sys.modules; "
        "comparison.comparison([comparison.Bar('a', 'eta', 0.5)]); "
        "assert 'matplotlib' in sys.modules; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0006, "0.0006"),
        (1e-6, "1e-6"),
        (3e-5, "3e-5"),
        (1.0, "1"),
        (100.0, "100"),
        (2e7, "2e7"),
    ],
)
def test_numbers_are_written_as_people_do(value: float, text: str) -> None:
    assert style.number(value) == text


@pytest.mark.parametrize(
    ("method", "aware", "name"),
    [
        ("eta", False, "eta"),
        ("ba-eta=0.02", True, "eta"),
        ("BA-eta", True, "eta"),
        ("BA eta", True, "eta"),
        ("Nucleus=0.9", False, "nucleus"),
        ("base", False, "base"),
    ],
)
def test_basis_aware_methods_are_known_by_name(method: str, aware: bool, name: str) -> None:
    assert style.is_basis_aware(method) is aware
    assert style.plain_name(method) == name


def test_letters_that_the_font_lacks_are_escaped() -> None:
    assert style.printable("␣naïve $5") == "␣naïve $5"
    assert style.printable("東") == "\\u6771"
    assert style.printable("abcdef", 4) == "abc…"


def test_texts_are_cut_to_their_room() -> None:
    assert style.fitted("is", 2.0) == "is"
    for end in (False, True):
        cut = style.fitted("WWWWWWWWWWWWiiiiiiii", 1.5, end=end)
        width_cm = TextPath((0, 0), cut, size=8).get_extents().width / 72 * 2.54
        assert 1.0 < width_cm <= 1.5
        assert cut.startswith("…") is end
        assert cut.endswith("…") is not end


def test_names_are_listed() -> None:
    assert style.listed(["a"]) == "a"
    assert style.listed(["a", "b", "c"]) == "a, b and c"
