"""The script of a page and its width on a phone, in a browser, where there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from harness.report.formats import html
from tests.harness.report.formats.made_report import report
from tests.harness.view.conftest import BROWSER, QUIET

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")

# What a reader does, and what the page then looks like.
ACTIONS = """() => {
const table = document.querySelector("table.results");
const headings = [...table.tHead.rows[0].cells];
const rows = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
const press = (key) =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const how = document.getElementById("how");
const seen = { written: rows(), ended: [], how: [] };
for (const expected of [1, 1, 1]) {
  headings[expected].querySelector("button").click();
  seen.ended.push([headings[expected].getAttribute("aria-sort"), rows()]);
}
headings[0].querySelector("button").click();
seen.byName = rows();
headings[0].querySelector("button").click();
headings[0].querySelector("button").click();
seen.stops = [...table.querySelectorAll("td")].filter((cell) => cell.tabIndex === 0).length;
table.querySelector("td[title]").click();
seen.how.push(how.hidden ? null : how.textContent);
press("ArrowDown");
seen.how.push(how.hidden ? null : how.textContent);
press("Escape");
seen.how.push(how.hidden ? null : how.textContent);
seen.width = [document.documentElement.scrollWidth, document.documentElement.clientWidth];
return seen;
}"""


def visit(folder: Path, width: int) -> dict[str, Any]:
    file = folder / "page.html"
    file.write_text(html.page(report()))
    with sync_playwright() as playwright:  # whose pages have the focus: without it, nothing is explained
        browser = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(file.as_uri())
        seen: dict[str, Any] = page.evaluate(ACTIONS)
        browser.close()
    return seen


def test_tables_sort_and_numbers_explain_themselves_without_a_pointer(tmp_path: Path) -> None:
    seen = visit(tmp_path, 420)
    eta, aware, undefined = seen["written"]
    assert seen["ended"] == [
        ["descending", [aware, eta, undefined]],  # what has no number stays below
        ["ascending", [eta, aware, undefined]],
        [None, [eta, aware, undefined]],
    ]
    assert seen["byName"] == [aware, eta, undefined]
    assert seen["stops"] == 1  # of the Tab key; arrow keys do the rest
    assert seen["how"] == ["mean over 5 clusterings", '"best" & <first>', None]
    needed, available = seen["width"]
    assert needed <= available, "nothing is cut on a phone"
