from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from harness.commands.report_view import print_table
from harness.report.parts import Cell, Row, Table
from tests.harness.report.formats.made_report import comparison, number


def printed(table: Table, width: int = 80, *, colours: bool = False) -> str:
    stream = io.StringIO()
    system = "standard" if colours else None
    console = Console(file=stream, width=width, force_terminal=colours, color_system=system, _environ={})
    print_table(console, table)
    return stream.getvalue()


def words(text: str) -> list[str]:
    return re.findall(r"[^\s─]+", text)


def wide(columns: int) -> Table:
    names = tuple(f"GPT-2 number {place}" for place in range(columns))
    rows = tuple(
        Row(label, tuple(number(80.0 + place, 79.5, 91.25) for place in range(columns)))
        for label in ("eta=0.0009", "ba-eta=0.0089 (c=20)")
    )
    return Table("wide", "Wide", "A caption.", ("method", *names), rows)


def test_a_table_that_fits_has_a_line_a_row() -> None:
    lines = printed(wide(2)).splitlines()
    assert lines[0].strip() == "Wide"
    [row] = [line for line in lines if line.startswith("ba-eta=0.0089 (c=20)")]
    assert words(row)[2:] == ["80.0", "[79.5,", "91.25]", "81.0", "[79.5,", "91.25]"]


@pytest.mark.parametrize("columns", [1, 3, 4, 6, 12])
@pytest.mark.parametrize("width", [60, 80, 120])
def test_nothing_is_cut_off_or_broken(columns: int, width: int) -> None:
    text = printed(wide(columns), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    found = words(text)
    for place in range(columns):
        assert found.count(f"{80.0 + place}") == 2
        assert str(place) in found
    assert found.count("[79.5,") == found.count("91.25]") == 2 * columns


def test_intervals_stand_below_their_numbers_where_there_is_no_room() -> None:
    lines = printed(wide(4)).splitlines()
    [first] = [place for place, line in enumerate(lines) if line.startswith("eta=0.0009")]
    assert words(lines[first])[1:] == ["80.0", "81.0", "82.0", "83.0"]
    assert words(lines[first + 1]) == ["[79.5,", "91.25]"] * 4


def test_a_table_too_wide_comes_in_pieces_that_each_have_the_labels() -> None:
    text = printed(wide(12))
    pieces = len(re.findall(r"^eta=0\.0009", text, re.MULTILINE))
    assert pieces > 1
    assert len(re.findall(r"^ba-eta=0\.0089", text, re.MULTILINE)) == pieces


def test_words_give_way_to_numbers() -> None:
    text = printed(comparison())
    assert max(map(len, text.splitlines())) <= 80
    assert "[86.5, 90.3]" in text
    everything = " ".join(words(text))
    assert "need two seeds" in everything
    assert "Corresponds to Table 1 of the paper." in everything
    sentence = comparison().rows[0].cells[2].text
    assert set(sentence.split()) <= set(words(text))


def test_the_best_is_bold_and_what_explains_is_dim() -> None:
    text = printed(comparison(), 120, colours=True)
    assert re.search(r"\x1b\[1m *88\.4", text)
    assert not re.search(r"\x1b\[1m *87\.8", text)
    assert "\x1b[2mMAUVE times 100" in text
    assert "\x1b[2mIntervals over generation seeds" in text


def test_brackets_are_no_markup() -> None:
    table = Table("t", "[red]t[/red]", "", ("a", "[bold]b"), (Row("[x]", (Cell("[/]"),)),))
    assert {"[red]t[/red]", "[bold]b", "[x]", "[/]"} <= set(words(printed(table)))


def test_a_table_of_labels_alone() -> None:
    assert "only" in printed(Table("t", "T", "", ("a",), (Row("only", ()),)))
