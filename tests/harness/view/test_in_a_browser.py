"""The pages in a real browser, on a finished run and on one that is running."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from harness.view.settings import ViewSettings
from tests.harness import stores
from tests.harness.view.conftest import BROWSER, HTML, MILLISECONDS
from tests.harness.view.sites import serving

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture
def running(tmp_path: Path) -> str:
    """A run of 15 jobs, of which none is done."""
    return stores.planned(tmp_path)[0]


@contextmanager
def visited(page: Page, settings: ViewSettings) -> Iterator[str]:
    """The address of a server that stops only after the page has left, to which a lost server is an error."""
    with serving(settings) as site:
        yield site
        page.goto("about:blank")


def text_of(page: Page, selector: str) -> str:
    return " ".join(page.locator(selector).inner_text().split())


def test_progress_moves_while_a_sweep_runs(page: Page, running: str) -> None:
    with visited(page, ViewSettings(running)) as site, stores.open_again(running) as store:
        page.goto(f"{site}/")
        expect(page.locator("#runs")).to_contain_text("0 of 15")
        stores.work(store, 1, 2)
        expect(page.locator("#runs")).to_contain_text("2 of 15", timeout=MILLISECONDS)
        page.get_by_role("link", name="big").click()
        expect(page.locator("#live")).to_have_text("live", timeout=MILLISECONDS)
        stores.work(store, 1, 3)
        expect(page.locator("#headline")).to_contain_text("5 of 15 jobs done", timeout=MILLISECONDS)
        stores.fail(store, 1, "error: <b>NaN</b> in row 7")
        expect(page.locator("#failures")).to_contain_text("<b>NaN</b> in row 7", timeout=MILLISECONDS)


def test_retry_asks_first(page: Page, running: str) -> None:
    with stores.open_again(running) as store:
        stores.fail(store, 1, "error: no", "error: no")
        with visited(page, ViewSettings(running, allow_changes=True)) as site:
            page.goto(f"{site}/runs/1")
            page.get_by_role("link", name="Retry…").click()
            expect(page.get_by_role("heading", level=1)).to_have_text("Retry 2 failed jobs?")
            assert len(store.failed(1)) == 2  # nothing happened yet
            page.get_by_role("button", name="Retry 2 jobs").click()
            expect(page.locator("#failures")).to_be_empty()
            assert store.failed(1) == []


def test_texts_are_searched_and_read_by_keyboard(page: Page, site: str) -> None:
    page.goto(f"{site}/runs/1/texts")
    expect(page.locator(".prefixes > li")).to_have_count(6)
    expect(page.locator(".prefixes")).to_contain_text(HTML)
    page.keyboard.press("/")
    page.keyboard.type("Report")
    page.keyboard.press("Enter")
    expect(page.locator("mark").first).to_have_text("Report")
    page.locator(".prefixes a").first.click()
    page.locator("#texts[data-ready]").wait_for()
    first = text_of(page, "h1")
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).not_to_have_text(first)
    page.locator("#texts[data-ready]").wait_for()
    page.keyboard.press("p")
    expect(page.get_by_role("heading", level=1)).to_contain_text(first.partition(" of")[0])
    page.locator("#texts[data-ready]").wait_for()
    # A token says what happened at it; arrow keys move on, inside the text.
    tokens = page.locator(".continuation").last.locator(".token")
    tokens.first.click()
    expect(page.locator("#token")).to_contain_text("probability")
    before = text_of(page, "#token")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#token")).to_contain_text("2, “")
    assert text_of(page, "#token") != before
    assert first.partition(" of")[0] in text_of(page, "h1")
    page.keyboard.press("u")
    expect(page.locator(".prefixes")).to_be_visible()


def test_a_number_leads_to_its_jobs_and_a_table_sorts(page: Page, site: str) -> None:
    page.goto(f"{site}/runs/1/results")
    table = page.locator("table.plot")
    order = [text_of(page, f"table.plot tbody tr:nth-child({row}) th") for row in (1, 2)]
    value = table.get_by_role("button").nth(1)
    value.click()
    value.click()
    cells = table.locator("td[data-value]").all()
    values = [float(cell.get_attribute("data-value") or "nan") for cell in cells]
    assert values == sorted(values)
    page.get_by_label("Score", exact=True).select_option("seq-rep-4")
    expect(page).to_have_url(re.compile("score=seq-rep-4"))
    expect(table.locator("thead")).to_contain_text("seq-rep-4")
    page.go_back()
    table.get_by_role("row", name=order[0]).get_by_role("link").click()
    expect(page.locator("main")).to_contain_text("bat-harness trace all-scores")


def test_one_rate_gives_the_parameters_of_all_rules(page: Page, site: str) -> None:
    page.goto(f"{site}/runs/1/rejection")
    rows = page.locator("#at-rate tr")
    expect(rows).to_have_count(2, timeout=MILLISECONDS)
    page.locator("#rate").focus()
    page.keyboard.press("Home")
    lowest, parameters = text_of(page, "#rate-shown"), text_of(page, "#at-rate")
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    assert text_of(page, "#rate-shown") != lowest
    assert text_of(page, "#at-rate") != parameters
    assert "rule: ba-eta, parameter:" in text_of(page, "#yaml")
    assert page.locator("#copy-yaml").get_attribute("data-copy") == page.locator("#yaml").text_content()


def test_a_question_is_asked_by_keyboard(page: Page, site: str) -> None:
    page.goto(f"{site}/ask")
    page.get_by_label("SQL").fill("SELECT name AS found FROM runs")
    page.keyboard.press("Control+Enter")
    expect(page.locator("table.results")).to_contain_text("tiny")
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    assert Path(str(download.value.path())).read_text() == "found\ntiny\n"


PHONE: dict[str, Any] = {"width": 420, "height": 800}


@pytest.mark.parametrize(
    "path",
    ["/", "/runs/1", "/runs/1/results", "/runs/1/texts", "/runs/1/texts/2", "/runs/1/rejection", "/ask"],
)
def test_nothing_is_wider_than_a_phone(page: Page, site: str, path: str) -> None:
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    page.goto(f"{site}{path}")
    needed = page.evaluate("document.documentElement.scrollWidth")
    assert needed <= PHONE["width"]
    style = page.evaluate("['color', 'backgroundColor'].map((name) => getComputedStyle(document.body)[name])")
    ink, paper = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in style)
    assert ink > paper
