"""What is written is read again as Markdown, and compared with what it was made of."""

from __future__ import annotations

import html
import re

import pytest
from markdown_it import MarkdownIt

from bat.errors import InvalidInputError
from harness.report.formats import markdown
from harness.report.parts import Report, Section
from tests.harness.report.formats.made_report import HOSTILE, SPECIAL, comparison, picture, report


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


def shown(text: str) -> str:
    """The words of a page, spaces made one."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


@pytest.mark.parametrize(
    "text",
    [
        SPECIAL,
        HOSTILE,
        "# no heading",
        "- no list",
        "+ no list",
        "1. no list",
        "23) no list",
        "> no quotation",
        "=== no line",
        "--- ",
        "a &lt; b &amp; c",
        "[1]: http://example.org",
        "[a][b] ![c](d) [e](f)",
        "~~gone~~ __bold__ *em* `code` ``two``",
        "87.8 [85.9, 89.7]",
        "back\\slash \\* \\",
    ],
)
def test_text_is_shown_as_it_is(text: str) -> None:
    found = rendered(markdown.paragraph(text))
    assert re.fullmatch(r"<p>[^<]*</p>\n", found), found
    assert shown(found) == " ".join(text.split())
    cells = rendered(f"| a |\n|---|\n| {markdown.escape(text)} |\n")
    assert shown(cells) == f"a {' '.join(text.split())}"


def test_intervals_are_legible_without_rendering() -> None:
    assert markdown.escape("87.8 [85.9, 89.7]") == "87.8 [85.9, 89.7]"


@pytest.mark.parametrize("text", ["a b", "a`b", "``", "`x`", "bat-harness run '<x>'"])
def test_code_is_shown_as_it_is(text: str) -> None:
    assert rendered(markdown.code(text)) == f"<p><code>{html.escape(text, quote=False)}</code></p>\n"


def test_a_table() -> None:
    page = rendered(markdown.table(comparison()))
    assert page.count("<tr>") == 4
    assert page.count("<td") == 4 * 3
    assert "<strong>88.4 [86.5, 90.3]</strong>" in page
    assert page.count('style="text-align:right"') == 2 * 4
    assert "<h3>MAUVE by method</h3>" in page
    assert "Corresponds to Table 1 of the paper." in page
    assert page.index("</table>") < page.index("need two seeds")
    assert HOSTILE in shown(page)
    assert "<script" not in page
    assert "<a " not in page


def test_a_report_holds_every_part() -> None:
    page = rendered(markdown.report(report()))
    headings = [shown(one) for one in re.findall(r"<h\d>.*?</h\d>", page)]
    assert headings == [
        "demo: plain & basis-aware <rules>",
        "Comparison",
        "MAUVE by method",
        "The toy model",
        "Texts",
        "Side by side",
        "Nothing in it",
        "What is missing",
        "Provenance",
    ]
    assert '<img src="figures/toy.svg" alt="A &quot;triangle&quot; &lt;with&gt; ] a line" />' in page
    assert "raw <strong>md</strong>" in page
    assert "<code>bat-harness run configs/paper/a.yaml</code>" in page
    assert "<p>1. A paragraph that looks like a list.</p>" in page
    assert "<code>name: demo\nmodels:\n- name: &lt;fake&gt;\n</code>" in page
    assert "<ol>" not in page


def test_a_configuration_with_fences_stays_in_its_fence() -> None:
    made = Report("t", "", (), (), (("configuration", "a: |\n  ```\n  # no heading\n  ```\nb: 1"),))
    page = rendered(markdown.report(made))
    assert "<code>a: |\n  ```\n  # no heading\n  ```\nb: 1\n</code>" in page


def test_two_parts_of_one_name_are_invalid() -> None:
    twice = Report("t", "", (Section("s", "", (comparison("same"), picture("Same"))),), (), ())
    with pytest.raises(InvalidInputError, match="'MAUVE by method' and 'The toy model' are both"):
        markdown.report(twice)


def test_a_name_must_do_for_a_file() -> None:
    odd = Report("t", "", (Section("s", "", (comparison("a/b"),)),), (), ())
    with pytest.raises(InvalidInputError, match="got 'a/b' for 'MAUVE by method'"):
        markdown.report(odd)
