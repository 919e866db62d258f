from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from bat.errors import InvalidInputError
from harness.report.formats import html
from harness.report.parts import Cell, Report, Row, Section, Table
from tests.harness.report.formats.made_report import HOSTILE, SVG, comparison, picture, report

# Elements without an end.
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Elements with their attributes and texts; raises where an element is closed out of turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text_of(self, tag: str) -> list[str]:
        return [" ".join(text.split()) for name, text in self.texts if name == tag and text.strip()]


@pytest.fixture(scope="module")
def text() -> str:
    return html.page(report())


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_nothing_is_loaded_and_nothing_runs(text: str, page: Page) -> None:
    assert text.startswith("<!DOCTYPE html>")
    for _, attributes in page.elements:
        assert not {name for name in attributes if name.startswith("on")}
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))
    assert not page.all("link")
    [(_, script)] = [pair for pair in page.texts if pair[0] == "script"]  # ours, and only ours
    assert page.all("script") == [{}]
    assert script == files("harness.report.formats").joinpath("page.js").read_text()
    assert not re.search(r"fetch|XMLHttpRequest|import\b|eval|innerHTML|src\s*=", script)
    style = text[text.index("<style>") : text.index("</style>")]
    assert not re.search(r"url\(|@import|//", style)
    policy = next(one for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"].startswith("default-src 'none'")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy["content"].endswith(f"script-src 'sha256-{digest}'")  # so nothing else can run


def test_links_of_the_contents_lead_somewhere(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = [one["href"].removeprefix("#") for one in page.all("a")]
    assert targets == [
        *("section-1", "table-comparison", "figure-toy", "section-2", "part-samples", "section-3"),
        *("missing", "provenance"),
    ]
    assert set(targets) <= set(ids)


def test_a_table_can_be_read_aloud(page: Page) -> None:
    scopes = [one["scope"] for one in page.all("th")]
    assert scopes[: 4 + 3] == ["col"] * 4 + ["row"] * 3
    assert len(page.all("caption")) == len(page.all("table")) == 2
    assert (
        "MAUVE times 100 with 95% intervals over resampled prefixes. Corresponds to Table 1 of the paper."
        in (page.text_of("caption"))
    )
    [region] = [one for one in page.all("div") if one.get("class") == "scroll"]
    assert (region["role"], region["tabindex"], region["aria-label"]) == ("region", "0", "MAUVE by method")


def test_columns_can_be_sorted_by_their_numbers(text: str, page: Page) -> None:
    values = [cell.get("data-value") for cell in page.all("td")[:9]]
    assert values == ["87.8", "87.8", None, "88.4", "-1.5", None, None, None, None]
    labels = [cell.get("data-label") for cell in page.all("td")[:3]]
    assert labels == ["MAUVE", "over k-means seeds", "in words"]  # for narrow screens, which have no headings


def test_folded_tables_and_what_is_missing_are_one_line_until_opened() -> None:
    folded = replace(comparison("extra"), folded=True)
    text = html.page(replace(report(), sections=(Section("s", "", (comparison(), folded)),)))
    page = Page(text)
    assert [one.get("id") for one in page.all("details")] == [None, "table-extra", "missing"]
    assert page.text_of("summary") == ["Contents", "Not in this report: Table 4. How to add it"]
    assert "<summary><h3>MAUVE by method</h3></summary>" in text


def test_the_first_table_comes_before_everything_but_the_summary(text: str) -> None:
    """The contents are folded, and captions follow their tables."""
    body = text[text.index("<body>") : text.index('<table role="table"')]
    assert body.count("<p") == 4  # two paragraphs of the summary, how to read numbers, and the section's
    assert "<details>\n<summary>Contents</summary>" in body
    style = files("harness.report.formats").joinpath("style.css.j2").read_text()
    assert "caption-side: bottom" in style


def test_cells_say_how_they_were_made(page: Page) -> None:
    cells = page.all("td")[:9]
    assert [cell.get("title", "") for cell in cells[:4]] == [
        *("mean over 5 clusterings", "", "", '"best" & <first>'),
    ]
    assert [cell.get("class", "") for cell in cells[:3]] == ["number", "number", ""]
    assert page.text_of("strong")[0] == "88.4 [86.5, 90.3]"
    assert "87.8 [85.9, 89.7]" in page.text_of("td")


def test_wide_tables_put_intervals_below_their_numbers() -> None:
    cells = (Cell("<1> [0.5, 1.5]", 1.0, 0.5, 1.5), Cell("no [interval]"), *[Cell("")] * 5)
    wide = Table("wide", "Wide", "", tuple("abcdefgh"), (Row("row", cells),))
    narrow = Table("narrow", "Narrow", "", ("a", "b"), (Row("row", cells[:1]),))
    text = html.page(Report("r", "", (Section("s", "", (wide, narrow)),), (), ()))
    assert '&lt;1&gt; <span class="interval">[0.5, 1.5]</span></td>' in text
    assert "no [interval]</td>" in text
    assert "&lt;1&gt; [0.5, 1.5]</td>" in text


def test_everything_is_escaped_but_what_is_a_page_already(text: str, page: Page) -> None:
    assert HOSTILE in page.text_of("td")
    assert f"A note with {HOSTILE}" in page.text_of("p")
    assert f"# {HOSTILE}" in page.text_of("p")
    assert page.text_of("h1") == ["demo: plain & basis-aware <rules>"]
    assert "<p>raw &amp; ready</p>" in text
    assert "bat-harness run configs/paper/a.yaml" in page.text_of("code")


def test_a_figure_is_inside_the_page(page: Page) -> None:
    [image] = page.all("img")
    kind, _, data = image["src"].partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(data) == SVG
    assert image["alt"] == 'A "triangle" <with> ] a line'
    assert page.text_of("figcaption") == ["What is kept & what is not. Corresponds to Figure 3."]


def test_provenance_is_the_footer(text: str, page: Page) -> None:
    footer = text[text.index("<footer") : text.index("</footer>")]
    assert '<th scope="row">run</th><td>demo, number 1</td>' in footer
    assert page.text_of("pre") == ["name: demo models: - name: <fake>"]


def test_a_report_without_anything_is_a_page() -> None:
    page = Page(html.page(Report("empty", "", (), (), ())))
    assert page.text_of("h1") == ["empty"]
    assert not page.all("footer")
    assert not page.all("section")


def test_both_schemes_and_print_have_colours_for_everything() -> None:
    style = html.render("style.css.j2")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    names = [set(re.findall(r"(--[\w-]+):", block)) for block in blocks]
    assert len(blocks) == 3
    assert names[0] == names[1] == names[2]
    assert set(re.findall(r"var\((--[\w-]+)\)", style)) == names[0]
    assert style.count("{") == style.count("}")


def test_two_parts_of_one_name_are_invalid() -> None:
    twice = Report("t", "", (Section("s", "", (comparison("x"), picture("x"))),), (), ())
    with pytest.raises(InvalidInputError, match="both called 'x'"):
        html.page(twice)
